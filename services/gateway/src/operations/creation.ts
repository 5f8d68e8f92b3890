import { type CreateTradingAccountBody, OPERATIONS } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Call } from "./call.ts";
import { generatedPassword } from "./generated-password.ts";
import type { Dependencies } from "./dependencies.ts";
import type { QueueRequest } from "./queue-command.ts";
import { removedServer } from "./validate.ts";

/**
 * Path in the fingerprint of every creation. An item of a bulk equals a single creation under the
 * same key (decisions, 2.1).
 */
export const CREATION_PATH = OPERATIONS.createTradingAccount.path;

export type CreationDependencies = Pick<Dependencies, "configurations" | "derivationKeys">;

/**
 * A creation, single or in a bulk. Its response has the passwords only if `duplicate` is false
 * (decisions, 5.1).
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
    state: async () => ({
      rejection: await stateRejection(dependencies, call, serverId, body.leverage),
      accountId: null,
    }),
    firstAnswerFields: (commandId, keyId) => ({
      credentials: {
        tradingPassword: body.password ?? generatedPassword(dependencies, commandId, keyId, "trading"),
        investorPassword: generatedPassword(dependencies, commandId, keyId, "investor"),
      },
    }),
  };
}

/**
 * 404 for a removed server, which has no configuration; else 400 for the leverage, or 409 for a
 * disabled server.
 */
async function stateRejection(
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
