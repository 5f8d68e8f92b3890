import { TopicRecreated } from "@kapi/kafka";

import type { AssignedTopic, TopicIdRepository, LogEndOffsets, StoredTopicId } from "../domain/ports.ts";

const REMEDY = "remove its rows from command_status.positions";

/**
 * Stores the topic id with each assigned partition that has none, and compares the stored ids with
 * the current ones.
 * @throws TopicRecreated if stored positions belong to a deleted topic of the same name.
 */
export async function storeTopicIds(topicIds: TopicIdRepository, assigned: readonly AssignedTopic[]): Promise<void> {
  const now = new Map(assigned.map(({ topic, topicId }) => [topic, topicId]));
  assertSameIds(await topicIds.storeIfMissing(assigned), now);
}

/**
 * Compares the stored topic ids with the current ones.
 * @throws TopicRecreated if stored positions belong to a deleted topic of the same name.
 */
export async function assertSameTopics(
  stored: TopicIdRepository,
  kafka: Pick<LogEndOffsets, "topicIds">,
): Promise<void> {
  assertSameIds(await stored.findAll(), await kafka.topicIds());
}

function assertSameIds(stored: readonly StoredTopicId[], now: ReadonlyMap<string, string>): void {
  for (const { topic, topicId } of stored) {
    const id = now.get(topic) ?? topicId;
    if (id !== topicId) throw new TopicRecreated(topic, topicId, id, REMEDY);
  }
}
