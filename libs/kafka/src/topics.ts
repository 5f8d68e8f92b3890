import { TOPICS, type TopicContract } from "@kapi/contracts";
import { assert, retry } from "@kapi/kernel";
import type { Admin, ITopicConfig } from "kafkajs";

import { fromLeaders, withAdmin } from "./admin.ts";
import type { KafkaConnection } from "./connection.ts";

const HOUR_MS = 3_600_000;
const CREATE_TIMEOUT_MS = 30_000;
/** The client waits this much longer than the broker, so that the broker's answer arrives. */
const ANSWER_MARGIN_MS = 1_000;
const READY_POLL_MS = 20;
const MIN_FETCH_BYTES = 1024 * 1024;
/** Maximum bytes of a record batch besides its records. The broker's limit includes these bytes. */
const BATCH_OVERHEAD_BYTES = 1_024;
/**
 * Kafka deletes or compacts only closed segments, so a new segment begins several times within the
 * retention.
 */
const SEGMENTS_PER_RETENTION = 4;
/** Processes read compacted topics from their start, so old records are removed soon. */
const COMPACTED: Readonly<Record<string, string>> = {
  "segment.ms": String(HOUR_MS),
  "segment.bytes": String(64 * 1024 * 1024),
  "min.cleanable.dirty.ratio": "0.1",
  "max.compaction.lag.ms": String(6 * HOUR_MS),
};

/** Settings of one topic that differ from those of its contract and of the call. */
export interface TopicOverride {
  readonly partitions?: number;
  /** Kafka's topic settings, by name ("segment.bytes"). */
  readonly configs?: Readonly<Record<string, string>>;
}

/** Partitions and replicas of the topics that {@link createTopics} creates. */
export interface CreateTopicsOptions {
  /**
   * Number of partitions of the topics to create. If `trading.valuations` exists with more
   * partitions, the new topics get as many.
   */
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly minInsyncReplicas: number;
  /** By the name of the contract ("metrics.latest"). */
  readonly overrides?: Readonly<Record<string, TopicOverride>>;
}

/**
 * Creates every topic of `TOPICS` that does not exist; existing topics stay unchanged. Concurrent
 * calls are safe. Throws if a topic does not have as many partitions as the topic that
 * `partitionsAs` names.
 */
export async function createTopics(kafka: KafkaConnection, options: CreateTopicsOptions): Promise<void> {
  const work = async (admin: Admin): Promise<void> => {
    const existing = new Set(await admin.listTopics());
    const missing = Object.values(TOPICS).filter((topic) => !existing.has(kafka.topicName(topic)));
    const partitions = Math.max(options.partitions, await partitionsNow(kafka, admin, existing));
    // The result is ignored: `false` means that another process created some of these topics
    // meanwhile. The other topics were created.
    if (missing.length > 0) {
      await admin.createTopics({
        timeout: CREATE_TIMEOUT_MS,
        // Soon after its start a broker may not know a new topic yet; kafkajs would fail.
        waitForLeaders: false,
        topics: missing.map((topic) => topicConfig(kafka, topic, { ...options, partitions })),
      });
    }
    await Promise.all(Object.values(TOPICS).map((topic) => untilReady(admin, kafka.topicName(topic))));
    await assertSamePartitions(kafka, admin);
  };
  await withAdmin(kafka, work, { requestTimeoutMs: CREATE_TIMEOUT_MS + ANSWER_MARGIN_MS });
}

/**
 * The bytes that a fetch asks for of each partition: at least its largest record. A broker returns
 * a record above this size only if its partition is the first one with records in the response.
 * With a smaller value, a busy partition that comes first could keep such a record from being read.
 */
export function fetchBytesOf({ maxMessageBytes = 0 }: TopicContract): number {
  return Math.max(MIN_FETCH_BYTES, maxMessageBytes + BATCH_OVERHEAD_BYTES);
}

/** The offset after the last record, of each partition. */
export function endOffsets(kafka: KafkaConnection, topic: TopicContract): Promise<Map<number, bigint>> {
  return offsets(kafka, topic, "high");
}

/** The offset of the first record that still exists, of each partition. */
export function beginOffsets(kafka: KafkaConnection, topic: TopicContract): Promise<Map<number, bigint>> {
  return offsets(kafka, topic, "low");
}

/**
 * The offset of the first record created at `timestampMs` or later, of each partition; the end of
 * the partition if there is no such record.
 */
export async function offsetsForTime(
  kafka: KafkaConnection,
  topic: TopicContract,
  timestampMs: number,
): Promise<Map<number, bigint>> {
  const found = await fromLeaders(kafka, (admin) =>
    admin.fetchTopicOffsetsByTimestamp(kafka.topicName(topic), timestampMs),
  );
  return new Map(found.map(({ partition, offset }) => [partition, BigInt(offset)]));
}

async function offsets(
  kafka: KafkaConnection,
  topic: TopicContract,
  which: "high" | "low",
): Promise<Map<number, bigint>> {
  const found = await fromLeaders(kafka, (admin) => admin.fetchTopicOffsets(kafka.topicName(topic)));
  return new Map(found.map((entry) => [entry.partition, BigInt(entry[which])]));
}

/** Partition counts of all topics with this connection's prefix, by their name in the cluster. */
export async function partitionCounts(kafka: KafkaConnection): Promise<Map<string, number>> {
  const { topics } = await withAdmin(kafka, (admin) => admin.fetchTopicMetadata());
  const ours = topics.filter(({ name }) => name.startsWith(kafka.topicPrefix));
  return new Map(ours.map(({ name, partitions }) => [name, partitions.length]));
}

/** The number of partitions of `trading.valuations`; 0 if the topic does not exist. */
async function partitionsNow(kafka: KafkaConnection, admin: Admin, existing: ReadonlySet<string>): Promise<number> {
  const name = kafka.topicName(TOPICS.tradingValuations);
  if (!existing.has(name)) return 0;
  const { topics } = await admin.fetchTopicMetadata({ topics: [name] });
  return topics[0]?.partitions.length ?? 0;
}

function topicConfig(kafka: KafkaConnection, topic: TopicContract, options: CreateTopicsOptions): ITopicConfig {
  const source = topic.partitionsAs ?? topic.name;
  const configs: Record<string, string> = {
    "cleanup.policy": topic.cleanup,
    "min.insync.replicas": String(options.minInsyncReplicas),
    // Our producers do not compress. If another producer does, the broker decompresses its records,
    // so that every reader can read them.
    "compression.type": "uncompressed",
    ...(topic.cleanup === "compact" ? COMPACTED : deleteConfigs(topic)),
    ...sizeConfigs(topic),
    ...options.overrides?.[topic.name]?.configs,
  };
  return {
    topic: kafka.topicName(topic),
    numPartitions: topic.partitions ?? options.overrides?.[source]?.partitions ?? options.partitions,
    replicationFactor: options.replicationFactor,
    configEntries: Object.entries(configs).map(([name, value]) => ({ name, value })),
  };
}

/** Waits until the leaders of a new topic answer: not all brokers know the topic at once. */
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
