import {
  ListAccountMetricsQuery,
  ListDealsQuery,
  ListOrdersQuery,
  ListPositionsQuery,
  ListTransactionsQuery,
} from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import type { z } from "zod";

import type { ReadRecords } from "../domain/ports.ts";
import type { Operation, OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { RequestValidator, removedServer } from "./validate.ts";

/** Transactions, orders, positions, deals and stored metrics: the owner's response, unchanged. */
export function historyOperations({
  accounts,
  knownAccounts,
  readTransactions,
  readSnapshots,
}: Pick<Dependencies, "accounts" | "knownAccounts" | "readTransactions" | "readSnapshots">): OperationTable<
  | "listTradingAccountTransactions"
  | "listTradingAccountOrders"
  | "listAccountPositions"
  | "listAccountDeals"
  | "listAccountMetrics"
> {
  return {
    /**
     * Finance knows every deleted account, but not every existing account. So existence is checked
     * first.
     */
    listTradingAccountTransactions: readRecords(ListTransactionsQuery, async (serverId, accountNumber, query) => {
      if ((await knownAccounts.find(serverId, accountNumber)) === null) return null;
      return readTransactions(serverId, accountNumber, query);
    }),
    listTradingAccountOrders: readRecords(ListOrdersQuery, accounts.orders),
    /** With `status=open` the account service waits until positions are fresh (decisions, 4.11). */
    listAccountPositions: readRecords(ListPositionsQuery, accounts.positions),
    listAccountDeals: readRecords(ListDealsQuery, accounts.deals),

    /**
     * Stored snapshots of a server; an empty list for an account that does not exist (decisions,
     * 9).
     */
    listAccountMetrics: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const query = validator.query(call, ListAccountMetricsQuery);
      const error = validator.error();
      if (error !== null || query === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
      await call.charge.read();
      return { status: 200, body: await readSnapshots(call.caller.organizationId, serverId, query) };
    },
  };
}

/** The owner's response, unchanged, or 404 if the owner does not have the account. */
function readRecords<Q>(schema: z.ZodType<Q>, read: ReadRecords<Q>): Operation {
  return async (call) => {
    const validator = new RequestValidator();
    const serverId = validator.serverId(call);
    const accountNumber = validator.accountNumber(call);
    const query = validator.query(call, schema);
    const error = validator.error() ?? removedServer(call);
    if (error !== null || query === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
    await call.charge.read();
    const body = await read(serverId, accountNumber, query);
    if (body === null) throw new ApiError("ACCOUNT_NOT_FOUND");
    return { status: 200, body };
  };
}
