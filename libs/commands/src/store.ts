/**
 * The commands and the outbox of one service in its own schema. A unit of work is one transaction: effects, final
 * states and what is to be published are written together; the process that committed publishes at once.
 */
import type { CommandErrorCode, CommandMessage, TopicContract } from "@kapi/contracts";
import type { Queryable } from "@kapi/postgres";

/** One message for Kafka, published after the commit of the transaction that enqueued it. */
export interface OutboxMessage {
  readonly topic: TopicContract;
  readonly key: string;
  readonly value: string;
}

/** A command that is not final, locked until the end of the transaction that read it. */
export interface OpenCommand {
  readonly message: CommandMessage;
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
export interface WorkTransaction extends Queryable {
  /** Published after the commit, at least once, also when this process dies right after it. */
  enqueue(messages: readonly OutboxMessage[]): void;
  /** Locks those of `commandIds` that this service has taken in and that are not final; in no particular order. */
  lockOpen(commandIds: readonly string[]): Promise<readonly OpenCommand[]>;
  /** Ends commands that `lockOpen` of this transaction gave; their events are enqueued with it. */
  finish(finals: readonly FinalState[]): void;
}

/** What {@link createCommandStore} gives. */
export interface CommandStore {
  /**
   * Runs `work` in one transaction, and again where the database says that only the moment was bad (deadlock,
   * serialization). Resolves after the commit; publishing goes on behind it.
   */
  transact<T>(work: (transaction: WorkTransaction) => Promise<T>): Promise<T>;
}
