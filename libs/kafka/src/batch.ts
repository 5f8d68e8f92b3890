import type { TopicContract } from "@kapi/contracts";

import type { Message } from "./message.ts";

/** One part of a partition, in log order. */
export interface Batch {
  readonly topic: TopicContract;
  readonly partition: number;
  readonly messages: readonly Message[];
}

export interface DeadLetter {
  readonly message: Message;
  /** Why it cannot be processed; ends up in a header. */
  readonly reason: string;
  /** Whether the dead letter carries the value. Default no: a value may hold a sealed password. */
  readonly includeValue?: boolean;
}

/** How a batch ended. */
export interface BatchOutcome {
  readonly deadLetters?: readonly DeadLetter[];
  /**
   * Commit this offset (the next one to read after a restart) instead of the last one + 1: the
   * first whose effect is not durable yet. A function is asked at every commit, until it says that
   * all of the batch is durable.
   */
  readonly commitOffset?: bigint | (() => bigint);
}
