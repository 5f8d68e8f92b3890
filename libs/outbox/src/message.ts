import type { TopicContract } from "@kapi/contracts";
import type { Transaction } from "@kapi/postgres";

/** One message for Kafka, published after the commit of the transaction that enqueued it. */
export interface OutboxMessage {
  readonly topic: TopicContract;
  /** Without line breaks. */
  readonly key: string;
  /** JSON without line breaks. */
  readonly value: string;
  /** Parent span of the send; undefined without a trace. */
  readonly traceparent?: string | undefined;
}

/** A transaction that may publish messages with its commit. */
export interface OutboxTransaction extends Transaction {
  /**
   * Publishes at least once after the commit, even if this process dies right after the commit.
   * Throws for a key or value with a line break.
   */
  enqueue(messages: readonly OutboxMessage[]): void;
}
