/** What a unit of work is made of: messages, commands that are open, and how they end. */
import type { CommandErrorCode, CommandStatus, StoredCommandMessage } from "@kapi/contracts";
import type { OutboxTransaction } from "@kapi/outbox";

/**
 * A command that was not final when the transaction read it; the version tells whether it still is
 * at its end.
 */
export interface OpenCommand {
  readonly message: StoredCommandMessage;
  readonly status: CommandStatus;
  readonly version: number;
  readonly attempts: number;
}

/** How a command ends. */
export interface FinalState {
  readonly command: OpenCommand;
  readonly status: "succeeded" | "failed" | "expired";
  readonly result: Record<string, unknown> | null;
  readonly errorCode: CommandErrorCode | null;
  readonly errorMessage: string | null;
  /** Attempts made; by default what the row knows, and at least one. */
  readonly attempts?: number;
}

/** A transaction that may end commands and publish messages with it. */
export interface WorkTransaction extends OutboxTransaction {
  /**
   * Those of `commandIds` that this service has taken in and that are not final; in no particular
   * order.
   */
  readOpen(commandIds: readonly string[]): Promise<readonly OpenCommand[]>;
  /**
   * Ends commands that `readOpen` of this transaction gave; their events are enqueued with it.
   * Where another transaction was faster with one of them, this one is rolled back and its work
   * done again.
   */
  finish(finals: readonly FinalState[]): void;
}
