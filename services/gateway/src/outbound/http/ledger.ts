import { FINANCE_ROUTES } from "@kapi/contracts";
import type { InternalClient } from "@kapi/http";

import type { Ledger } from "../../domain/ports.ts";
import { bodyOf } from "./owner-bytes.ts";

/** The finance service over internal HTTP. `organizationOf` gives the organization that a server belongs to. */
export function createLedger(client: InternalClient, organizationOf: (serverId: string) => string | undefined): Ledger {
  return {
    transactions: (serverId, accountNumber, query) =>
      bodyOf(
        client,
        FINANCE_ROUTES.listTradingAccountTransactions,
        { params: { serverId, accountNumber }, query },
        { organizationId: organizationOf(serverId) },
      ),
  };
}
