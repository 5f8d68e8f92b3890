import { TOPICS, type TopicContract } from "@kapi/contracts";
import { beginOffsets, endOffsets, type KafkaConnection, topicIds } from "@kapi/kafka";

import { COMMAND_TOPICS } from "../../domain/command-topics.ts";
import type { LogEndOffsets, LogPosition } from "../../domain/ports.ts";

const ALL_TOPICS: readonly TopicContract[] = [...COMMAND_TOPICS, TOPICS.commandEvents];

/** Reads end offsets (without empty partitions) and ids of the topics that this service ingests. */
export function createLogEndOffsets(kafka: KafkaConnection): LogEndOffsets {
  return {
    current: async () => (await Promise.all(ALL_TOPICS.map((topic) => endsOf(kafka, topic)))).flat(),
    topicIds: async () => {
      const ids = await topicIds(kafka, ALL_TOPICS);
      const found = ALL_TOPICS.map(({ name }, index) => [name, ids[index] ?? null] as const);
      return new Map(found.filter((entry): entry is [string, string] => entry[1] !== null));
    },
  };
}

async function endsOf(kafka: KafkaConnection, topic: TopicContract): Promise<LogPosition[]> {
  const [ends, begins] = await Promise.all([endOffsets(kafka, topic), beginOffsets(kafka, topic)]);
  return Array.from(ends, ([partition, nextOffset]) => ({ topic: topic.name, partition, nextOffset })).filter(
    ({ partition, nextOffset }) => nextOffset > (begins.get(partition) ?? 0n),
  );
}
