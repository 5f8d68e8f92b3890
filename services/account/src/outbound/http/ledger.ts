import { FINANCE_ROUTES } from "@kapi/contracts";
import { callRoute, type InternalClient } from "@kapi/http";

import type { Ledger } from "../../domain/ports.ts";

/** The deadline is longer than the 2 s in which finance books the account's events or gives up. */
const CATCH_UP = { timeoutMs: 3_000, repeatable: true };

/** The ledger of the finance service. */
export function createLedger(finance: InternalClient): Ledger {
  return {
    async catchUp({ serverId, accountNumber }) {
      await callRoute(finance, FINANCE_ROUTES.catchUp, { params: { serverId, accountNumber } }, CATCH_UP);
    },
  };
}
