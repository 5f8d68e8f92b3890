import { z } from "zod";

import { CreatedBy } from "../actor.ts";
import { COMMANDS, type CommandOperation as OperationName } from "../commands.ts";
import { DateTime } from "../values.ts";
import { checkedPageQuery, cursorFields, FilterText, Pagination } from "./pagination.ts";

/** Every queued operation, in the order of {@link COMMANDS}. */
export const COMMAND_OPERATIONS = Object.keys(COMMANDS) as readonly OperationName[];
export const CommandOperation = z.enum(COMMAND_OPERATIONS);
export type CommandOperation = OperationName;

/** States of a command (interface, "States and transitions"). */
export const COMMAND_STATUSES = ["queued", "leased", "succeeded", "failed", "expired"] as const;
export const CommandStatus = z.enum(COMMAND_STATUSES);
export type CommandStatus = z.infer<typeof CommandStatus>;

/** The states that never change again (decisions, 3.1). */
export const FINAL_COMMAND_STATUSES = ["succeeded", "failed", "expired"] as const satisfies readonly CommandStatus[];
export const FinalCommandStatus = z.enum(FINAL_COMMAND_STATUSES);
export type FinalCommandStatus = z.infer<typeof FinalCommandStatus>;

/** Whether `status` is one of {@link FINAL_COMMAND_STATUSES}. */
export function isFinal(status: CommandStatus): status is FinalCommandStatus {
  return status !== "queued" && status !== "leased";
}

/** Why a command failed (decisions, 3.4). */
export const COMMAND_ERROR_CODES = [
  "ACCOUNT_NOT_FOUND",
  "ACCOUNT_NOT_READY",
  "ACCOUNT_DISABLED",
  "ACCOUNT_ARCHIVED",
  "ACCOUNT_HAS_OPEN_POSITIONS",
  "INVALID_STATE_TRANSITION",
  "INSUFFICIENT_FUNDS",
  "LEVERAGE_NOT_SUPPORTED",
  "SERVER_DISABLED",
  "SERVER_UNAVAILABLE",
  "REJECTED_BY_SERVER",
  "INTERNAL",
] as const;
export const CommandErrorCode = z.enum(COMMAND_ERROR_CODES);
export type CommandErrorCode = z.infer<typeof CommandErrorCode>;

/**
 * A command as the API shows it (interface, "Command"), with six more fields at its end
 * (decisions, 3.3). After the retention the command's details are dropped; until then every
 * optional field is present.
 */
export const Command = z.object({
  id: z.uuid(),
  operation: CommandOperation,
  status: CommandStatus,
  managedAccountId: z.uuid().nullable().optional(),
  attempts: z.int().min(0),
  payload: z.record(z.string(), z.unknown()).optional(),
  result: z.record(z.string(), z.unknown()).nullable(),
  errorCode: CommandErrorCode.nullable(),
  errorMessage: z.string().nullable().optional(),
  idempotencyKey: z.string(),
  createdAt: z.iso.datetime(),
  completedAt: z.iso.datetime().nullable().optional(),
  requestId: z.string().optional(),
  serverId: z.guid(),
  accountNumber: z.string().nullable().optional(),
  updatedAt: z.iso.datetime().optional(),
  deadlineAt: z.iso.datetime().optional(),
  createdBy: CreatedBy,
});
export type Command = z.infer<typeof Command>;

/** The passwords of a new account. Only an envelope with `duplicate: false` has them. */
export const AccountPasswords = z.object({ tradingPassword: z.string(), investorPassword: z.string() });

/** Answer of a queued mutation (interface, "Command envelope"). */
export const CommandEnvelope = z.object({
  command: Command,
  duplicate: z.boolean(),
  credentials: AccountPasswords.optional(),
  password: z.string().optional(),
});
export type CommandEnvelope = z.infer<typeof CommandEnvelope>;

/** Answer of the password resets: the envelope always has the new password. */
export const PasswordResetEnvelope = CommandEnvelope.extend({ password: z.string() });

/** Answer of bulkCreateTradingAccounts: one envelope per item, in order. */
export const BulkEnvelopesAnswer = z.object({ results: z.array(CommandEnvelope) });

/**
 * Query of getCommand. The operation has no 400: an invalid `wait` means no wait, and a value above
 * the maximum means the maximum.
 */
export const GetCommandQuery = z.object({
  wait: z.string().meta({ description: "Seconds to wait for a final state, 0 to 30" }).optional(),
});

/** Answer of getCommand. */
export const CommandAnswer = z.object({ command: Command });

/** Query of listCommands (decisions, 3.6); `from` and `to` are inclusive, on `createdAt`. */
export const ListCommandsQuery = checkedPageQuery(
  z.object({
    ...cursorFields("commands"),
    status: CommandStatus.optional(),
    operation: CommandOperation.optional(),
    accountNumber: z.string().min(1).max(32).optional(),
    requestId: z.string().min(1).max(100).optional(),
    idempotencyKey: z.string().min(1).max(104).optional(),
    from: DateTime.optional(),
    to: DateTime.optional(),
    /** The `Idempotency-Key` of a bulk request: selects the commands of its items. */
    bulkIdempotencyKey: FilterText.optional(),
    idempotencyKeyPrefix: z.string().min(1).max(104).optional(),
    wait: GetCommandQuery.shape.wait,
  }),
);
export type ListCommandsQuery = z.infer<typeof ListCommandsQuery>;

/** Answer of listCommands. */
export const CommandsAnswer = z.object({ commands: z.array(Command), pagination: Pagination });
