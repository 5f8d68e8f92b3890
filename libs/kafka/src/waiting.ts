import type { TopicContract } from "@kapi/contracts";
import type { Deferred } from "@kapi/kernel";
import { counter, type Span } from "@kapi/runtime";
import type { Message as WireMessage } from "kafkajs";

import { ProduceError } from "./errors.ts";

/** Where a message is in the log. */
export interface Position {
  readonly partition: number;
  readonly offset: bigint;
}

/** One message between `send` and its answer. */
export interface Waiting {
  readonly contract: TopicContract;
  /** The name in the cluster. */
  readonly topic: string;
  readonly partition: number;
  readonly wire: WireMessage;
  readonly bytes: number;
  readonly expiresAtMs: number;
  readonly answer: Deferred<Position>;
  readonly span: Span | null;
  /** Whether a broker may have taken it: it was in a request whose outcome nobody knows. */
  maybeStored: boolean;
  /** Past its deadline a message is answered, and stays in its request until that ends. */
  settled: boolean;
}

const failures = counter(
  "kafka.produce.failures",
  "Messages that were not acknowledged, by `topic` and `outcome` (not-sent, unknown)",
  "{message}",
);

/** The messages of one partition, stored from `baseOffset` on in the order they were given in. */
export function acknowledge(messages: readonly Waiting[], baseOffset: string): void {
  let offset = BigInt(baseOffset);
  for (const waiting of messages) {
    const { partition } = waiting;
    if (!waiting.settled) {
      waiting.settled = true;
      waiting.span?.end();
      waiting.answer.resolve({ partition, offset });
    }
    offset += 1n;
  }
}

/**
 * Rejects with the outcome that is true of each message. A message that is answered already is
 * skipped.
 */
export function reject(messages: readonly Waiting[], reason: string, cause?: unknown): void {
  for (const waiting of messages) {
    if (waiting.settled) continue;
    waiting.settled = true;
    const error = new ProduceError(waiting.maybeStored ? "unknown" : "not-sent", reason, { cause });
    failures.add(1, { topic: waiting.contract.name, outcome: error.outcome });
    waiting.span?.end(error);
    waiting.answer.reject(error);
  }
}
