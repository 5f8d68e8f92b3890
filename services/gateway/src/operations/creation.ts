import { type CreateTradingAccountBody, OPERATIONS } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Call } from "./call.ts";
import { generatedPassword } from "./generated-password.ts";
import type { Dependencies } from "./dependencies.ts";
import type { QueueRequest } from "./queue-command.ts";
import { removedServer } from "./validate.ts";

/**
 * Path of every creation, also of one in a bulk: there it is the same request under a key of its
 * own (decisions, 2.1).
 */
export const CREATION_PATH = OPERATIONS.createTradingAccount.path;

export type CreationDependencies = Pick<Dependencies, "configurations" | "derivationKeys">;

/**
 * A creation, by itself or in a bulk; its passwords are in the answer that first accepts it, and
 * nowhere else.
 */
export function creationOf(
  dependencies: CreationDependencies,
  call: Call,
  creation: { serverId: string; idempotencyKey: string; body: CreateTradingAccountBody },
): QueueRequest {
  const { serverId, idempotencyKey, body } = creation;
  return {
    operation: "account.create",
    serverId,
    accountNumber: null,
    idempotencyKey,
    body,
    reusedStatus: 409,
    state: async () => ({ finding: await stateFinding(dependencies, call, serverId, body.leverage), accountId: null }),
    oneTime: (commandId, keyId) => ({
      credentials: {
        tradingPassword: body.password ?? generatedPassword(dependencies, commandId, keyId, "trading"),
        investorPassword: generatedPassword(dependencies, commandId, keyId, "investor"),
      },
    }),
  };
}

/**
 * 404 for a removed server, which has no configuration to ask for; else 400 for the leverage, 409
 * for a disabled one.
 */
async function stateFinding(
  { configurations }: CreationDependencies,
  call: Call,
  serverId: string,
  leverage: number,
): Promise<ApiError | null> {
  const removed = removedServer(call);
  if (removed !== null) return removed;
  if (!(await configurations.supportsLeverage(serverId, leverage))) {
    return new ApiError("LEVERAGE_NOT_SUPPORTED");
  }
  return call.server?.status === "disabled" ? new ApiError("SERVER_DISABLED") : null;
}
