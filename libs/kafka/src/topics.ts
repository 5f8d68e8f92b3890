import { TOPICS, type TopicContract } from "@kapi/contracts";
import { assert, retry } from "@kapi/kernel";
import kafkajs, { type Admin, type ITopicConfig } from "kafkajs";

import type { KafkaConnection } from "./connection.ts";

const HOUR_MS = 3_600_000;
const CREATE_TIMEOUT_MS = 30_000;
const READY_POLL_MS = 20;
const MIN_FETCH_BYTES = 1024 * 1024;
/** Not imported by name, since Node does not find these in kafkajs. */
const { ConfigResourceTypes, ConfigSource } = kafkajs;
/** What a record batch costs beside its records; the broker's limit counts it. */
const BATCH_OVERHEAD_BYTES = 1_024;
/** A segment is only deleted or compacted after it is closed, so it is closed several times within the retention. */
const SEGMENTS_PER_RETENTION = 4;
/** Compacted topics are read from their start by every process, so what is superseded goes soon. */
const COMPACTED: Readonly<Record<string, string>> = {
  "segment.ms": String(HOUR_MS),
  "segment.bytes": String(64 * 1024 * 1024),
  "min.cleanable.dirty.ratio": "0.1",
  "max.compaction.lag.ms": String(6 * HOUR_MS),
};

/** What one topic has of its own; the rest comes from the contract and the call. */
export interface TopicOverride {
  readonly partitions?: number;
  /** Kafka's topic settings, by name ("segment.bytes"). */
  readonly configs?: Readonly<Record<string, string>>;
}

export interface CreateTopicsOptions {
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly minInsyncReplicas: number;
  /** By the name of the contract ("metrics.latest"). */
  readonly overrides?: Readonly<Record<string, TopicOverride>>;
}

/**
 * Creates every topic of `TOPICS` that is not there yet; what exists stays as it is. Two that run at once do no harm.
 * Throws where a topic that must repeat the partition numbers of another has another count.
 */
export async function createTopics(kafka: KafkaConnection, options: CreateTopicsOptions): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const missing = Object.values(TOPICS).filter((topic) => !existing.has(kafka.topicName(topic)));
    // `false` says that another process created some of them meanwhile; the others of the call were created.
    if (missing.length > 0) {
      await admin.createTopics({
        timeout: CREATE_TIMEOUT_MS,
        // kafkajs gives up where the broker does not know a new topic yet; a broker that has just started takes a moment.
        waitForLeaders: false,
        topics: missing.map((topic) => topicConfig(kafka, topic, options)),
      });
    }
    await Promise.all(Object.values(TOPICS).map((topic) => untilReady(admin, kafka.topicName(topic))));
    await assertSamePartitions(kafka, admin);
  });
}

/** Gives an existing topic these settings of Kafka's, by name ("retention.ms"), beside those that it has of its own. */
export async function alterTopic(
  kafka: KafkaConnection,
  topic: TopicContract,
  configs: Readonly<Record<string, string>>,
): Promise<void> {
  const resource = { type: ConfigResourceTypes.TOPIC, name: kafka.topicName(topic) };
  await withAdmin(kafka, async (admin) => {
    const { resources } = await admin.describeConfigs({ resources: [resource], includeSynonyms: false });
    const own = (resources[0]?.configEntries ?? []).filter(
      ({ configSource }) => configSource === ConfigSource.TOPIC_CONFIG,
    );
    // What is left out would go back to the broker's default.
    const all = {
      ...Object.fromEntries(own.map(({ configName, configValue }) => [configName, configValue])),
      ...configs,
    };
    const configEntries = Object.entries(all).map(([name, value]) => ({ name, value }));
    await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] });
  });
}

/**
 * How many bytes a fetch asks for of each partition: the largest record at least. A broker gives a larger one only of the
 * first partition that has anything, so that while that one is busy the others would stand still.
 */
export function fetchBytesOf({ maxMessageBytes = 0 }: TopicContract): number {
  return Math.max(MIN_FETCH_BYTES, maxMessageBytes + BATCH_OVERHEAD_BYTES);
}

/** The offset after the last record of each partition. */
export function endOffsets(kafka: KafkaConnection, topic: TopicContract): Promise<Map<number, bigint>> {
  return offsets(kafka, topic, "high");
}

