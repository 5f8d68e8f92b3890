import { isPaged, ListTradingAccountsQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import { type Call, callerOf, type OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { takeSlot, untilRead } from "./shares.ts";
import { Findings, removedServer } from "./validate.ts";

type Shares = Pick<Dependencies, "searches" | "streams">;

/** Accounts that exist: reads, and the deletion that is made within the request. */
export function accountOperations({
  accounts,
  knownAccounts,
  ...shares
}: Pick<Dependencies, "accounts" | "knownAccounts"> & Shares): OperationTable<
  "listTradingAccounts" | "getTradingAccount" | "deleteTradingAccountImmediately"
> {
  return {
    /**
     * A page is passed on whole. All accounts are streamed from the account service: in memory is
     * only what the caller has yet to take.
     */
    listTradingAccounts: async (call) => {
      const findings = new Findings();
      const serverId = findings.serverId(call);
      const query = findings.query(call, ListTradingAccountsQuery) ?? {};
      const error = findings.error();
      if (error !== null) return call.charge.refuse(error);
      const body = await untilRead(slotOf(shares, call, query), async () => {
        await call.charge.read();
        return accounts.list(serverId, query);
      });
      return { status: 200, body };
    },

    /** The account service's bytes. */
    getTradingAccount: async (call) => {
      const findings = new Findings();
      const serverId = findings.serverId(call);
      const accountNumber = findings.accountNumber(call);
      const error = findings.error() ?? removedServer(call);
      if (error !== null) return call.charge.refuse(error);
      await call.charge.read();
      const body = await accounts.accountBytes(serverId, accountNumber);
      if (body === null) throw new ApiError("ACCOUNT_NOT_FOUND");
      return { status: 200, body };
    },

    /**
     * Everywhere (decisions, 4.8): 200 also where it was deleted before, 400 where it never
     * existed, 500 where a step failed; the caller's retry completes it.
     */
    deleteTradingAccountImmediately: async (call) => {
      const findings = new Findings();
      const serverId = findings.serverId(call);
      const accountNumber = findings.accountNumber(call);
      const error = findings.error();
      if (error !== null) return call.charge.refuse(error);
      await call.charge.change();
      // The deletion may take long; this question finds an owner that is down in time
      // (decisions, 1.5).
      await accounts.ids([{ serverId, accountNumber }]);
      let body: Buffer | null;
      try {
        body = await accounts.deleteNow(serverId, accountNumber, callerOf(call));
      } finally {
        // Also after a failure: how far it came is not known then.
        knownAccounts.forget(serverId, accountNumber);
      }
      if (body !== null) return { status: 200, body };
      // The operation lists no 404.
      return call.charge.refuseChange(new ApiError("ACCOUNT_NOT_FOUND", { status: 400 }));
    },
  };
}

/**
 * The slot of a search, else of a list of all accounts. A page without a search is a short read
 * like others.
 */
function slotOf({ searches, streams }: Shares, { key }: Call, query: ListTradingAccountsQuery): () => void {
  if (query.search !== undefined) return takeSlot(searches, key.organizationId);
  return isPaged(query) ? (): void => undefined : takeSlot(streams, key.organizationId);
}
