import { TopicRecreated } from "@kapi/kafka";

import type { AssignedTopic, KnownTopics, LogEnds, StoredTopic } from "../domain/ports.ts";

const REMEDY = "remove its rows from command_status.positions";

/**
 * Remembers the topics of partitions that this process takes in from now on.
 * @throws TopicRecreated where positions are stored that belong to a topic that was deleted.
 */
export async function rememberTopics(known: KnownTopics, assigned: readonly AssignedTopic[]): Promise<void> {
  const now = new Map(assigned.map(({ topic, topicId }) => [topic, topicId]));
  assertSame(await known.remember(assigned), now);
}

/**
 * @throws TopicRecreated where stored positions belong to another topic than the one that has its
 * name now.
 */
export async function assertSameTopics(known: KnownTopics, ends: Pick<LogEnds, "topicIds">): Promise<void> {
  const stored = await known.stored();
  assertSame(stored, await ends.topicIds());
}

function assertSame(stored: readonly StoredTopic[], now: ReadonlyMap<string, string>): void {
  for (const { topic, topicId } of stored) {
    const id = now.get(topic) ?? topicId;
    if (id !== topicId) throw new TopicRecreated(topic, topicId, id, REMEDY);
  }
}
