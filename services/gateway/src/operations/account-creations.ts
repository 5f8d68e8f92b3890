import { BulkCreateTradingAccountsBody, CreateTradingAccountBody, MAX_BULK_ITEMS } from "@kapi/contracts";
import { ApiError, MAX_ISSUES } from "@kapi/http";
import { z } from "zod";

import type { Call, OperationTable } from "./call.ts";
import { type CreationDependencies, creationOf } from "./creation.ts";
import type { Dependencies } from "./dependencies.ts";
import { queueBulk, unsupportedLeverage } from "./queue-bulk.ts";
import { queueCommand, type QueueDependencies } from "./queue-command.ts";
import { Findings } from "./validate.ts";

/** Of a body that its schema refuses: the items whose leverage can be looked at all the same. */
const Leverages = z.object({
  accounts: z
    .array(z.object({ leverage: CreateTradingAccountBody.shape.leverage }).nullable().catch(null))
    .max(MAX_BULK_ITEMS),
});

/** New accounts. */
export function accountCreations(
  dependencies: QueueDependencies & CreationDependencies,
): OperationTable<"createTradingAccount" | "bulkCreateTradingAccounts"> {
  return {
    /**
     * Queues account.create; the passwords are in the answer that first accepts it, and nowhere
     * else.
     */
    createTradingAccount: async (call) => {
      const findings = new Findings();
      const serverId = findings.serverId(call);
      const idempotencyKey = findings.idempotencyKey(call);
      const body = findings.body(call, CreateTradingAccountBody);
      const error = findings.error();
      if (error !== null || body === null) return call.charge.refuse(error ?? new ApiError("VALIDATION_FAILED"));
      return queueCommand(dependencies, call, creationOf(dependencies, call, { serverId, idempotencyKey, body }));
    },

    /**
     * Queues up to 100 creations, each under the key `<key>:<index>` (decisions, 2.1), all of them
     * or none. Always 202; an item whose key was used for an equal creation is its duplicate.
     */
    bulkCreateTradingAccounts: async (call) => {
      const findings = new Findings();
      const serverId = findings.serverId(call);
      const key = findings.idempotencyKey(call);
      const body = findings.body(call, BulkCreateTradingAccountsBody);
      const error = findings.error();
      if (error !== null || body === null) {
        const refusal = error ?? new ApiError("VALIDATION_FAILED");
        return call.charge.refuse(await withLeverages(dependencies, call, refusal));
      }
      const creations = body.accounts.map((item, index) =>
        creationOf(dependencies, call, { serverId, idempotencyKey: `${key}:${index}`, body: item }),
      );
      return queueBulk(dependencies, call, creations);
    },
  };
}

/**
 * Adds the leverages that the server does not support to what a schema found, so that all items'
 * findings are told.
 */
async function withLeverages(
  { configurations }: Pick<Dependencies, "configurations">,
  call: Call,
  refusal: ApiError,
): Promise<ApiError> {
  const { server } = call;
  const { data } = Leverages.safeParse(call.body);
  if (refusal.issues === undefined || data === undefined || server === undefined || server.status === "removed") {
    return refusal;
  }
  const found = await Promise.all(
    data.accounts.map(async (item, index) => {
      if (item === null) return [];
      // An account service that is down does not make a 400 a 500.
      const supported = await configurations.supportsLeverage(server.serverId, item.leverage).catch(() => true);
      return supported ? [] : [unsupportedLeverage(index)];
    }),
  );
  return new ApiError(refusal.code, { issues: [...refusal.issues, ...found.flat()].slice(0, MAX_ISSUES) });
}
