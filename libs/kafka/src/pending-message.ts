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

/**
 * A message whose promise from `send` is not settled yet, or whose request is still under way.
 */
export interface PendingMessage {
  readonly contract: TopicContract;
  /** The topic's name in the cluster. */
  readonly topic: string;
  readonly partition: number;
  /** The message as kafkajs sends it. */
  readonly wire: WireMessage;
  /** Size of the message in a request, in bytes, estimated from above. */
  readonly bytes: number;
  /** The deadline, by the clock of the producer. */
  readonly expiresAtMs: number;
  readonly answer: Deferred<Position>;
  readonly span: Span | null;
  /** Whether a broker may have stored the message: the outcome of a request with it is unknown. */
  maybeStored: boolean;
  /**
   * Whether the promise is settled. After its deadline a message is settled, but stays in its
   * request.
   */
  settled: boolean;
}

const failures = counter(
  "kafka.produce.failures",
  "Messages that were not acknowledged, by `topic` and `outcome` (not-sent, unknown)",
  "{message}",
);

/** Resolves messages of one partition, which are stored in this order from `baseOffset` on. */
export function acknowledge(messages: readonly PendingMessage[], baseOffset: string): void {
  let offset = BigInt(baseOffset);
  for (const pending of messages) {
    const { partition } = pending;
    if (!pending.settled) {
      pending.settled = true;
      pending.span?.end();
      pending.answer.resolve({ partition, offset });
    }
    offset += 1n;
  }
}

/** Rejects each message with its own outcome. Skips settled messages. */
export function reject(messages: readonly PendingMessage[], reason: string, cause?: unknown): void {
  for (const pending of messages) {
    if (pending.settled) continue;
    pending.settled = true;
    const error = new ProduceError(pending.maybeStored ? "unknown" : "not-sent", reason, { cause });
    failures.add(1, { topic: pending.contract.name, outcome: error.outcome });
    pending.span?.end(error);
    pending.answer.reject(error);
  }
}
