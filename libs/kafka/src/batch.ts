import type { TopicContract } from "@kapi/contracts";

import type { Message } from "./message.ts";

/** Consecutive messages of one partition, in log order. */
export interface Batch {
  readonly topic: TopicContract;
  readonly partition: number;
  readonly messages: readonly Message[];
}

/** A message that cannot be processed, for the topic `dead-letter`. */
export interface DeadLetter {
  readonly message: Message;
  /** Why the message cannot be processed; becomes a header of the dead letter. */
  readonly reason: string;
  /** Whether the dead letter has the value. Default: no. A value may contain a sealed password. */
  readonly includeValue?: boolean;
}

/** What `onBatch` returns for a batch. */
export interface BatchOutcome {
  readonly deadLetters?: readonly DeadLetter[];
  /**
   * The offset to commit: the first message whose effect is not durable yet. A function is called
   * at every commit, until the offset that it returns shows that the whole batch is durable.
   * Default: the offset after the last message.
   */
  readonly commitOffset?: bigint | (() => bigint);
}
