import { CreateTradingAccountBody } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { derivePassword } from "@kapi/kernel";

import type { Call, Operation } from "./call.ts";
import { refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { queueCommand } from "./queue-command.ts";
import { Findings, removedServer } from "./validate.ts";

/** POST accounts: queues account.create; the passwords are in the answer that first accepts it, and nowhere else. */
export function createTradingAccount(needs: Needs): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const idempotencyKey = findings.idempotencyKey(call);
    const body = findings.body(call, CreateTradingAccountBody);
    const error = findings.error();
    if (error !== null || body === null) return refuse(needs, call, error ?? new ApiError("VALIDATION_FAILED"));
    return queueCommand(needs, call, {
      operation: "account.create",
      serverId,
      accountNumber: null,
      idempotencyKey,
      body,
      reusedStatus: 409,
      stateFinding: () => stateFinding(needs, call, serverId, body.leverage),
      oneTime: (commandId) => ({
        credentials: {
          tradingPassword: body.password ?? derivePassword(needs.derivationKeys, commandId, "trading"),
          investorPassword: derivePassword(needs.derivationKeys, commandId, "investor"),
        },
      }),
    });
  };
}

/** 404 for a removed server, which has no configuration to ask for; else 400 for the leverage, 409 for a disabled one. */
async function stateFinding(needs: Needs, call: Call, serverId: string, leverage: number): Promise<ApiError | null> {
  const removed = removedServer(call);
  if (removed !== null) return removed;
  if (!(await needs.configurations.supportsLeverage(serverId, leverage))) {
    return new ApiError("LEVERAGE_NOT_SUPPORTED");
  }
  return call.server?.status === "disabled" ? new ApiError("SERVER_DISABLED") : null;
}
