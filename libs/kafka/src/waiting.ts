import type { TopicContract } from "@kapi/contracts";
import type { Deferred } from "@kapi/kernel";
import { counter, type Span } from "@kapi/runtime";
import type { Message as WireMessage } from "kafkajs";

import { ProduceError } from "./errors.ts";

/** The position of a message in the log. */
export interface Position {
  readonly partition: number;
  readonly offset: bigint;
}

/** One message between `send` and the settlement of its promise. */
export interface Waiting {
  readonly contract: TopicContract;
  /** The topic's name in the cluster. */
  readonly topic: string;
  readonly partition: number;
  readonly wire: WireMessage;
  readonly bytes: number;
  readonly expiresAtMs: number;
  readonly answer: Deferred<Position>;
  readonly span: Span | null;
  /** Whether a broker may have stored the message: the outcome of a request with it is unknown. */
  maybeStored: boolean;
  /** Whether the promise is settled. A message in a request stays there after its deadline. */
  settled: boolean;
}

const failures = counter(
  "kafka.produce.failures",
  "Messages that were not acknowledged, by `topic` and `outcome` (not-sent, unknown)",
  "{message}",
);

/** Resolves messages of one partition, which are stored in this order from `baseOffset` on. */
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

/** Rejects each message with its own outcome. Skips settled messages. */
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
