/** How far a consumer group has read a topic. */
import type { TopicContract } from "@kapi/contracts";

import { fromLeaders } from "./admin.ts";
import type { KafkaConnection } from "./connection.ts";
import { topicIds } from "./topic-ids.ts";
import { endOffsets } from "./topics.ts";

/** The end of a topic at one time. The offsets are valid only for the topic with this id. */
export interface TopicEnd {
  /** Null if the topic did not exist when its id was read. */
  readonly topicId: string | null;
  /** The offset after the last record, of each partition. */
  readonly offsets: ReadonlyMap<number, bigint>;
}

/**
 * The end of the topic now.
 * @throws if the topic does not exist.
 */
export async function topicEnd(kafka: KafkaConnection, topic: TopicContract): Promise<TopicEnd> {
  const [topicId = null] = await topicIds(kafka, [topic]);
  return { topicId, offsets: await endOffsets(kafka, topic) };
}

/**
 * Whether every record before `end` is committed by the group, or deleted. A record is committed
 * after its effect is durable.
 * @returns "recreated" if the id of the topic differs from the id in `end`: the topic was deleted
 * or created after `end` was read.
 */
export async function hasGroupReached(
  kafka: KafkaConnection,
  topic: TopicContract,
  groupId: string,
  end: TopicEnd,
): Promise<boolean | "recreated"> {
  const [topicId = null] = await topicIds(kafka, [topic]);
  if (topicId !== end.topicId) return "recreated";
  const name = kafka.topicName(topic);
  return fromLeaders(kafka, async (admin) => {
    const group = { groupId: kafka.topicPrefix + groupId, topics: [name] };
    const [[committed], kept] = await Promise.all([admin.fetchOffsets(group), admin.fetchTopicOffsets(name)]);
    const beginOf = new Map(kept.map(({ partition, low }) => [partition, BigInt(low)]));
    const committedOf = new Map(committed?.partitions.map((one) => [one.partition, one]));
    return Array.from(end.offsets).every(([partition, offset]) => {
      if ((beginOf.get(partition) ?? 0n) >= offset) return true;
      const commit = committedOf.get(partition);
      // Commits of earlier releases have no topic id. An offset of a deleted topic does not count.
      const isOfTopic = commit?.metadata === null || commit?.metadata === topicId;
      return commit !== undefined && isOfTopic && BigInt(commit.offset) >= offset;
    });
  });
}
