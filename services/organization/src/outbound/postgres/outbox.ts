import type { TopicContract } from "@kapi/contracts";
import type { OutboxTransaction } from "@kapi/outbox";
import { activeTraceparent } from "@kapi/runtime";

/**
 * Enqueues a message in the transaction of the change. It is published after the commit, in the
 * same trace.
 */
export function enqueue(tx: OutboxTransaction, topic: TopicContract, key: string, value: string): void {
  tx.enqueue([{ topic, key, value, traceparent: activeTraceparent() }]);
}
