import { ListAccountMetricsQuery, ListPositionsQuery, PageQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import type { z } from "zod";

import type { ReadRecords } from "../domain/ports.ts";
import type { Operation, OperationTable } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { Findings, removedServer } from "./validate.ts";

/** What happened on accounts: the owners' bytes. */
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
     * Finance has not heard of every account that there is, but of each that was deleted; so both
     * are asked.
     */
    listTradingAccountTransactions: readRecords(PageQuery, async (serverId, accountNumber, query) => {
      if ((await knownAccounts.find(serverId, accountNumber)) === null) return null;
      return readTransactions(serverId, accountNumber, query);
    }),
    listTradingAccountOrders: readRecords(PageQuery, accounts.orders),
    /** With `status=open` it waits until they are fresh (decisions, 4.11). */
    listAccountPositions: readRecords(ListPositionsQuery, accounts.positions),
    listAccountDeals: readRecords(PageQuery, accounts.deals),

    /** Stored snapshots of a server; none of an account that does not exist (decisions, 9). */
    listAccountMetrics: async (call) => {
      const findings = new Findings();
      const serverId = findings.serverId(call);
      const query = findings.query(call, ListAccountMetricsQuery);
      const error = findings.error();
      if (error !== null || query === null) return call.charge.refuse(error ?? new ApiError("VALIDATION_FAILED"));
      await call.charge.read();
      return { status: 200, body: await readSnapshots(call.key.organizationId, serverId, query) };
    },
  };
}

/** The owner's bytes, or 404 where it knows no such account. */
function readRecords<Q>(schema: z.ZodType<Q>, read: ReadRecords<Q>): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const accountNumber = findings.accountNumber(call);
    const query = findings.query(call, schema);
    const error = findings.error() ?? removedServer(call);
    if (error !== null || query === null) return call.charge.refuse(error ?? new ApiError("VALIDATION_FAILED"));
    await call.charge.read();
    const body = await read(serverId, accountNumber, query);
    if (body === null) throw new ApiError("ACCOUNT_NOT_FOUND");
    return { status: 200, body };
  };
}
