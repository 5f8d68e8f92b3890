import { BulkCreateTradingAccountsBody, CreateTradingAccountBody, MAX_BULK_ITEMS } from "@kapi/contracts";
import { ApiError, MAX_ISSUES } from "@kapi/http";
import { z } from "zod";

import type { Call, Operation } from "./call.ts";
import { refuse } from "./charge-read.ts";
import { creationOf } from "./creation.ts";
import type { Needs } from "./needs.ts";
import { queueTogether, unsupportedLeverage } from "./queue-together.ts";
import { Findings } from "./validate.ts";

/** Of a body that its schema refuses: the items whose leverage can be looked at all the same. */
const Leverages = z.object({
  accounts: z
    .array(z.object({ leverage: CreateTradingAccountBody.shape.leverage }).nullable().catch(null))
    .max(MAX_BULK_ITEMS),
});

/**
 * POST accounts/bulk: queues up to 100 creations, each under the key `<key>:<index>` (decisions, 2.1), all of them or
 * none. Always 202; an item whose key was used for an equal creation is its duplicate.
 */
export function bulkCreateTradingAccounts(needs: Needs): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const key = findings.idempotencyKey(call);
    const body = findings.body(call, BulkCreateTradingAccountsBody);
    const error = findings.error();
    if (error !== null || body === null) {
      const refusal = error ?? new ApiError("VALIDATION_FAILED");
      return refuse(needs, call, await withLeverages(needs, call, refusal));
    }
    const creations = body.accounts.map((item, index) =>
      creationOf(needs, call, { serverId, idempotencyKey: `${key}:${index}`, body: item }),
    );
    return queueTogether(needs, call, creations);
  };
}

/** Adds the leverages that the server does not support to what a schema found, so that all items' findings are told. */
async function withLeverages(needs: Needs, call: Call, refusal: ApiError): Promise<ApiError> {
  const { server } = call;
  const { data } = Leverages.safeParse(call.body);
  if (refusal.issues === undefined || data === undefined || server === undefined || server.status === "removed") {
    return refusal;
  }
  const found = await Promise.all(
    data.accounts.map(async (item, index) => {
      if (item === null) return [];
      // An account service that is away does not make a 400 a 500.
      const supported = await needs.configurations.supportsLeverage(server.serverId, item.leverage).catch(() => true);
      return supported ? [] : [unsupportedLeverage(index)];
    }),
  );
  return new ApiError(refusal.code, { issues: [...refusal.issues, ...found.flat()].slice(0, MAX_ISSUES) });
}
