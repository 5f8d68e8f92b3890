import { TOPICS, type TopicContract } from "@kapi/contracts";
import { assertDefined, type Clock, deferred, delay, monotonicClock } from "@kapi/kernel";
import { observed, type Started } from "@kapi/runtime";
import type { Cluster, Consumer as KafkaConsumer, ConsumerConfig, EachBatchPayload, Offsets } from "kafkajs";

import type { Batch, BatchOutcome, DeadLetter } from "./batch.ts";
import { connectWaiting, consumerWithCluster } from "./cluster.ts";
import { Commits } from "./commits.ts";
import { type Consumer, type ConsumerOptions, heartbeatIntervalOf } from "./consumer-options.ts";
import type { KafkaConnection } from "./connection.ts";
import { within } from "./deadline.ts";
import {
  commitOffsetPastUnreadable,
  countDeadLetters,
  deadLetterMessage,
  LazyProducer,
  unreadableLetter,
} from "./dead-letters.ts";
import { asError, RetryableError } from "./errors.ts";
import { Generations, memberOf, type AdmittedBatch } from "./generations.ts";
import { GroupTopics } from "./group-topics.ts";
import { Lag } from "./lag.ts";
import { Membership } from "./membership.ts";
import { type FetchedRecord, fromWire, isReadable } from "./message.ts";
import { pauseAfter } from "./pauses.ts";
import { assignersOf } from "./process-assigner.ts";
import { Retries } from "./retries.ts";
import { fetchBytesOf } from "./topics.ts";
import { handleTraced } from "./traces.ts";

const REBALANCE_TIMEOUT_MS = 30_000;
/** How long the broker holds an empty fetch. A rebalance waits for this fetch, a stop ends it. */
const MAX_WAIT_MS = 1_000;
const MAX_BATCH_MESSAGES = 1_000;
const MAX_CONCURRENT_PARTITIONS = 4;
/**
 * The retries take ten minutes. A consumer that gave up earlier would rejoin as a new member, and
 * the group would wait for the old member until its session ends.
 */
const RETRIES = 1_200;
/** Less than the stop deadline of a process's component. */
const STOP_DEADLINE_MS = 8_000;
const JOIN_DEADLINE_MS = 3_000;
const DURABLE_DEADLINE_MS = 2_000;
/**
 * If the first join takes longer than the session timeout, the rebalance timeout and this time
 * together, the start logs a warning. The start rejects only if `check` reports a problem.
 */
const JOIN_MARGIN_MS = 30_000;
const STALLED_AFTER_MS = 60_000;
const MEMBERSHIP_CHECK_MS = 1_000;

/**
 * Joins the group and reads its topics from their beginning, or from the committed offsets.
 * Resolves after the first join. `stop` waits for running batches, within a deadline, and leaves
 * the group.
 */
export async function startConsumer(kafka: KafkaConnection, options: ConsumerOptions): Promise<Started<Consumer>> {
  let consumer: GroupConsumer | null = null;
  const config: ConsumerConfig = {
    retry: { retries: RETRIES },
    groupId: kafka.topicPrefix + options.groupId,
    sessionTimeout: kafka.sessionTimeoutMs,
    rebalanceTimeout: options.rebalanceTimeoutMs ?? REBALANCE_TIMEOUT_MS,
    heartbeatInterval: heartbeatIntervalOf(kafka, options),
    maxWaitTimeInMs: options.maxWaitTimeInMs ?? MAX_WAIT_MS,
    minBytes: options.minBytes ?? 1,
    maxBytesPerPartition: Math.max(...options.topics.map(fetchBytesOf)),
    readUncommitted: true,
  };
  const client = kafka.client({ retries: RETRIES, onProblem: () => consumer?.noteActivity() });
  const created = new GroupConsumer(kafka, consumerWithCluster(client, config, assignersOf(options)), options);
  consumer = created;
  try {
    await created.start();
    return { value: created, stop: () => created.stop() };
  } catch (error) {
    await created.stop();
    throw error;
  }
}

class GroupConsumer implements Consumer {
  readonly #kafka: KafkaConnection;
  readonly #client: KafkaConsumer;
  readonly #options: ConsumerOptions;
  readonly #clock: Clock;
  readonly #topics: ReadonlyMap<string, TopicContract>;
  readonly #generations: Generations;
  readonly #groupTopics: GroupTopics;
  readonly #deadLetters: LazyProducer;
  readonly #commits: Commits;
  readonly #retries: Retries;
  readonly #lag = new Lag();
  readonly #membership: Membership;
  readonly #membershipTimer: NodeJS.Timeout;
  /** When a batch was first and last dropped since the last join or admitted batch. */
  #dropped: { readonly sinceMs: number; readonly untilMs: number } | null = null;
  #endLag: () => void = () => undefined;
  readonly #joined = deferred<void>();
  #hasJoined = false;
  #isFlushing = false;
  #failed = false;
  #stopping = false;
  #lastActivityMs: number;

