import { isPaged, ListTradingAccountsQuery } from "@kapi/contracts";

import type { Call, Operation } from "./call.ts";
import { chargeRead, refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { takeSlot, untilRead } from "./shares.ts";
import { Findings } from "./validate.ts";

/**
 * GET a server's accounts. A page is passed on whole. All accounts are streamed from the account
 * service: in memory is only what the caller has yet to take.
 */
export function listTradingAccounts(needs: Needs): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const query = findings.query(call, ListTradingAccountsQuery) ?? {};
    const error = findings.error();
    if (error !== null) return refuse(needs, call, error);
    const body = await untilRead(slotOf(needs, call, query), async () => {
      await chargeRead(needs, call);
      return needs.accounts.list(serverId, query);
    });
    return { status: 200, body };
  };
}

/**
 * The slot of a search, else of a list of all accounts. A page without a search is a short read
 * like others.
 */
function slotOf({ searches, streams }: Needs, { key }: Call, query: ListTradingAccountsQuery): () => void {
  if (query.search !== undefined) return takeSlot(searches, key.organizationId);
  return isPaged(query) ? (): void => undefined : takeSlot(streams, key.organizationId);
}
