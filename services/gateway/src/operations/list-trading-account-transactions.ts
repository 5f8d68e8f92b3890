import { PageQuery } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import type { Needs } from "./needs.ts";
import { readAccountRecords } from "./read-account-records.ts";

/**
 * GET transactions of an account: the finance service's bytes. Finance has not heard of every account that there is, but
 * of each that was deleted; so both are asked.
 */
export function listTradingAccountTransactions(needs: Needs): Operation {
  return readAccountRecords(needs, PageQuery, async (serverId, accountNumber, query) => {
    if ((await needs.knownAccounts.find(serverId, accountNumber)) === null) return null;
    return needs.ledger.transactions(serverId, accountNumber, query);
  });
}
