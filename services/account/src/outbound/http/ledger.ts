import { FINANCE_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";

import type { Ledger } from "../../domain/ports.ts";

/** Deadline of a catch-up, in milliseconds: finance waits up to 2 s for its trading server. */
const CATCH_UP = { timeoutMs: 3_000, repeatable: true };

/** The ledger of the finance service. */
export function createLedger(finance: InternalClient): Ledger {
  return {
    async catchUp({ serverId, accountNumber }) {
      await callRoute(finance, FINANCE_ROUTES.catchUp, { params: { serverId, accountNumber } }, CATCH_UP);
    },
  };
}