/** The offset of the first record still kept, of each partition. */
export function beginOffsets(kafka: KafkaConnection, topic: TopicContract): Promise<Map<number, bigint>> {
  return offsets(kafka, topic, "low");
}

/** Of each partition the offset of the first record made at `timestampMs` or later; the end where there is none. */
export async function offsetsForTime(
  kafka: KafkaConnection,
  topic: TopicContract,
  timestampMs: number,
): Promise<Map<number, bigint>> {
  const found = await withAdmin(kafka, (admin) =>
    admin.fetchTopicOffsetsByTimestamp(kafka.topicName(topic), timestampMs),
  );
  return new Map(found.map(({ partition, offset }) => [partition, BigInt(offset)]));
}

async function offsets(
  kafka: KafkaConnection,
  topic: TopicContract,
  which: "high" | "low",
): Promise<Map<number, bigint>> {
  const found = await withAdmin(kafka, (admin) => admin.fetchTopicOffsets(kafka.topicName(topic)));
  return new Map(found.map((entry) => [entry.partition, BigInt(entry[which])]));
}

/** Partition counts of all topics with this connection's prefix, by their name in the cluster. */
export async function partitionCounts(kafka: KafkaConnection): Promise<Map<string, number>> {
  const { topics } = await withAdmin(kafka, (admin) => admin.fetchTopicMetadata());
  const ours = topics.filter(({ name }) => name.startsWith(kafka.topicPrefix));
  return new Map(ours.map(({ name, partitions }) => [name, partitions.length]));
}

function topicConfig(kafka: KafkaConnection, topic: TopicContract, options: CreateTopicsOptions): ITopicConfig {
  const source = topic.partitionsAs ?? topic.name;
  const configs: Record<string, string> = {
    "cleanup.policy": topic.cleanup,
    "min.insync.replicas": String(options.minInsyncReplicas),
    // Whatever a producer of others compresses with, the broker stores what every reader can read; ours do not compress.
    "compression.type": "uncompressed",
    ...(topic.cleanup === "compact" ? COMPACTED : deleteConfigs(topic)),
    ...sizeConfigs(topic),
    ...options.overrides?.[topic.name]?.configs,
  };
  return {
    topic: kafka.topicName(topic),
    numPartitions: options.overrides?.[source]?.partitions ?? options.partitions,
    replicationFactor: options.replicationFactor,
    configEntries: Object.entries(configs).map(([name, value]) => ({ name, value })),
  };
}

/** Brokers learn of a new topic one after the other; until its leaders answer, clients would fail. */
async function untilReady(admin: Admin, name: string): Promise<void> {
  const fetchOffsets = (): Promise<unknown> => admin.fetchTopicOffsets(name);
  await retry(fetchOffsets, { backOff: { firstMs: READY_POLL_MS }, timeoutMs: CREATE_TIMEOUT_MS });
}

function sizeConfigs({ maxMessageBytes }: TopicContract): Record<string, string> {
  if (maxMessageBytes === undefined) return {};
  return { "max.message.bytes": String(maxMessageBytes + BATCH_OVERHEAD_BYTES) };
}

function deleteConfigs(topic: TopicContract): Record<string, string> {
  if (topic.retentionMs === undefined) return {};
  return {
    "retention.ms": String(topic.retentionMs),
    "segment.ms": String(Math.ceil(topic.retentionMs / SEGMENTS_PER_RETENTION)),
  };
}

async function assertSamePartitions(kafka: KafkaConnection, admin: Admin): Promise<void> {
  const metadata = await admin.fetchTopicMetadata({
    topics: Object.values(TOPICS).map((topic) => kafka.topicName(topic)),
  });
  const counts = new Map(metadata.topics.map(({ name, partitions }) => [name, partitions.length]));
  const topics: readonly TopicContract[] = Object.values(TOPICS);
  for (const topic of topics) {
    if (topic.partitionsAs === undefined) continue;
    const same = counts.get(kafka.topicName(topic)) === counts.get(kafka.topicPrefix + topic.partitionsAs);
    assert(same, `topic ${topic.name} has another number of partitions than ${topic.partitionsAs}`);
  }
}

async function withAdmin<T>(kafka: KafkaConnection, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.client().admin();
  await kafka.connect(admin);
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}
