import { BulkCreateTradingAccountsBody, CreateTradingAccountBody, MAX_BULK_ITEMS } from "@kapi/contracts";
import { ApiError, MAX_ISSUES } from "@kapi/http";
import { z } from "zod";

import type { Call, OperationTable } from "./call.ts";
import { type CreationDependencies, creationOf } from "./creation.ts";
import type { Dependencies } from "./dependencies.ts";
import { queueBulk, unsupportedLeverage } from "./queue-bulk.ts";
import { queueCommand, type QueueDependencies } from "./queue-command.ts";
import { RequestValidator } from "./validate.ts";

/**
 * Reads the leverages from the body of a bulk, after the schema of the bulk has rejected the body.
 * Items without a valid leverage are null.
 */
const Leverages = z.object({
  accounts: z
    .array(z.object({ leverage: CreateTradingAccountBody.shape.leverage }).nullable().catch(null))
    .max(MAX_BULK_ITEMS),
});

/** The operations that create accounts. */
export function accountCreations(
  dependencies: QueueDependencies & CreationDependencies,
): OperationTable<"createTradingAccount" | "bulkCreateTradingAccounts"> {
  return {
    /** Queues account.create. A 202 has the passwords, the 200 of a duplicate does not. */
    createTradingAccount: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const idempotencyKey = validator.idempotencyKey(call);
      const body = validator.body(call, CreateTradingAccountBody);
      const error = validator.error();
      if (error !== null || body === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
      return queueCommand(dependencies, call, creationOf(dependencies, call, { serverId, idempotencyKey, body }));
    },

    /**
     * Queues up to 100 creations, each under the key `<key>:<index>` (decisions, 2.1). One rejected
     * item rejects the bulk. An accepted bulk is always 202; an item whose key was used for an
     * equal creation is a duplicate.
     */
    bulkCreateTradingAccounts: async (call) => {
      const validator = new RequestValidator();
      const serverId = validator.serverId(call);
      const key = validator.idempotencyKey(call);
      const body = validator.body(call, BulkCreateTradingAccountsBody);
      const error = validator.error();
      if (error !== null || body === null) {
        const rejection = error ?? new ApiError("VALIDATION_FAILED");
        return call.charge.reject(await withLeverages(dependencies, call, rejection));
      }
      const creations = body.accounts.map((item, index) =>
        creationOf(dependencies, call, { serverId, idempotencyKey: `${key}:${index}`, body: item }),
      );
      return queueBulk(dependencies, call, creations);
    },
  };
}

/**
 * Adds to the issues of the schema one issue for each leverage that the server does not support. So
 * one response has the issues of all items, up to {@link MAX_ISSUES}.
 */
async function withLeverages(
  { configurations }: Pick<Dependencies, "configurations">,
  call: Call,
  rejection: ApiError,
): Promise<ApiError> {
  const { server } = call;
  const { data } = Leverages.safeParse(call.body);
  if (rejection.issues === undefined || data === undefined || server === undefined || server.status === "removed") {
    return rejection;
  }
  const unsupported = await Promise.all(
    data.accounts.map(async (item, index) => {
      if (item === null) return [];
      // If the account service is down, the response stays a 400.
      const supported = await configurations.supportsLeverage(server.serverId, item.leverage).catch(() => true);
      return supported ? [] : [unsupportedLeverage(index)];
    }),
  );
  return new ApiError(rejection.code, { issues: [...rejection.issues, ...unsupported.flat()].slice(0, MAX_ISSUES) });
}
