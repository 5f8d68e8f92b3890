import type { TopicContract } from "@kapi/contracts";
import type { OutboxTransaction } from "@kapi/outbox";
import { activeTraceparent } from "@kapi/runtime";

/**
 * Enqueues a message beside the change that it reports; it is published after the commit, in the
 * trace of the change.
 */
export function enqueue(tx: OutboxTransaction, topic: TopicContract, key: string, value: string): void {
  tx.enqueue([{ topic, key, value, traceparent: activeTraceparent() }]);
}
