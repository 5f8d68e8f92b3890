/** What a unit of work is made of: messages, commands that are locked, and how they end. */
import type { CommandErrorCode, CommandMessage, CommandStatus, TopicContract } from "@kapi/contracts";
import type { Queryable } from "@kapi/postgres";

/** One message for Kafka, published after the commit of the transaction that enqueued it. */
export interface OutboxMessage {
  readonly topic: TopicContract;
  readonly key: string;
  /** JSON on one line. */
  readonly value: string;
}

/** A command that is not final, locked until the end of the transaction that read it. */
export interface OpenCommand {
  readonly message: CommandMessage;
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
export interface WorkTransaction extends Queryable {
  /** Published after the commit, at least once, also when this process dies right after it. */
  enqueue(messages: readonly OutboxMessage[]): void;
  /** Locks those of `commandIds` that this service has taken in and that are not final; in no particular order. */
  lockOpen(commandIds: readonly string[]): Promise<readonly OpenCommand[]>;
  /** Ends commands that `lockOpen` of this transaction gave; their events are enqueued with it. */
  finish(finals: readonly FinalState[]): void;
}
