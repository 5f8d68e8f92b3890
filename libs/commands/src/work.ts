/** The interface of a unit of work: open commands, their final states, and messages. */
import type { CommandErrorCode, CommandStatus, StoredCommandMessage } from "@kapi/contracts";
import type { OutboxTransaction } from "@kapi/outbox";

/**
 * A command that was open when the transaction read it. A changed `version` at the commit means
 * that another transaction has changed it.
 */
export interface OpenCommand {
  readonly message: StoredCommandMessage;
  readonly status: CommandStatus;
  readonly version: number;
  readonly attempts: number;
}

/** The final state of a command. */
export interface FinalState {
  readonly command: OpenCommand;
  readonly status: "succeeded" | "failed" | "expired";
  readonly result: Record<string, unknown> | null;
  readonly errorCode: CommandErrorCode | null;
  readonly errorMessage: string | null;
  /** Attempts made. Default: `command.attempts`, at least 1. */
  readonly attempts?: number;
}

/** A transaction that can make commands final and publish messages. */
export interface WorkTransaction extends OutboxTransaction {
  /**
   * Returns the open commands of `commandIds` that are in this service's inbox, in no particular
   * order.
   */
  readOpen(commandIds: readonly string[]): Promise<readonly OpenCommand[]>;
  /**
   * Makes commands final that `readOpen` of this transaction returned, and enqueues their events.
   * If another transaction has changed one of them, this transaction is rolled back and retried.
   */
  finish(finals: readonly FinalState[]): void;
}
