import type { CommandErrorCode, CommandHeader, StoredCommandMessage } from "@kapi/contracts";

import type { Lease } from "./partition-leases.ts";

/** Why kapi rejects a command: the command fails with this error, unless it was already applied. */
export interface Rejection {
  readonly errorCode: CommandErrorCode;
  readonly errorMessage: string;
}

/** The error of a command that cannot be processed. */
export const INTERNAL: Rejection = { errorCode: "INTERNAL", errorMessage: "The command could not be processed" };

/** The partition that a command in memory belongs to. */
export interface CommandPartition {
  readonly partition: number;
  readonly lease: Lease | null;
  /** Removes a final command from memory. */
  remove(entry: Entry): void;
}

/** A command in memory. */
export interface Entry {
  /** Its `traceparent` names the current attempt. */
  message: StoredCommandMessage;
  /** The span that consumed the command, if it is traced. */
  readonly traceparent?: string | undefined;
  /** See {@link orderKeyOf}. */
  readonly orderKey: string;
  readonly offset: number;
  readonly partition: CommandPartition;
  readonly deadlineMs: number;
  /** Attempts started. */
  attempts: number;
  /** False only if this process knows that no attempt was ever sent to the trading server. */
  maybeSent: boolean;
  /**
   * If set, the command fails with this error. If the command may have been sent, its reference is
   * settled at the trading server first.
   */
  rejection: Rejection | null;
  /** Attempts that ended in an unexpected error. Above 0, the command runs in its own batch. */
  unexpectedErrors: number;
  /**
   * The command is final, or its partition was closed. If it is still running, its outcome is
   * ignored.
   */
  dropped: boolean;
}

/**
 * Commands with the same key run in log order, one at a time unless the worker has
 * `maxAccountCommands`. The key is the account; each creation has its own key. Commands on risk
 * templates have the key of their server.
 */
export function orderKeyOf(message: CommandHeader): string {
  if (message.accountNumber !== null) return `${message.serverId}/${message.accountNumber}`;
  if (message.operation !== "account.create") return message.serverId;
  return message.managedAccountId ?? message.commandId;
}
