import { assert, backOffMs, type Clock, type Deferred, deferred, delay, monotonicClock, retry } from "@kapi/kernel";
import { observed, type Started } from "@kapi/runtime";
import type { Cluster } from "kafkajs";

import { type ClusterClient, clusterClient, listOffsets } from "./cluster.ts";
import type { KafkaConnection } from "./connection.ts";
import { asError, isUnreachable, isRetriable, PositionBeyondEnd } from "./errors.ts";
import { EndWaiters } from "./end-waiters.ts";
import { endOf, type FetchedPartition, isFarFromEnd, unlessOver } from "./fetched.ts";
import type { LogReader, LogReaderOptions } from "./log-reader-options.ts";
import { type FetchedRecord, fromWire, type Message } from "./message.ts";
import { fetchBytesOf } from "./topics.ts";

/** Minimum time between the starts of two fetches. Far from the end there is no minimum. */
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

/**
 * Starts a reader of a whole topic, or of some of its partitions. It has no consumer group and
 * commits nothing. So it starts without a join, is never rebalanced, and sees the end of the log.
 */
export async function startLogReader(kafka: KafkaConnection, options: LogReaderOptions): Promise<Started<LogReader>> {
  let reader: FetchingReader | null = null;
  const { client, cluster } = clusterClient(kafka, {
    onProblem: (isAnswer) => (isAnswer ? undefined : reader?.noteActivity()),
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

/** Partitions to stop reading, at the end of the round of fetches. */
interface Removal {
  readonly partitions: readonly number[];
  readonly done: Deferred<void>;
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
  readonly #waiters: EndWaiters;
  #removals: Removal[] = [];
  /** Aborted when partitions are added or removed: the next round begins with the present ones. */
  #round = new AbortController();
  readonly #stopped = new AbortController();
  readonly #caughtUp = deferred<void>();
  #running: Promise<void> = Promise.resolve();
  #lastActivityMs: number;
  readonly #endLag: () => void;

  constructor(topic: string, client: ClusterClient["client"], cluster: Cluster, options: LogReaderOptions) {
    this.#topic = topic;
    const positionOf = (partition: number): bigint => this.#positions.get(partition) ?? -1n;
    this.#waiters = new EndWaiters(topic, positionOf, this.#stopped.signal);
    this.#caughtUp.promise.catch(() => undefined);
    this.#client = client;
    this.#cluster = cluster;
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
    this.#lastActivityMs = this.#clock.nowMs();
    this.#endLag = observed(
      "kafka.reader.lag",
      "Messages of a partition that a reader without a consumer group has not handled, as of the last fetch, by `topic` and `partition`",
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
    if (position === undefined) throw new RangeError(`partition ${partition} of ${this.#topic} is not read`);
    return position;
  }

  waitFor(ends: ReadonlyMap<number, bigint>, timeoutMs: number): Promise<void> {
    return this.#waiters.addFor(ends, timeoutMs);
  }

  async add(from: ReadonlyMap<number, bigint | "beginning">): Promise<void> {
    const deadline = AbortSignal.timeout(START_DEADLINE_MS);
    const ends = await this.#retried(deadline, () => this.#locate(from));
    this.noteActivity();
    const reached = this.#waiters.add(ends);
    this.#round.abort();
    await reached;
  }

  async remove(partitions: readonly number[]): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    const done = deferred<void>();
    this.#removals.push({ partitions, done });
    this.#round.abort();
    await done.promise;
  }

  check(): string | null {
    if (this.#stopped.signal.aborted) return `the reader of ${this.#topic} has stopped`;
    if (this.#positions.size === 0) return null;
    const silentMs = this.#clock.nowMs() - this.#lastActivityMs;
    return silentMs > STALLED_AFTER_MS ? `no fetch of ${this.#topic} was answered for ${silentMs} ms` : null;
  }

  /** Called when a fetch was answered, or while the reader waits for brokers or leaders. */
  noteActivity(): void {
    this.#lastActivityMs = this.#clock.nowMs();
  }

  /** Determines the first positions and the ends that count as caught up; begins to read. */
  async start(): Promise<void> {
    const deadline = AbortSignal.timeout(START_DEADLINE_MS);
    const { from } = this.#options;
    const ends = await this.#retried(deadline, async () => {
      await this.#cluster.addMultipleTargetTopics([this.#topic]);
      await this.#cluster.refreshMetadata();
      const partitions = this.#cluster.findTopicPartitionMetadata(this.#topic).map(({ partitionId }) => partitionId);
      if (from === "nothing") return new Map<number, bigint>();
      const wanted = (partition: number) => (from === "beginning" ? from : (from.get(partition) ?? "beginning"));
      return this.#locate(new Map(partitions.map((partition) => [partition, wanted(partition)])));
    });
    void this.#waiters.add(ends, this.#caughtUp);
    this.#running = this.#read().finally(() => this.#removePartitions());
  }

  #retried<T>(deadline: AbortSignal, work: () => Promise<T>): Promise<T> {
    return retry(work, {
      backOff: BACK_OFF,
      signal: this.#stopped.signal,
      // A leader is changing, or some brokers do not know a new topic yet.
      isRetryable: (error) => isUnreachable(error) || (isRetriable(error) && !deadline.aborted),
    });
  }

  /** Sets the first positions of partitions; returns their ends. */
  async #locate(from: ReadonlyMap<number, bigint | "beginning">): Promise<Map<number, bigint>> {
    const partitions = [...from.keys()];
    const begins = await listOffsets(this.#cluster, this.#topic, partitions, true);
    const ends = await listOffsets(this.#cluster, this.#topic, partitions, false);
    const positions = Array.from(from, ([partition, wanted]): [number, bigint] => {
      const begin = begins.get(partition) ?? 0n;
      const offset = wanted === "beginning" ? begin : wanted;
      return [partition, this.#inLog(partition, offset, begin, ends.get(partition) ?? begin)];
    });
    for (const [partition, position] of positions) {
      // A running handler would overwrite the position.
      assert(!this.#positions.has(partition), `partition ${partition} of ${this.#topic} is read already`);
      this.#positions.set(partition, position);
    }
    return ends;
  }

  async stop(): Promise<void> {
    this.#endLag();
    this.#stopped.abort(new Error(`the reader of ${this.#topic} has stopped`));
    await Promise.race([this.#running, delay(STOP_DEADLINE_MS)]);
    await Promise.race([this.#client.disconnect(), delay(STOP_DEADLINE_MS)]);
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
        if (isUnreachable(error)) this.noteActivity();
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

  /** Reads until a loop fails, a partition without a leader gets one, or the partitions change. */
  async #readOnce(): Promise<void> {
    const round = new AbortController();
    this.#round = round;
    this.#removePartitions();
    const over = AbortSignal.any([round.signal, this.#stopped.signal]);
    if (this.#positions.size === 0) return delay(STALLED_AFTER_MS, over);
    const { leaders, leaderless } = this.#partitionsByLeader();
    const loops = Array.from(leaders, ([nodeId, partitions]) => this.#readFrom(nodeId, partitions, over));
    if (leaders.size === 0 && leaderless.length === 0) throw new Error(`no partition of ${this.#topic} is known`);
    if (leaderless.length > 0) loops.push(this.#untilLed(leaderless, over));
    const ends = await Promise.allSettled(loops.map((loop) => loop.finally(() => round.abort())));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  #removePartitions(): void {
    const removals = this.#removals;
    this.#removals = [];
    for (const { partitions, done } of removals) {
      for (const partition of partitions) {
        this.#positions.delete(partition);
        this.#ends.delete(partition);
        this.#waiters.remove(partition);
      }
      done.resolve();
    }
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
      this.noteActivity();
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
      // The next iteration of this loop awaits the fetch and reports its failure.
      coming?.catch(() => undefined);
      const somethingCame = fetched.some(({ messages }) => messages.length > 0);
      for (const partition of fetched) if (!over.aborted) await this.#handle(partition, somethingCame);
      this.#waiters.answer();
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
    const { idleWaitMs = MAX_WAIT_MS } = this.#options;
    const answer: { responses: { partitions: FetchedPartition[] }[] } = await broker.fetch({
      replicaId: -1,
      isolationLevel: READ_UNCOMMITTED,
      maxWaitTime: this.#waiters.isEmpty ? idleWaitMs : MAX_WAIT_FOR_END_MS,
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
    this.noteActivity();
    return answer.responses.flatMap((topic) => topic.partitions);
  }

  /**
   * Passes new records on and advances the position. Compaction can remove the last records before
   * the end of the log: then only an empty fetch advances the position to the end. It must be empty
   * for all partitions, because a full answer can leave out partitions that have records.
   */
  async #handle({ partition, highWatermark, messages }: FetchedPartition, somethingCame: boolean): Promise<void> {
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
    if (wanted.length > 0) await this.#callHandler(partition, wanted);
    if (BigInt(last.offset) >= position) this.#positions.set(partition, BigInt(last.offset) + 1n);
  }

  /** Whether a record can be read. Logs an unreadable batch; no dead letter is written for it. */
  #isReadable(partition: number, record: FetchedRecord): boolean {
    if (record.unreadable === undefined) return true;
    const { firstOffset, reason } = record.unreadable;
    const fields = { topic: this.#topic, partition, from: String(firstOffset), to: record.offset, reason };
    this.#options.logger.error(fields, "records cannot be read");
    return false;
  }

  async #callHandler(partition: number, messages: readonly Message[]): Promise<void> {
    try {
      await this.#options.onBatch(partition, messages);
    } catch (error) {
      this.#fail(asError(error));
      throw error;
    }
  }

  /** Stops the reader and reports the error, unless the reader has stopped already. */
  #fail(error: Error): void {
    if (this.#stopped.signal.aborted) return;
    this.#stopped.abort(error);
    this.#options.fatal(error);
  }

  /** Reads the metadata again, and checks the positions if a position was not in the log. */
  async #recover(error: unknown): Promise<void> {
    try {
      await this.#cluster.connect();
      await this.#cluster.refreshMetadata();
      if (asError(error).name !== "KafkaJSOffsetOutOfRange") return;
      const partitions = [...this.#partitionsByLeader().leaders.values()].flat();
      const begins = await listOffsets(this.#cluster, this.#topic, partitions, true);
      const ends = await listOffsets(this.#cluster, this.#topic, partitions, false);
      for (const partition of partitions) {
        const begin = begins.get(partition) ?? 0n;
        const position = this.#inLog(partition, this.position(partition), begin, ends.get(partition) ?? begin);
        this.#positions.set(partition, position);
      }
    } catch (failure) {
      if (failure instanceof PositionBeyondEnd) return this.#fail(failure);
      this.#options.logger.warn(
        { topic: this.#topic, error: asError(failure).message },
        "the metadata and offsets could not be read; trying again",
      );
      if (isUnreachable(failure)) this.noteActivity();
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
}
