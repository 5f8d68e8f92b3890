/**
 * Follows the record of `partition.growth`, which says how far the topics have grown (decisions,
 * 28). A producer sends only if its process has read the record recently. So the command that grows
 * topics writes the next phase, waits until older reads are no longer valid, and then knows that
 * every process that sends obeys this phase.
 */
import { PartitionGrowth, TOPICS } from "@kapi/contracts";
import { assertDefined, backOffMs, type Clock, delay, monotonicClock, retry } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";
import type { Cluster } from "kafkajs";

import { type ClusterClient, clusterClient } from "./cluster.ts";
import type { KafkaConnection } from "./connection.ts";
import { asError, isUnreachable, isRetriable } from "./errors.ts";
import type { FetchedPartition } from "./fetched.ts";
import type { GrowingProducer, GrowthWatch } from "./growth.ts";
import { fromWire } from "./message.ts";
import { partitionCounts } from "./topics.ts";

/**
 * How long a process may send after it has read the record. This is longer than a failover of the
 * broker that leads the record's partition, so that a failover does not stop producers.
 */
export const GROWTH_VALID_MS = 60_000;
/** As {@link GROWTH_VALID_MS}, from the phase `announced` of a growth until `done`. */
export const GROWTH_VALID_WHILE_GROWING_MS = 3_000;
/** Maximum time that the broker holds an empty fetch; a new record is sent at once. */
const MAX_WAIT_MS = 2_000;
const MAX_WAIT_WHILE_GROWING_MS = 500;
const MAX_BYTES = 65_536;
const START_TIMEOUT_MS = 30_000;
const BACK_OFF = { firstMs: 50, maxMs: 1_000 };
const WAITING_LOGGED_MS = 10_000;
const STOP_DEADLINE_MS = 2_000;
const READ_UNCOMMITTED = 0;
const PARTITION = 0;

/** Options of {@link startGrowthWatch}. */
export interface GrowthWatchOptions {
  readonly logger: Logger;
  /**
   * Called once when this process must end, because its consumers and readers know only the former
   * partitions. Absent: the process continues, and its producers use the new number of partitions.
   */
  readonly end?: () => void;
  readonly clock?: Clock;
}

/**
 * Starts to follow the record, and sets `kafka.growth`, so that every producer of this connection
 * obeys the record. In the phase `moving` the start waits: a process that started then would read
 * only some of the partitions.
 * @throws if the cluster cannot be used, or if the record cannot be read. But without `end`, the
 * start does not fail because of an error that kafkajs marks as retriable.
 */
export async function startGrowthWatch(
  kafka: KafkaConnection,
  options: GrowthWatchOptions,
): Promise<Started<GrowthWatch>> {
  const { client, cluster } = clusterClient(kafka, {});
  await kafka.connectWaiting(client);
  const watch = new FollowingWatch(kafka, client, cluster, options);
  try {
    await watch.start();
  } catch (error) {
    await client.disconnect();
    throw error;
  }
  kafka.growth = watch;
  return { value: watch, stop: () => watch.stop() };
}

class FollowingWatch implements GrowthWatch {
  readonly #kafka: KafkaConnection;
  readonly #client: ClusterClient["client"];
  readonly #cluster: Cluster;
  readonly #options: GrowthWatchOptions;
  readonly #clock: Clock;
  readonly #stopped = new AbortController();
  readonly #producers = new Set<GrowingProducer>();
  readonly #listeners: (() => void)[] = [];
  #running: Promise<void> = Promise.resolve();
  #growth: PartitionGrowth | null = null;
  /** The newest record that was read and is not applied yet. */
  #pending: PartitionGrowth | null = null;
  /** Offset of the next record; null: the beginning of the log. */
  #next: bigint | null = null;
  /** When the last read that reached the end of the log began. */
  #verifiedMs = Number.NEGATIVE_INFINITY;
  #isEnding = false;
  /** The number of partitions that the other components of this process know. */
  #partitions = 0;

  constructor(kafka: KafkaConnection, client: ClusterClient["client"], cluster: Cluster, options: GrowthWatchOptions) {
    this.#kafka = kafka;
    this.#client = client;
    this.#cluster = cluster;
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
  }

  get growth(): PartitionGrowth | null {
    return this.#growth;
  }

