import { CreateTradingAccountBody } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Operation } from "./call.ts";
import { refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { queueCommand } from "./queue-command.ts";
import { creationOf } from "./creation.ts";
import { Findings } from "./validate.ts";

/** POST accounts: queues account.create; the passwords are in the answer that first accepts it, and nowhere else. */
export function createTradingAccount(needs: Needs): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const idempotencyKey = findings.idempotencyKey(call);
    const body = findings.body(call, CreateTradingAccountBody);
    const error = findings.error();
    if (error !== null || body === null) return refuse(needs, call, error ?? new ApiError("VALIDATION_FAILED"));
    return queueCommand(needs, call, creationOf(needs, call, { serverId, idempotencyKey, body }));
  };
}
