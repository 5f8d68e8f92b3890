import type { TopicContract } from "@kapi/contracts";
import { backOffMs, type Clock, type Deferred, deferred, delay, monotonicClock, retry } from "@kapi/kernel";
import { type Logger, observed, type Started } from "@kapi/runtime";
import type { Cluster } from "kafkajs";

import { type ClusterClient, clusterClient } from "./cluster.ts";
import type { KafkaConnection } from "./connection.ts";
import { asError, isAway, mayPass, PositionBeyondEnd } from "./errors.ts";
import { endOf, type FetchedPartition, isFarFromEnd, unlessOver } from "./fetched.ts";
import { type FetchedRecord, fromWire, type Message } from "./message.ts";
import { fetchBytesOf } from "./topics.ts";

/** Minimum time between fetches, for fewer and larger ones; none while far from the end. */
const MIN_INTERVAL_MS = 3;
/** Maximum time that the broker holds an empty fetch. Most topics are idle. */
const MAX_WAIT_MS = 2_000;
/**
 * Maximum time that the broker holds an empty fetch while a caller waits for an end. If compaction
 * removed the last records, only an empty fetch shows that the end is reached.
 */
const MAX_WAIT_FOR_END_MS = 100;
const MAX_BYTES = 10 * 1024 * 1024;
const START_DEADLINE_MS = 30_000;
const STOP_DEADLINE_MS = 5_000;
const BACK_OFF = { firstMs: 50, maxMs: 1_000 };
const STALLED_AFTER_MS = 30_000;
const READ_UNCOMMITTED = 0;
/** The id that `findLeaderForPartitions` returns for partitions without a leader. */
const NO_LEADER = "-1";
const LEADERLESS_POLL_MS = 500;

export interface LogReaderOptions {
  readonly topic: TopicContract;
  /**
   * The first offset to read, by partition; other partitions are read from their beginning. An
   * offset beyond the end of the log fails with {@link PositionBeyondEnd}: `startLogReader`
   * rejects, or a running reader calls `fatal`.
   */
  readonly from: "beginning" | ReadonlyMap<number, bigint>;
  /** Absent: all partitions. */
  readonly isRead?: (partition: number) => boolean;
  /** Gets the records of one partition, in order; one call at a time for each partition. */
  readonly onBatch: (partition: number, messages: readonly Message[]) => void | Promise<void>;
  readonly logger: Logger;
  /**
   * Called once if `onBatch` throws, or if a position is beyond the end of the log. The reader has
   * stopped, and the process should stop.
   */
  readonly fatal: (error: Error) => void;
  /** Minimum time between fetches after one with several records of a partition. Default 3 ms. */
  readonly busyIntervalMs?: number;
  /** Bytes the broker gathers before it answers a fetch. Default 1. */
  readonly minBytes?: number;
  readonly clock?: Clock;
}

export interface LogReader {
  /** Resolves when all records that were in the topic at the start have been handled. */
  readonly caughtUp: Promise<void>;
  /** The offset of `partition` before which all records have been handled. */
  position(partition: number): bigint;
  /** Resolves when all records before `ends` have been handled; rejects after `timeoutMs`. */
  waitFor(ends: ReadonlyMap<number, bigint>, timeoutMs: number): Promise<void>;
  /** null, or why this reader is unhealthy. */
  check(): string | null;
}

/**
 * Starts a reader of a whole topic, or of some of its partitions. It has no consumer group and
 * commits nothing. So it starts without a join, is never rebalanced, and sees the end of the log.
 */
export async function startLogReader(kafka: KafkaConnection, options: LogReaderOptions): Promise<Started<LogReader>> {
  let reader: FetchingReader | null = null;
  const { client, cluster } = clusterClient(kafka, {
    onProblem: (isAnswer) => (isAnswer ? undefined : reader?.sign()),
  });
  await kafka.connectWaiting(client);
  try {
    reader = new FetchingReader(kafka.topicName(options.topic), client, cluster, options);
    const started = reader;
    await started.start();
    return { value: started, stop: () => started.stop() };
  } catch (error) {
    await client.disconnect();
    throw error;
  }
}

interface Waiter {
  readonly ends: ReadonlyMap<number, bigint>;
  readonly answer: Deferred<void>;
}