  constructor(
    kafka: KafkaConnection,
    { client, cluster }: { client: KafkaConsumer; cluster: Cluster },
    options: ConsumerOptions,
  ) {
    this.#kafka = kafka;
    this.#client = client;
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
    this.#lastActivityMs = this.#clock.nowMs();
    this.#membership = new Membership(kafka.sessionTimeoutMs, this.#lastActivityMs);
    this.#membershipTimer = setInterval(() => this.#checkMembership(), MEMBERSHIP_CHECK_MS);
    this.#topics = new Map(options.topics.map((topic) => [kafka.topicName(topic), topic]));
    this.#deadLetters = new LazyProducer(kafka);
    this.#commits = new Commits(options.logger);
    this.#retries = new Retries(options);
    this.#groupTopics = new GroupTopics(kafka, cluster, options);
    this.#generations = new Generations(async (assignment, generation, isCurrent) => {
      const checked = await this.#groupTopics.check(assignment, isCurrent);
      if (isCurrent()) await options.onAssigned?.(checked, generation);
    });
  }

  check(): string | null {
    if (this.#failed) return `the consumer of group ${this.#options.groupId} has failed`;
    const nowMs = this.#clock.nowMs();
    const silentMs = nowMs - this.#lastActivityMs;
    if (silentMs > STALLED_AFTER_MS) return `group ${this.#options.groupId} tried nothing for ${silentMs} ms`;
    const droppedMs = this.#dropped === null ? 0 : this.#dropped.untilMs - this.#dropped.sinceMs;
    if (droppedMs > STALLED_AFTER_MS)
      return `group ${this.#options.groupId} has dropped every fetched batch for ${droppedMs} ms`;
    const stalled = this.#lag.stalled(STALLED_AFTER_MS, nowMs);
    return stalled === null ? null : `group ${this.#options.groupId}: ${stalled}`;
  }

  /** Notes that kafkajs is active. A failed attempt counts: kafkajs then waits for the cluster. */
  noteActivity(): void {
    this.#lastActivityMs = this.#clock.nowMs();
  }

  async start(): Promise<void> {
    this.#watch();
    this.#joined.promise.catch(() => undefined);
    await connectWaiting(this.#kafka, this.#client);
    const { restartBeyondEnd = false } = this.#options;
    const subscription = { topics: [...this.#topics.keys()], fromBeginning: true, restartBeyondEnd };
    await this.#client.subscribe(subscription);
    await this.#client.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: this.#options.concurrentPartitions ?? MAX_CONCURRENT_PARTITIONS,
      eachBatch: (payload) => this.#eachBatch(payload),
    });
    await this.#untilJoined();
    this.#endLag = observed(
      "kafka.consumer.lag",
      "Messages of a partition that are not handled, as of the last fetch, by `group`, `topic` and `partition`",
      "{message}",
      () => this.#lag.observe({ group: this.#options.groupId }),
    );
  }

  /**
   * Waits for the first join, and warns while the coordinator is unavailable. Rejects if the join
   * is late and `check` reports a problem, for example because kafkajs attempts nothing.
   */
  async #untilJoined(): Promise<void> {
    const { groupId, rebalanceTimeoutMs = REBALANCE_TIMEOUT_MS } = this.#options;
    const deadlineMs = this.#kafka.sessionTimeoutMs + rebalanceTimeoutMs + JOIN_MARGIN_MS;
    const late = (): Error => new Error(`group ${groupId} was not joined within ${deadlineMs} ms`);
    for (;;) {
      try {
        return await within(this.#joined.promise, deadlineMs, late);
      } catch (error) {
        if (this.#stopping || this.check() !== null) throw error;
        this.#options.logger.warn({ error: asError(error).message }, "waiting for Kafka");
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#endLag();
    clearInterval(this.#membershipTimer);
    this.#retries.stop();
    await Promise.race([this.#end(), delay(STOP_DEADLINE_MS)]);
  }

  async #end(): Promise<void> {
    await this.#generations.drained();
    await this.#beforeLastCommit();
    await this.#commits.flush();
    this.#commits.stop();
    this.#generations.stop();
    // kafkajs leaves connections open if it disconnects during a join.
    await Promise.race([this.#generations.joined(), delay(JOIN_DEADLINE_MS)]);
    await this.#client.disconnect();
    await this.#deadLetters.stop();
  }

  /** The next owner of the partition repeats the messages whose effects are not durable in time. */
  async #beforeLastCommit(): Promise<void> {
    try {
      await Promise.race([this.#options.beforeLastCommit?.(), delay(DURABLE_DEADLINE_MS)]);
    } catch (error) {
      this.#options.logger.info({ err: error, group: this.#options.groupId }, "some effects are not durable at stop");
    }
  }

  #watch(): void {
    const { events } = this.#client;
    this.#client.on(events.FETCH_START, () => this.noteActivity());
    this.#client.on(events.END_BATCH_PROCESS, () => this.noteActivity());
    this.#client.on(events.HEARTBEAT, () => this.#membership.acknowledged());
    this.#client.on(events.REQUEST_TIMEOUT, () => this.noteActivity());
    this.#client.on(events.REQUEST, ({ payload }) => {
      if (payload.apiName === "Fetch") this.#membership.fetched(this.#clock.nowMs());
    });
    this.#client.on(events.REBALANCING, ({ payload }) => {
      this.noteActivity();
      this.#generations.joinStarted();
      // The patched kafkajs waits for this commit before it joins, 1 s at most, so that the next
      // owner does not repeat the messages.
      this.#isFlushing = true;
      const flushed = this.#commits.flush().finally(() => (this.#isFlushing = false));
      (payload as { waits?: Promise<void>[] }).waits?.push(flushed);
    });
    this.#client.on(events.GROUP_JOIN, ({ payload }) => {
      this.noteActivity();
      this.#membership.joined();
      this.#dropped = null;
      const assignment = Array.from(this.#topics, ([name, topic]) => ({
        topic,
        partitions: [...(payload.memberAssignment[name] ?? [])].sort((left, right) => left - right),
        topicId: null,
      }));
      this.#retries.forget();
      this.#lag.forget();
      this.#generations.joinEnded(memberOf(payload), assignment).catch((error: unknown) => this.#fail(asError(error)));
      this.#hasJoined = true;
      this.#joined.resolve();
    });
    this.#client.on(events.CRASH, ({ payload }) => {
      this.#hasJoined = false;
      if (payload.restart) this.#options.logger.warn({ error: payload.error.message }, "consumer restarts");
      else this.#fail(payload.error);
    });
  }

  /**
   * Handles the messages that kafkajs fetched of one partition. An early return is safe: the same
   * messages are fetched again.
   */
  async #eachBatch(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    if (this.#stopping) return;
    const admitted = this.#generations.enter(memberOf(batch));
    if (admitted === null) return this.#drop();
    this.#dropped = null;
    const heartbeat = this.#keepAlive(payload);
    const begunMs = this.#clock.nowMs();
    try {
      const topic = assertDefined(this.#topics.get(batch.topic), `the contract of topic ${batch.topic}`);
      const [end, first] = [BigInt(batch.highWatermark), BigInt(batch.firstOffset() ?? 0)];
      // Recorded before the wait, so that `check` reports an assignment that is never handled.
      this.#lag.fetched(topic.name, batch.partition, end, first, this.#clock.nowMs());
      await admitted.ready;
      const size = this.#options.maxBatchMessages ?? MAX_BATCH_MESSAGES;
      for (let start = 0; start < batch.messages.length; start += size) {
        if (this.#stopping || this.#failed || !admitted.isCurrent() || payload.isStale()) return;
        const records = (batch.messages as FetchedRecord[]).slice(start, start + size);
        const outcome = await this.#handle(topic, records, payload);
        this.#lag.answered(topic.name, batch.partition, this.#clock.nowMs());
        if (outcome === null || !admitted.isCurrent()) return;
        const handled = (records.at(-1)?.bigOffset ?? -1n) + 1n;
        this.#commitLater(payload, admitted, handled, outcome);
        this.#lag.reached(topic.name, batch.partition, handled);
      }
      if (!this.#stopping) await pauseAfter(batch.messages.length, begunMs, this.#options, this.#clock);
    } finally {
      clearInterval(heartbeat);
      admitted.leave();
    }
  }

  /** Runs the handler. Returns null if no offset of the batch may be committed. */
  async #handle(
    topic: TopicContract,
    records: readonly FetchedRecord[],
    payload: EachBatchPayload,
  ): Promise<BatchOutcome | null> {
    const { partition } = payload.batch;
    const batch: Batch = { topic, partition, messages: records.filter(isReadable).map(fromWire) };
    const unreadable = records.map(unreadableLetter).filter((letter) => letter !== null);
    for (const { reason } of unreadable)
      this.#options.logger.error({ topic: topic.name, partition, reason }, "records cannot be read");
    try {
      const outcome =
        batch.messages.length === 0 ? {} : await handleTraced(this.#options.groupId, batch, this.#options.onBatch);
      await this.#publishDeadLetters(batch, [...unreadable, ...(outcome.deadLetters ?? [])]);
      this.#retries.succeeded(topic, partition);
      return { ...outcome, ...commitOffsetPastUnreadable(batch, records, outcome) };
    } catch (thrown) {
      if (thrown instanceof RetryableError) this.#retries.later(topic, thrown, payload);
      else this.#fail(asError(thrown));
      return null;
    }
  }

  async #publishDeadLetters(batch: Batch, letters: readonly DeadLetter[]): Promise<void> {
    if (letters.length === 0) return;
    try {
      const producer = await this.#deadLetters.get();
      await Promise.all(
        letters.map((letter) =>
          producer.send(TOPICS.deadLetter, deadLetterMessage(batch, letter, this.#options.groupId)),
        ),
      );
      countDeadLetters(this.#options.groupId, batch.topic.name, letters.length);
    } catch (error) {
      throw new RetryableError("the dead letters of a batch were not published", { cause: error });
    }
  }

  /** Schedules the commit of a handled part of the batch, which ends before the offset `end`. */
  #commitLater(payload: EachBatchPayload, admitted: AdmittedBatch, end: bigint, outcome: BatchOutcome): void {
    payload.resolveOffset((end - 1n).toString());
    const { commitOffset = end } = outcome;
    this.#commits.add({
      topic: payload.batch.topic,
      partition: payload.batch.partition,
      offset: typeof commitOffset === "function" ? commitOffset : () => commitOffset,
      end: typeof commitOffset === "function" ? end : commitOffset,
      topicId: this.#groupTopics.idOf(payload.batch.topic),
      // On the connection of a waiting join, a commit would wait behind the join.
      isCurrent: () => admitted.isCurrent() && (!this.#generations.isJoining || this.#isFlushing),
      send: (offsets) => this.#commit(payload, admitted, offsets),
    });
  }

  /** A commit of an earlier generation says nothing about the current membership. */
  async #commit(payload: EachBatchPayload, admitted: AdmittedBatch, offsets: Offsets): Promise<void> {
    const note = (isAccepted: boolean): void =>
      admitted.isCurrent() ? this.#membership.committed(isAccepted) : undefined;
    await payload.commitOffsetsIfNecessary(offsets).catch((error: unknown) => {
      note(false);
      throw error;
    });
    note(true);
  }

  #drop(): void {
    const untilMs = this.#clock.nowMs();
    this.#dropped = { sinceMs: this.#dropped?.sinceMs ?? untilMs, untilMs };
  }

  #checkMembership(): void {
    const problem = this.#membership.problem();
    if (problem !== null)
      this.#fail(new Error(`the process is no member of group ${this.#options.groupId}: ${problem}`));
  }

  /** Sends heartbeats during a batch, which may take longer than the session timeout. */
  #keepAlive(payload: EachBatchPayload): NodeJS.Timeout {
    const intervalMs = heartbeatIntervalOf(this.#kafka, this.#options) / 2;
    return setInterval(() => {
      payload.heartbeat().catch((error: unknown) => {
        this.#options.logger.debug({ error: asError(error).message }, "a heartbeat failed during a batch");
      });
    }, intervalMs);
  }

  /** kafkajs cannot pause a consumer before its first join, but until then it fetches nothing. */
  #pauseAll(): void {
    if (!this.#hasJoined) return;
    // An error of `pause` must not hide the error that stops this consumer.
    try {
      this.#client.pause(Array.from(this.#topics.keys(), (topic) => ({ topic })));
    } catch (error) {
      this.#options.logger.debug({ error: asError(error).message }, "the partitions were not paused");
    }
  }

  #fail(error: Error): void {
    if (this.#failed || this.#stopping) return;
    this.#failed = true;
    void this.#commits.flush();
    this.#generations.stop();
    this.#pauseAll();
    // A `start` that still waits for the first join rejects at once.
    this.#joined.reject(error);
    this.#options.fatal(error);
  }
}
