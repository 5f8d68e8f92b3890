import type { TopicContract } from "@kapi/contracts";
import type { Clock } from "@kapi/kernel";

import type { Position } from "./pending-message.ts";

/** Options of a producer. */
export interface ProducerOptions {
  /** Maximum number of messages in one request. Default 1,000. */
  readonly maxBatchMessages?: number;
  /**
   * Maximum number of bytes in one request. A larger message is rejected, unless its topic allows
   * it (`maxMessageBytes`): then it gets a request of its own. Default 900,000.
   */
  readonly maxBatchBytes?: number;
  /**
   * Maximum number of messages waiting for a request to one broker; further messages are rejected
   * at once. Default 20,000.
   */
  readonly maxQueuedMessages?: number;
  /** Time in which a message must be acknowledged, counted from `send`. Default 10,000. */
  readonly produceTimeoutMs?: number;
  /**
   * Minimum time between two requests to a broker. Messages that come in this time share a request,
   * which costs the broker and this process far less than many small requests. The first message
   * after a pause is sent at once. Default 8.
   */
  readonly minIntervalMs?: number;
  /**
   * Whether the messages come from outside kapi: commands of callers, and events and valuations of
   * trading servers. Such a producer waits from the phase `draining` of a growth on, until the
   * topics have grown. Default false.
   */
  readonly isSource?: boolean;
  readonly clock?: Clock;
}

/** A message to publish. */
export interface OutgoingMessage {
  /** Determines the partition; messages of one key keep their order. */
  readonly key: string;
  /** null: a tombstone, after which compaction removes the key. An empty value keeps the key. */
  readonly value: string | Buffer | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Only for a topic with `partitionsAs` in its contract. Default: chosen by the key. */
  readonly partition?: number;
  /**
   * The parent of the send's span, if the message belongs to a trace. The active span is never
   * used: it may belong to another request.
   */
  readonly traceparent?: string | undefined;
}

/** Publishes messages; see `startProducer`. */
export interface Producer {
  /**
   * Publishes `message`. Resolves with its position when all in-sync replicas have it. Rejects with
   * a `ProduceError`, whose outcome says whether the message may be in the log, or with
   * `MessageTooLarge`. Messages of one key keep the order of the calls.
   */
  send(topic: TopicContract, message: OutgoingMessage): Promise<Position>;
  /** The partition that `send` chooses for `key`. Throws for a topic that does not exist. */
  partitionOf(topic: TopicContract, key: string): number;
}
