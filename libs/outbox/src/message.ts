import type { TopicContract } from "@kapi/contracts";
import type { Transaction } from "@kapi/postgres";

/** One message for Kafka, published after the commit of the transaction that enqueued it. */
export interface OutboxMessage {
  readonly topic: TopicContract;
  /** On one line. */
  readonly key: string;
  /** JSON on one line. */
  readonly value: string;
  /** The span that the message is sent in, if it belongs to a trace. */
  readonly traceparent?: string | undefined;
}

/** A transaction that may publish messages with its commit. */
export interface OutboxTransaction extends Transaction {
  /** Published after the commit, at least once, also when this process dies right after it. */
  enqueue(messages: readonly OutboxMessage[]): void;
}
