/** The ids, times and commands in the examples of operations. */
import type { z } from "zod";

import type { OPERATIONS } from "../operations.ts";

export const ORGANIZATION_ID = "0197a3c2-5b1e-7c44-9f0e-2a8d4be61f01";
export const SERVER_ID = "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02";
export const ACCOUNT_ID = "6f1f9d3c-2c8a-5b57-9d1e-7c0a4b8e3f03";
export const COMMAND_ID = "b2f7c1de-94a3-5e68-8c15-3d9e6f70a104";
export const ACCOUNT_NUMBER = "10000042";
export const TEMPLATE_NAME = "phase-1";
export const REQUEST_ID = "order-7731";
export const IDEMPOTENCY_KEY = "4be0643f-1d98-573b-97cd-ca98a65347dd";
export const CREATED_AT = "2026-03-02T09:15:00.000Z";
export const UPDATED_AT = "2026-03-02T09:15:00.480Z";
export const BREACH_ID = "5f0b1f86-6f43-5d6f-9a55-6a2c3c1f9b10";
export const DEADLINE_AT = "2026-03-02T09:30:00.000Z";
export const CREATED_BY = { type: "key", id: "mfrggzdfmztwq2lk" } as const;

export type CommandExample = z.input<(typeof OPERATIONS)["getCommand"]["answer"]>["command"];

/**
 * Returns an example of a command that was just queued. An `account.create` has no account number
 * yet (decisions, 4.2).
 */
export function queued(operation: CommandExample["operation"], payload: Record<string, unknown>): CommandExample {
  return {
    id: COMMAND_ID,
    operation,
    status: "queued",
    managedAccountId: ACCOUNT_ID,
    attempts: 0,
    payload,
    result: null,
    errorCode: null,
    errorMessage: null,
    idempotencyKey: IDEMPOTENCY_KEY,
    createdAt: CREATED_AT,
    completedAt: null,
    requestId: REQUEST_ID,
    serverId: SERVER_ID,
    accountNumber: operation === "account.create" ? null : ACCOUNT_NUMBER,
    updatedAt: CREATED_AT,
    deadlineAt: DEADLINE_AT,
    createdBy: CREATED_BY,
  };
}

export const envelope = (operation: CommandExample["operation"], payload: Record<string, unknown> = {}) => ({
  command: queued(operation, payload),
  duplicate: false,
});

/** The answer of a command that concerns no account. */
export const onServer = ({ command, duplicate }: ReturnType<typeof envelope>) => ({
  command: { ...command, managedAccountId: null, accountNumber: null },
  duplicate,
});
