import { isPaged, ListTradingAccountsQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import { type Call, callerOf, type OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { takeSlot, holdUntilRead } from "./shares.ts";
import { RequestValidator, removedServer } from "./validate.ts";

type Shares = Pick<Dependencies, "searches" | "streams">;

/** Reads of existing accounts, and the immediate deletion. */
export function accountOperations({
  accounts,
  knownAccounts,
  ...shares
}: Pick<Dependencies, "accounts" | "knownAccounts"> & Shares): OperationTable<
  "listTradingAccounts" | "getTradingAccount" | "deleteTradingAccountImmediately"
> {
  return {
    /**
     * A page is passed on as a Buffer. A list of all accounts is streamed from the account service,
     * as fast as the caller reads it.
     */
    listTradingAccounts: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const query = validator.query(call, ListTradingAccountsQuery) ?? {};
      const error = validator.error();
      if (error !== null) return call.charge.reject(error);
      const body = await holdUntilRead(slotOf(shares, call, query), async () => {
        await call.charge.read();
        return accounts.list(serverId, query);
      });
      return { status: 200, body };
    },

    /** The account service's response, unchanged. */
    getTradingAccount: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const accountNumber = validator.accountNumber(call);
      const error = validator.error() ?? removedServer(call);
      if (error !== null) return call.charge.reject(error);
      await call.charge.read();
      const body = await accounts.accountResponse(serverId, accountNumber);
      if (body === null) throw new ApiError("ACCOUNT_NOT_FOUND");
      return { status: 200, body };
    },

    /**
     * Deletes the account in all services (decisions, 4.8). 200 also if it was deleted before, 400
     * if it never existed, 500 if a step failed: the caller's retry completes the deletion.
     */
    deleteTradingAccountImmediately: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const accountNumber = validator.accountNumber(call);
      const error = validator.error();
      if (error !== null) return call.charge.reject(error);
      await call.charge.change();
      // The deletion may take long. So `ids` is called first: it fails in time if the account
      // service is down (decisions, 1.5).
      await accounts.ids([{ serverId, accountNumber }]);
      let body: Buffer | null;
      try {
        body = await accounts.deleteNow(serverId, accountNumber, callerOf(call));
      } finally {
        // Also after a failure, because the account may have been deleted.
        knownAccounts.forget(serverId, accountNumber);
      }
      if (body !== null) return { status: 200, body };
      // The operation has no 404.
      return call.charge.rejectChange(new ApiError("ACCOUNT_NOT_FOUND", { status: 400 }));
    },
  };
}

/**
 * Takes the slot of a search, or of a list of all accounts. A page without a search needs no slot.
 */
function slotOf({ searches, streams }: Shares, { caller }: Call, query: ListTradingAccountsQuery): () => void {
  if (query.search !== undefined) return takeSlot(searches, caller.organizationId);
  return isPaged(query) ? (): void => undefined : takeSlot(streams, caller.organizationId);
}
