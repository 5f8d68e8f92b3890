import { z } from "zod";

import { CallerAddress, MessageCreatedBy } from "../actor.ts";
import { CommandErrorCode, CommandOperation, CommandStatus } from "../http/commands.ts";

/**
 * Whether the reserved credits of a command are consumed or released (decisions, 7.2). Only an
 * event of a final state has a settlement.
 */
export const Settlement = z.object({
  chargeId: z.uuid(),
  credits: z.int().min(0),
  action: z.enum(["consume", "release"]),
});
export type Settlement = z.infer<typeof Settlement>;

/**
 * One state change of one command, on `command.events`. The event with the highest `version` has
 * the command's state. The command message itself counts as version 0, `queued`.
 */
export const CommandEvent = z.object({
  commandId: z.uuid(),
  organizationId: z.uuid(),
  serverId: z.guid(),
  accountNumber: z.string().nullable(),
  managedAccountId: z.uuid().nullable(),
  operation: CommandOperation,
  version: z.int().min(1),
  status: CommandStatus,
  attempts: z.int().min(0),
  result: z.record(z.string(), z.unknown()).nullable(),
  errorCode: CommandErrorCode.nullable(),
  errorMessage: z.string().nullable(),
  settlement: Settlement.nullable(),
  occurredAt: z.iso.datetime(),
  /** Who asked for the command. Missing in messages of release 0.1.0. */
  createdBy: MessageCreatedBy,
  /** Set only for a password reset, and for a command of a person. */
  callerAddress: CallerAddress,
});
export type CommandEvent = z.infer<typeof CommandEvent>;
