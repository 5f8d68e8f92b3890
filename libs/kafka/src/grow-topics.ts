/**
 * What `kapi admin partitions grow` reads and changes in the Kafka cluster, and what services check
 * after it (decisions, 28).
 */
import {
  CONSUMER_GROUPS,
  GROWING_TOPICS,
  PARTITION_GROWTH_KEY,
  PartitionGrowth,
  TOPICS,
  type TopicContract,
} from "@kapi/contracts";

import { retry } from "@kapi/kernel";
import type { Broker } from "kafkajs";

import { withAdmin } from "./admin.ts";
import { clusterClient } from "./cluster.ts";
import type { KafkaConnection } from "./connection.ts";
import { readLogRange } from "./log-range.ts";
import type { Producer } from "./producer.ts";

const CREATE_TIMEOUT_MS = 30_000;
const ANSWER_MARGIN_MS = 1_000;
const READ_TIMEOUT_MS = 10_000;
/** Pauses while a broker does not know all partitions. */
const BACK_OFF = { firstMs: 50, maxMs: 500 };

/** The newest record of `partition.growth`; null if no growth was ever announced. */
export async function readPartitionGrowth(kafka: KafkaConnection): Promise<PartitionGrowth | null> {
  let newest: PartitionGrowth | null = null;
  const all = { topic: TOPICS.partitionGrowth, partition: 0, fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
  await readLogRange(kafka, all, {
    timeoutMs: READ_TIMEOUT_MS,
    onMessages: (messages) => {
      const last = messages.at(-1);
      if (last !== undefined) newest = PartitionGrowth.parse(JSON.parse(last.value.toString("utf8")));
    },
  });
  return newest;
}

/** Writes the record of `partition.growth`. Resolves when all in-sync replicas have it. */
export async function writePartitionGrowth(producer: Producer, growth: PartitionGrowth): Promise<void> {
  await producer.send(TOPICS.partitionGrowth, { key: PARTITION_GROWTH_KEY, value: JSON.stringify(growth) });
}

/** One of {@link GROWING_TOPICS}, and its number of partitions. */
export interface TopicSize {
  readonly topic: TopicContract;
  readonly partitions: number;
}

/**
 * The numbers of partitions of {@link GROWING_TOPICS}.
 * @throws if one of these topics or `partition.growth` does not exist, or has a replica that is not
 * in sync: the broker of this replica may be cut off, and show an old record of `partition.growth`.
 */
export async function topicSizes(kafka: KafkaConnection): Promise<readonly TopicSize[]> {
  const topics: readonly TopicContract[] = [...GROWING_TOPICS, TOPICS.partitionGrowth];
  const metadata = await withAdmin(kafka, (admin) =>
    admin.fetchTopicMetadata({ topics: topics.map((topic) => kafka.topicName(topic)) }),
  );
  const found = new Map(metadata.topics.map((one) => [one.name, one.partitions]));
  const sizes = topics.map((topic) => {
    const partitions = found.get(kafka.topicName(topic)) ?? [];
    if (partitions.length === 0) throw new Error(`topic ${topic.name} does not exist: run the topics job first`);
    const behind = partitions.find(({ isr, replicas }) => isr.length < replicas.length);
    if (behind !== undefined)
      throw new Error(
        `partition ${behind.partitionId} of ${topic.name} has ${behind.isr.length} of ${behind.replicas.length} ` +
          "replicas in sync: wait until every broker is back",
      );
    return { topic, partitions: partitions.length };
  });
  return sizes.filter(({ topic }) => topic !== TOPICS.partitionGrowth);
}

/**
 * Checks that a service may assign its stored rows to the present partitions of a topic. `before`:
 * the number of partitions when the rows were stored; 0: no rows are stored. `partitions`: the
 * present number.
 * @throws if another tool than `kapi admin partitions grow` changed the number. Records of one key
 * could then be on two partitions, and be handled in a wrong order.
 */
export function assertGrown(kafka: KafkaConnection, topic: TopicContract, before: number, partitions: number): void {
  if (before === 0 || before === partitions) return;
  const growth = kafka.growth?.growth ?? null;
  if (before < partitions && growth?.phase === "done" && growth.partitions === partitions) return;
  throw new Error(
    `${topic.name} has ${partitions} partitions, and this service has stored commands or rules for ${before}: only ` +
      "`kapi admin partitions grow` may change the number",
  );
}

/**
 * Raises the number of partitions of {@link GROWING_TOPICS} to `partitions`. Topics that have this
 * number or more stay as they are. Resolves when every broker knows the partitions and their
 * leaders. A process that asked a broker without this knowledge would use only the former
 * partitions.
 * @throws what {@link topicSizes} throws; or if the cluster cannot be used, or a broker does not
 * know all partitions within {@link CREATE_TIMEOUT_MS}.
 */
export async function growTopics(kafka: KafkaConnection, partitions: number): Promise<void> {
  const smaller = (await topicSizes(kafka)).filter((one) => one.partitions < partitions);
  if (smaller.length > 0) {
    const topicPartitions = smaller.map(({ topic }) => ({ topic: kafka.topicName(topic), count: partitions }));
    await withAdmin(kafka, (admin) => admin.createPartitions({ timeout: CREATE_TIMEOUT_MS, topicPartitions }), {
      requestTimeoutMs: CREATE_TIMEOUT_MS + ANSWER_MARGIN_MS,
    });
  }
  await untilBrokersKnow(kafka, partitions);
}

async function untilBrokersKnow(kafka: KafkaConnection, partitions: number): Promise<void> {
  const { brokers } = await withAdmin(kafka, (admin) => admin.describeCluster());
  const { client, cluster } = clusterClient(kafka, {});
  await client.connect();
  try {
    await cluster.addMultipleTargetTopics(GROWING_TOPICS.map((topic) => kafka.topicName(topic)));
    for (const { nodeId } of brokers) {
      const broker = await cluster.findBroker({ nodeId: String(nodeId) });
      await retry(() => expectPartitions(kafka, broker, partitions), {
        backOff: BACK_OFF,
        timeoutMs: CREATE_TIMEOUT_MS,
      });
    }
  } finally {
    await client.disconnect();
  }
}

/** @throws if a topic has fewer partitions, or one without a leader, in this broker's metadata. */
async function expectPartitions(kafka: KafkaConnection, broker: Broker, partitions: number): Promise<void> {
  const { topicMetadata } = await broker.metadata(GROWING_TOPICS.map((topic) => kafka.topicName(topic)));
  const behind = topicMetadata.find(({ partitionMetadata: known }) => {
    return known.length < partitions || known.some(({ leader }) => leader < 0);
  });
  if (behind !== undefined) throw new Error(`a broker does not know all partitions of ${behind.topic} yet`);
}

/** The consumer groups of kapi that have members now; the names have the topic prefix. */
export async function groupsWithMembers(kafka: KafkaConnection): Promise<readonly string[]> {
  const groupIds = Object.keys(CONSUMER_GROUPS).map((groupId) => kafka.topicPrefix + groupId);
  const { groups } = await withAdmin(kafka, (admin) => admin.describeGroups(groupIds));
  return groups.filter(({ members }) => members.length > 0).map(({ groupId }) => groupId);
}
