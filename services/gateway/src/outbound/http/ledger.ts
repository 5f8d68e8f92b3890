import { type InternalClient, withQuery } from "@kapi/http";

import type { Ledger } from "../../domain/ports.ts";
import { accountPath, bytesOf } from "./owner-bytes.ts";

/** The finance service over internal HTTP. `organizationOf` gives the organization that a server belongs to. */
export function createLedger(client: InternalClient, organizationOf: (serverId: string) => string | undefined): Ledger {
  return {
    transactions: (serverId, accountNumber, query) =>
      bytesOf(client, withQuery(`${accountPath(serverId, accountNumber)}/transactions`, query), {
        organizationId: organizationOf(serverId),
      }),
  };
}