  get #isGrowing(): boolean {
    return this.#growth !== null && this.#growth.phase !== "done";
  }

  mayPublish(isSource: boolean): boolean {
    const validMs = this.#isGrowing ? GROWTH_VALID_WHILE_GROWING_MS : GROWTH_VALID_MS;
    if (this.#clock.nowMs() - this.#verifiedMs > validMs) return false;
    const phase = this.#growth?.phase;
    return phase === "draining" ? !isSource : phase !== "moving";
  }

  add(producer: GrowingProducer): () => void {
    this.#producers.add(producer);
    return () => this.#producers.delete(producer);
  }

  onGrown(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async start(): Promise<void> {
    try {
      await this.#waitForTopics();
    } catch (error) {
      if (this.#options.end !== undefined || !isRetriable(error)) throw error;
      const fields = { topic: TOPICS.partitionGrowth.name, error: asError(error).message };
      this.#options.logger.warn(fields, "the growth of topics cannot be read yet: messages wait until it is read");
    }
    this.#pending = null;
    // If the record could not be read, `#partitions` stays 0. Then the first record with the phase
    // `done` makes all producers choose their partitions again.
    if (this.#verifiedMs !== Number.NEGATIVE_INFINITY) this.#partitions = await this.#partitionsNow();
    this.#running = this.#follow();
  }

  /**
   * Reads the newest record, and waits while its phase is `moving`. Rejects if the record cannot be
   * read. Then `start` continues if `end` is absent and the error is retriable, and the producers
   * wait for the record.
   */
  async #waitForTopics(): Promise<void> {
    const { end, logger } = this.#options;
    const deadline = end === undefined ? AbortSignal.abort() : AbortSignal.timeout(START_TIMEOUT_MS);
    const isRetryable = (error: unknown): boolean => isUnreachable(error) || (isRetriable(error) && !deadline.aborted);
    let loggedMs = Number.NEGATIVE_INFINITY;
    for (;;) {
      const startedMs = this.#clock.nowMs();
      // The first read does not wait for a record: most installations never grow.
      const maxWaitMs = this.#isGrowing ? MAX_WAIT_WHILE_GROWING_MS : 0;
      await retry(() => this.#poll(maxWaitMs), { backOff: BACK_OFF, isRetryable });
      this.#growth = this.#pending;
      this.#verifiedMs = startedMs;
      if (this.#growth?.phase !== "moving") return;
      if (this.#clock.nowMs() - loggedMs < WAITING_LOGGED_MS) continue;
      loggedMs = this.#clock.nowMs();
      logger.warn("the start waits until `kapi admin partitions grow` has grown the topics");
    }
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.race([this.#running, delay(STOP_DEADLINE_MS)]);
    await Promise.race([this.#client.disconnect(), delay(STOP_DEADLINE_MS)]);
  }

  async #follow(): Promise<void> {
    let failures = 0;
    while (!this.#stopped.signal.aborted) {
      try {
        const startedMs = this.#clock.nowMs();
        await this.#poll(this.#isGrowing ? MAX_WAIT_WHILE_GROWING_MS : MAX_WAIT_MS);
        if (this.#pending !== null) await this.#apply(this.#pending);
        this.#pending = null;
        this.#verifiedMs = startedMs;
        failures = 0;
      } catch (error) {
        if (this.#stopped.signal.aborted) return;
        failures += 1;
        const fields = { topic: TOPICS.partitionGrowth.name, error: asError(error).message };
        this.#options.logger.info(fields, "the growth of topics could not be read; trying again");
        await delay(backOffMs(failures, Math.random, BACK_OFF), this.#stopped.signal);
      }
    }
  }

  async #apply(growth: PartitionGrowth): Promise<void> {
    const { logger, end } = this.#options;
    const isGrown = growth.phase === "done" && growth.partitions !== this.#partitions;
    if (this.#isEnding) return;
    if (end !== undefined && (growth.phase === "moving" || isGrown)) {
      this.#isEnding = true;
      // This process sends nothing more, even if the next record allows it.
      this.#growth = { ...growth, phase: "moving" };
      logger.warn(
        { partitions: growth.partitions },
        "topics grow: this process ends; its restart reads all partitions",
      );
      return end();
    }
    if (isGrown) {
      const counts = await partitionCounts(this.#kafka);
      for (const producer of this.#producers) await producer.repartition(counts);
      this.#partitions = growth.partitions;
    }
    this.#growth = growth;
    logger.info({ phase: growth.phase, partitions: growth.partitions }, "growth of topics");
    if (isGrown) for (const listener of this.#listeners) listener();
  }

  /** Reads to the end of the log. If there are new records, the newest becomes `#pending`. */
  async #poll(maxWaitMs: number): Promise<void> {
    try {
      let isAtEnd = false;
      while (!isAtEnd) {
        this.#next ??= await this.#beginning();
        const { messages, highWatermark } = await this.#fetch(this.#next, maxWaitMs);
        for (const record of messages) {
          if (record.bigOffset < this.#next || record.isControlRecord === true) continue;
          this.#pending = PartitionGrowth.parse(JSON.parse(fromWire(record).value.toString("utf8")));
        }
        const last = messages.at(-1);
        if (last !== undefined) this.#next = last.bigOffset + 1n;
        // Compaction may have removed the records before the end.
        isAtEnd = last === undefined || this.#next >= BigInt(highWatermark);
      }
    } catch (error) {
      // Perhaps the leader has changed, or the wanted offset is no longer in the log.
      this.#next = null;
      await this.#cluster.connect();
      await this.#cluster.refreshMetadata();
      throw error;
    }
  }

  async #beginning(): Promise<bigint> {
    const topic = this.#kafka.topicName(TOPICS.partitionGrowth);
    await this.#cluster.addMultipleTargetTopics([topic]);
    const wanted = { topic, partitions: [{ partition: PARTITION }], fromBeginning: true };
    const [found] = await this.#cluster.fetchTopicsOffset([wanted]);
    return BigInt(assertDefined(found?.partitions[0], `the beginning of ${topic}`).offset);
  }

  async #partitionsNow(): Promise<number> {
    const counts = await partitionCounts(this.#kafka);
    return counts.get(this.#kafka.topicName(TOPICS.tradingValuations)) ?? 0;
  }

  async #fetch(offset: bigint, maxWaitTime: number): Promise<FetchedPartition> {
    const topic = this.#kafka.topicName(TOPICS.partitionGrowth);
    const [leader] = Object.keys(this.#cluster.findLeaderForPartitions(topic, [PARTITION]));
    const broker = await this.#cluster.findBroker({ nodeId: assertDefined(leader, `the leader of ${topic}`) });
    const answer: { responses: { partitions: FetchedPartition[] }[] } = await broker.fetch({
      replicaId: -1,
      isolationLevel: READ_UNCOMMITTED,
      maxWaitTime,
      minBytes: 1,
      maxBytes: MAX_BYTES,
      topics: [{ topic, partitions: [{ partition: PARTITION, fetchOffset: offset.toString(), maxBytes: MAX_BYTES }] }],
    });
    return assertDefined(answer.responses[0]?.partitions[0], "the fetched partition");
  }
}