class FetchingReader implements LogReader {
  readonly #topic: string;
  readonly #client: ClusterClient["client"];
  readonly #cluster: Cluster;
  readonly #options: LogReaderOptions;
  readonly #clock: Clock;
  readonly #positions = new Map<number, bigint>();
  /** The end of each partition, as of its last fetch. */
  readonly #ends = new Map<number, bigint>();
  readonly #waiters = new Set<Waiter>();
  readonly #stopped = new AbortController();
  readonly #caughtUp = deferred<void>();
  #running: Promise<void> = Promise.resolve();
  #lastSignMs: number;
  readonly #endLag: () => void;

  constructor(topic: string, client: ClusterClient["client"], cluster: Cluster, options: LogReaderOptions) {
    this.#topic = topic;
    this.#client = client;
    this.#cluster = cluster;
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
    this.#lastSignMs = this.#clock.nowMs();
    this.#endLag = observed(
      "kafka.reader.lag",
      "Messages of a partition that a reader of the whole topic has not handled, as of the last fetch, by `topic` and `partition`",
      "{message}",
      () =>
        Array.from(this.#ends, ([partition, end]) => ({
          value: Math.max(0, Number(end - this.position(partition))),
          attributes: { topic: options.topic.name, partition: String(partition) },
        })),
    );
  }

  get caughtUp(): Promise<void> {
    return this.#caughtUp.promise;
  }

  position(partition: number): bigint {
    const position = this.#positions.get(partition);
    if (position === undefined) throw new RangeError(`${this.#topic} has no partition ${partition}`);
    return position;
  }

  waitFor(ends: ReadonlyMap<number, bigint>, timeoutMs: number): Promise<void> {
    const waiter: Waiter = { ends, answer: deferred<void>() };
    const timer = setTimeout(() => {
      this.#waiters.delete(waiter);
      waiter.answer.reject(new Error(`${this.#topic} was not read to the wanted end within ${timeoutMs} ms`));
    }, timeoutMs);
    this.#waiters.add(waiter);
    this.#answerWaiters();
    return waiter.answer.promise.finally(() => clearTimeout(timer));
  }

  check(): string | null {
    if (this.#stopped.signal.aborted) return `the reader of ${this.#topic} has stopped`;
    const silentMs = this.#clock.nowMs() - this.#lastSignMs;
    return silentMs > STALLED_AFTER_MS ? `the reader of ${this.#topic} tried nothing for ${silentMs} ms` : null;
  }

  /** A sign of life: a fetch was answered, or the reader waits for brokers or partition leaders. */
  sign(): void {
    this.#lastSignMs = this.#clock.nowMs();
  }

  /** Determines the first positions and the ends that count as caught up; reads until `stop`. */
  async start(): Promise<void> {
    const deadline = AbortSignal.timeout(START_DEADLINE_MS);
    await retry(() => this.#locate(), {
      backOff: BACK_OFF,
      // A leader is changing, or some brokers do not know a new topic yet.
      isRetryable: (error) => isAway(error) || (mayPass(error) && !deadline.aborted),
    });
    this.#answerWaiters();
    this.#running = this.#read();
  }

  async #locate(): Promise<void> {
    await this.#cluster.addMultipleTargetTopics([this.#topic]);
    await this.#cluster.refreshMetadata();
    const { isRead = () => true } = this.#options;
    const partitions = this.#cluster
      .findTopicPartitionMetadata(this.#topic)
      .map(({ partitionId }) => partitionId)
      .filter(isRead);
    const begins = await this.#listOffsets(partitions, true);
    const ends = await this.#listOffsets(partitions, false);
    for (const partition of partitions) {
      const begin = begins.get(partition) ?? 0n;
      const wanted = this.#options.from === "beginning" ? begin : (this.#options.from.get(partition) ?? begin);
      this.#positions.set(partition, this.#inLog(partition, wanted, begin, ends.get(partition) ?? begin));
    }
    this.#waiters.add({ ends, answer: this.#caughtUp });
  }

  async stop(): Promise<void> {
    this.#endLag();
    this.#stopped.abort();
    await Promise.race([this.#running, delay(STOP_DEADLINE_MS)]);
    await Promise.race([this.#client.disconnect(), delay(STOP_DEADLINE_MS)]);
  }

  async #listOffsets(partitions: readonly number[], fromBeginning: boolean): Promise<Map<number, bigint>> {
    const topics = [{ topic: this.#topic, partitions: partitions.map((partition) => ({ partition })), fromBeginning }];
    const [found] = await this.#cluster.fetchTopicsOffset(topics);
    return new Map((found?.partitions ?? []).map(({ partition, offset }) => [partition, BigInt(offset)]));
  }

  /**
   * Runs one loop for each broker that leads partitions. A failure ends all loops. They start again
   * after the last loop has ended, so that no handler runs twice at once for a partition.
   */
  async #read(): Promise<void> {
    let failures = 0;
    while (!this.#stopped.signal.aborted) {
      const startedMs = this.#clock.nowMs();
      try {
        await this.#cluster.refreshMetadataIfNecessary();
        await this.#readOnce();
      } catch (error) {
        if (this.#stopped.signal.aborted) return;
        if (isAway(error)) this.sign();
        failures = this.#clock.nowMs() - startedMs > BACK_OFF.maxMs ? 1 : failures + 1;
        this.#options.logger.warn(
          { topic: this.#topic, error: asError(error).message },
          "fetching failed; trying again",
        );
        await delay(backOffMs(failures, Math.random, BACK_OFF), this.#stopped.signal);
        await this.#recover(error);
      }
    }
  }

  /** Reads until a loop fails, or a partition without a leader gets one. */
  async #readOnce(): Promise<void> {
    const round = new AbortController();
    const over = AbortSignal.any([round.signal, this.#stopped.signal]);
    const { leaders, leaderless } = this.#partitionsByLeader();
    const loops = Array.from(leaders, ([nodeId, partitions]) => this.#readFrom(nodeId, partitions, over));
    if (leaders.size === 0 && leaderless.length === 0) throw new Error(`no partition of ${this.#topic} is known`);
    if (leaderless.length > 0) loops.push(this.#untilLed(leaderless, over));
    const ends = await Promise.allSettled(loops.map((loop) => loop.finally(() => round.abort())));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  #partitionsByLeader(): { leaders: Map<string, number[]>; leaderless: number[] } {
    const found = this.#cluster.findLeaderForPartitions(this.#topic, [...this.#positions.keys()]);
    const leaders = new Map(Object.entries(found));
    const leaderless = leaders.get(NO_LEADER) ?? [];
    leaders.delete(NO_LEADER);
    return { leaders, leaderless };
  }

  /** Waits until one of these partitions has a leader; the other loops continue to read. */
  async #untilLed(partitions: readonly number[], over: AbortSignal): Promise<void> {
    this.#options.logger.warn({ topic: this.#topic, partitions }, "partitions have no leader; waiting for one");
    while (!over.aborted) {
      await delay(LEADERLESS_POLL_MS, over);
      await this.#cluster.refreshMetadataIfNecessary();
      this.sign();
      const { leaderless } = this.#partitionsByLeader();
      if (partitions.some((partition) => !leaderless.includes(partition))) return;
    }
  }

  async #readFrom(nodeId: string, partitions: readonly number[], over: AbortSignal): Promise<void> {
    let coming: Promise<readonly FetchedPartition[]> | null = null;
    while (!over.aborted) {
      const begunMs = this.#clock.nowMs();
      const fetched = await unlessOver(coming ?? this.#fetch(nodeId, partitions), over);
      // Far from the end, the broker prepares the next records while these are handled.
      coming = fetched.some(isFarFromEnd) ? this.#fetch(nodeId, partitions, new Map(fetched.map(endOf))) : null;
      // The next round awaits this fetch and reports its failure.
      coming?.catch(() => undefined);
      const somethingCame = fetched.some(({ messages }) => messages.length > 0);
      for (const partition of fetched) if (!over.aborted) await this.#take(partition, somethingCame);
      this.#answerWaiters();
      if (coming !== null) continue;
      const isBusy = fetched.some(({ messages }) => messages.length > 1);
      const intervalMs = isBusy ? (this.#options.busyIntervalMs ?? MIN_INTERVAL_MS) : MIN_INTERVAL_MS;
      const leftMs = begunMs + intervalMs - this.#clock.nowMs();
      if (leftMs > 0) await delay(leftMs, over);
    }
  }

  /** Fetches records from the positions, or from the offsets in `from` for some partitions. */
  async #fetch(
    nodeId: string,
    partitions: readonly number[],
    from: ReadonlyMap<number, bigint | null> = new Map(),
  ): Promise<readonly FetchedPartition[]> {
    const broker = await this.#cluster.findBroker({ nodeId });
    const answer: { responses: { partitions: FetchedPartition[] }[] } = await broker.fetch({
      replicaId: -1,
      isolationLevel: READ_UNCOMMITTED,
      maxWaitTime: this.#waiters.size > 0 ? MAX_WAIT_FOR_END_MS : MAX_WAIT_MS,
      minBytes: this.#options.minBytes ?? 1,
      maxBytes: MAX_BYTES,
      topics: [
        {
          topic: this.#topic,
          partitions: partitions.map((partition) => ({
            partition,
            fetchOffset: (from.get(partition) ?? this.position(partition)).toString(),
            maxBytes: fetchBytesOf(this.#options.topic),
          })),
        },
      ],
    });
    this.sign();
    return answer.responses.flatMap((topic) => topic.partitions);
  }

  /**
   * Passes new records on and advances the position. Compaction can remove the last records before
   * the end of the log: then only an empty fetch advances the position to the end. It must be empty
   * for all partitions, because a full answer can leave out partitions that have records.
   */
  async #take({ partition, highWatermark, messages }: FetchedPartition, somethingCame: boolean): Promise<void> {
    const position = this.position(partition);
    this.#ends.set(partition, BigInt(highWatermark));
    const last = messages.at(-1);
    if (last === undefined) {
      const end = BigInt(highWatermark);
      if (!somethingCame && end > position) this.#positions.set(partition, end);
      return;
    }
    // A fetch returns whole record batches, which may begin before the requested offset.
    const fresh = messages
      .filter((record) => record.isControlRecord !== true && this.#isReadable(partition, record))
      .map(fromWire);
    const wanted =
      fresh[0] !== undefined && fresh[0].offset >= position ? fresh : fresh.filter((m) => m.offset >= position);
    if (wanted.length > 0) await this.#handOver(partition, wanted);
    const next = BigInt(last.offset) + 1n;
    if (next > position) this.#positions.set(partition, next);
  }

  /** Skips and logs the records of an unreadable batch. A consumer group sends dead letters. */
  #isReadable(partition: number, record: FetchedRecord): boolean {
    if (record.unreadable === undefined) return true;
    const { firstOffset, reason } = record.unreadable;
    const fields = { topic: this.#topic, partition, from: String(firstOffset), to: record.offset, reason };
    this.#options.logger.error(fields, "records cannot be read");
    return false;
  }

  async #handOver(partition: number, messages: readonly Message[]): Promise<void> {
    try {
      await this.#options.onBatch(partition, messages);
    } catch (thrown) {
      const error = asError(thrown);
      this.#stopped.abort();
      this.#options.fatal(error);
      throw error;
    }
  }

  /** Reads the metadata again, and checks the positions if a position was not in the log. */
  async #recover(error: unknown): Promise<void> {
    try {
      await this.#cluster.connect();
      await this.#cluster.refreshMetadata();
      if (asError(error).name !== "KafkaJSOffsetOutOfRange") return;
      const partitions = [...this.#partitionsByLeader().leaders.values()].flat();
      const begins = await this.#listOffsets(partitions, true);
      const ends = await this.#listOffsets(partitions, false);
      for (const partition of partitions) {
        const begin = begins.get(partition) ?? 0n;
        const position = this.#inLog(partition, this.position(partition), begin, ends.get(partition) ?? begin);
        this.#positions.set(partition, position);
      }
    } catch (failure) {
      if (failure instanceof PositionBeyondEnd) {
        this.#stopped.abort();
        this.#options.fatal(failure);
        return;
      }
      this.#options.logger.warn(
        { topic: this.#topic, error: asError(failure).message },
        "the cluster is not reachable",
      );
      if (isAway(failure)) this.sign();
    }
  }

  /** A position before the beginning of the log moves to the beginning. Throws beyond the end. */
  #inLog(partition: number, wanted: bigint, begin: bigint, end: bigint): bigint {
    if (wanted > end) throw new PositionBeyondEnd(this.#topic, partition, wanted, end);
    if (wanted >= begin) return wanted;
    const fields = { topic: this.#topic, partition, wanted: wanted.toString(), begin: begin.toString() };
    this.#options.logger.warn(fields, "the wanted offset is no longer in the log; reading from its beginning");
    return begin;
  }

  #answerWaiters(): void {
    for (const waiter of this.#waiters) {
      let reached = true;
      for (const [partition, end] of waiter.ends) reached &&= this.position(partition) >= end;
      if (!reached) continue;
      this.#waiters.delete(waiter);
      waiter.answer.resolve();
    }
  }
}
