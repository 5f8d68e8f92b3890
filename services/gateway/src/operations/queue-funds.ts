import { type CommandOperation, FundsBody } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Call, Operation } from "./call.ts";
import { refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { queueCommand } from "./queue-command.ts";
import { Findings, removedServer } from "./validate.ts";

/** What deposit and withdrawal have in common: all but their names. */
export function queueFunds(
  needs: Needs,
  operation: Extract<CommandOperation, "finance.deposit" | "finance.withdraw">,
): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const accountNumber = findings.accountNumber(call);
    const idempotencyKey = findings.idempotencyKey(call);
    const body = findings.body(call, FundsBody);
    const error = findings.error();
    if (error !== null || body === null) return refuse(needs, call, error ?? new ApiError("VALIDATION_FAILED"));
    return queueCommand(needs, call, {
      operation,
      serverId,
      accountNumber,
      idempotencyKey,
      body,
      reusedStatus: 400,
      stateFinding: () => missingAccount(needs, call, serverId, accountNumber),
    });
  };
}

/** 404 where the server was removed or the account does not exist. */
async function missingAccount(
  { knownAccounts }: Needs,
  call: Call,
  serverId: string,
  accountNumber: string,
): Promise<ApiError | null> {
  const removed = removedServer(call);
  if (removed !== null) return removed;
  return (await knownAccounts.exists(serverId, accountNumber)) ? null : new ApiError("ACCOUNT_NOT_FOUND");
}
