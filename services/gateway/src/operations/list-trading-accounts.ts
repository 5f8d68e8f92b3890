import { ListTradingAccountsQuery } from "@kapi/contracts";

import type { Operation } from "./call.ts";
import { chargeRead, refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { Findings } from "./validate.ts";

/** GET a server's accounts: streamed from the account service; in memory is only what the caller has yet to take. */
export function listTradingAccounts(needs: Needs): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const query = findings.query(call, ListTradingAccountsQuery);
    const error = findings.error();
    if (error !== null) return refuse(needs, call, error);
    await chargeRead(needs, call);
    return { status: 200, body: await needs.accounts.list(serverId, query ?? {}) };
  };
}
