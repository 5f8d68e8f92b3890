/** What a unit of work is made of: messages, commands that are open, and how they end. */
import type { CommandErrorCode, CommandStatus, StoredCommandMessage, TopicContract } from "@kapi/contracts";
import type { Transaction } from "@kapi/postgres";

/** One message for Kafka, published after the commit of the transaction that enqueued it. */
export interface OutboxMessage {
  readonly topic: TopicContract;
  /** On one line. */
  readonly key: string;
  /** JSON on one line. */
  readonly value: string;
  /** The span that it is sent in, if it belongs to a trace. */
  readonly traceparent?: string | undefined;
}

/** A command that was not final when the transaction read it; the version tells whether it still is at its end. */
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
export interface WorkTransaction extends Transaction {
  /** Published after the commit, at least once, also when this process dies right after it. */
  enqueue(messages: readonly OutboxMessage[]): void;
  /** Those of `commandIds` that this service has taken in and that are not final; in no particular order. */
  readOpen(commandIds: readonly string[]): Promise<readonly OpenCommand[]>;
  /**
   * Ends commands that `readOpen` of this transaction gave; their events are enqueued with it. Where another transaction
   * was faster with one of them, this one is rolled back and its work done again.
   */
  finish(finals: readonly FinalState[]): void;
}
