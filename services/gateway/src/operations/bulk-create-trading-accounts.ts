import { BulkCreateTradingAccountsBody } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Operation } from "./call.ts";
import { refuse } from "./charge-read.ts";
import { creationOf } from "./creation.ts";
import type { Needs } from "./needs.ts";
import { queueTogether } from "./queue-together.ts";
import { Findings } from "./validate.ts";

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
    if (error !== null || body === null) return refuse(needs, call, error ?? new ApiError("VALIDATION_FAILED"));
    const creations = body.accounts.map((item, index) =>
      creationOf(needs, call, { serverId, idempotencyKey: `${key}:${index}`, body: item }),
    );
    return queueTogether(needs, call, creations);
  };
}
