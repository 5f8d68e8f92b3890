import type { PartitionGrowth, TopicContract } from "@kapi/contracts";
import { assertDefined, backOffMs, type Deferred, deferred, delay, monotonicClock } from "@kapi/kernel";
import { type Started, TRACEPARENT_HEADER } from "@kapi/runtime";
import type { Message as WireMessage } from "kafkajs";

import { type ClusterClient, clusterClient } from "./cluster.ts";
import { type KafkaConnection, REQUEST_TIMEOUT_MS } from "./connection.ts";
import { PartitionSender } from "./partition-sender.ts";
import { MessageTooLarge, ProduceError } from "./errors.ts";
import type { GrowingProducer } from "./growth.ts";
import { bytesOf } from "./message-size.ts";
import { partitionOfKey } from "./partitioner.ts";
import type { OutgoingMessage, Producer, ProducerOptions } from "./producer-options.ts";
import { partitionCounts } from "./topics.ts";
import { startSending } from "./traces.ts";
import { type Position, reject, type PendingMessage } from "./pending-message.ts";

export type { OutgoingMessage, Producer, ProducerOptions } from "./producer-options.ts";
export type { Position } from "./pending-message.ts";

const MAX_BATCH_MESSAGES = 1_000;
/**
 * Less than Kafka's default `max.message.bytes`, so that a broker accepts a request whose messages
 * all belong to one partition.
 */
const MAX_BATCH_BYTES = 900_000;
const MAX_QUEUED_MESSAGES = 20_000;
const PRODUCE_TIMEOUT_MS = 10_000;
/** After a shorter timeout, a slow broker would often get and store the same messages twice. */
const MIN_REQUEST_TIMEOUT_MS = 1_500;
/**
 * A leader that waits for its replicas answers this long before the request times out, so that its
 * connection stays open.
 */
const ACK_MARGIN_MS = 250;
const BACK_OFF = { firstMs: 50, maxMs: 500 };
const MIN_INTERVAL_MS = 8;
/** `minIntervalMs` for live data: valuations, and samples. */
export const LIVE_INTERVAL_MS = 5;
/** Less than the stop deadline of a process's component. */
const STOP_DEADLINE_MS = 8_000;
const DISCONNECT_DEADLINE_MS = 1_000;
/** While the growth of topics pauses a producer: time between two checks whether it may send. */
const PAUSED_POLL_MS = 20;
/** How often deadlines are checked while a message waits. */
const SWEEP_INTERVAL_MS = 100;

/**
 * Starts a producer. Messages of one turn of the event loop share a request, and so do messages
 * that come while a request to their broker is under way. At most one request with messages of a
 * partition is under way. This keeps the order without Kafka's idempotent producer, with which
 * kafkajs loses acknowledged messages. A broker that hangs holds up only the partitions that it
 * leads, and the first messages of a topic, whose leaders are not known yet. `stop` sends waiting
 * messages, within a deadline; it rejects them if the growth of topics pauses this producer.
 */
export async function startProducer(kafka: KafkaConnection, options: ProducerOptions = {}): Promise<Started<Producer>> {
  const produceTimeoutMs = options.produceTimeoutMs ?? PRODUCE_TIMEOUT_MS;
  const requestTimeoutMs = Math.min(REQUEST_TIMEOUT_MS, Math.max(MIN_REQUEST_TIMEOUT_MS, produceTimeoutMs / 2));
  const { client, cluster } = clusterClient(kafka, { requestTimeoutMs });
  await kafka.connectWaiting(client);
  const sender = new PartitionSender(cluster, kafka.logger, requestTimeoutMs - ACK_MARGIN_MS);
  let growth: PartitionGrowth | null | undefined;
  let counts: ReadonlyMap<string, number>;
  do {
    growth = kafka.growth?.growth;
    counts = await partitionCounts(kafka);
    // The watch may have applied a growth meanwhile, before it knows this producer.
  } while (growth !== kafka.growth?.growth);
  const producer = new BatchingProducer(kafka, client, sender, counts, {
    maxBatchMessages: options.maxBatchMessages ?? MAX_BATCH_MESSAGES,
    maxBatchBytes: options.maxBatchBytes ?? MAX_BATCH_BYTES,
    maxQueuedMessages: options.maxQueuedMessages ?? MAX_QUEUED_MESSAGES,
    minIntervalMs: options.minIntervalMs ?? MIN_INTERVAL_MS,
    produceTimeoutMs,
    isSource: options.isSource ?? false,
    clock: options.clock ?? monotonicClock,
  });
  const remove = kafka.growth?.add(producer);
  return {
    value: producer,
    stop: () => {
      remove?.();
      return producer.stop();
    },
  };
}

type Limits = Required<ProducerOptions>;

/**
 * What the producer knows about a partition. All of its messages that wait or are under way are in
 * one broker's queue, so that they keep their order.
 */
interface PartitionState {
  readonly topic: string;
  readonly partition: number;
  brokerQueue: BrokerQueue | null;
  /** Number of messages that wait or are under way. */
  waiting: number;
}

interface Queued extends PendingMessage {
  readonly state: PartitionState;
  /** The partition that the caller has chosen; undefined: the key determines it. */
  readonly chosen: number | undefined;
}

/** Messages for one broker, or for partitions without a known leader; one batch at a time. */
interface BrokerQueue {
  messages: Queued[];
  inFlight: readonly Queued[];
  lastFlushMs: number;
  isScheduled: boolean;
  /** Number of consecutive requests with messages to send again. */
  failures: number;
}

class BatchingProducer implements Producer, GrowingProducer {
  readonly #kafka: KafkaConnection;
  readonly #client: ClusterClient["client"];
  readonly #sender: PartitionSender;
  #partitionStates: ReadonlyMap<string, readonly PartitionState[]>;
  readonly #limits: Limits;
  /** By broker; null for partitions without a leader, and for topics that are not known yet. */
  readonly #brokerQueues = new Map<number | null, BrokerQueue>();
  #sweeping = false;
  #stopping = false;
  #idle: Deferred<void> | null = null;

  constructor(
    kafka: KafkaConnection,
    client: ClusterClient["client"],
    sender: PartitionSender,
    counts: ReadonlyMap<string, number>,
    limits: Limits,
  ) {
    this.#kafka = kafka;
    this.#client = client;
    this.#sender = sender;
    this.#limits = limits;
    this.#partitionStates = partitionStates(counts);
  }

  partitionOf(topic: TopicContract, key: string): number {
    return partitionOfKey(key, this.#statesOf(this.#kafka.topicName(topic)).length);
  }

  async send(topic: TopicContract, message: OutgoingMessage): Promise<Position> {
    if (this.#stopping) throw new ProduceError("not-sent", "the producer is stopping");
    const name = this.#kafka.topicName(topic);
    const states = this.#statesOf(name);
    const partition = message.partition ?? partitionOfKey(message.key, states.length);
    const state = states[partition];
    if (state === undefined) throw new ProduceError("not-sent", `${name} has no partition ${partition}`);
    const bytes = bytesOf(message);
    const maxBytes = Math.max(this.#limits.maxBatchBytes, topic.maxMessageBytes ?? 0);
    if (bytes > maxBytes) throw new MessageTooLarge(bytes, maxBytes);
    const brokerQueue = this.#queueOf(state);
    if (brokerQueue.messages.length >= this.#limits.maxQueuedMessages) {
      throw new ProduceError("not-sent", `${brokerQueue.messages.length} messages already wait to be published`);
    }
    const answer = deferred<Position>();
    const { key, value } = message;
    const span = startSending(topic.name, message.traceparent);
    const headers = span === null ? message.headers : { ...message.headers, [TRACEPARENT_HEADER]: span.traceparent };
    const wire: WireMessage = { key, value, partition, ...(headers === undefined ? {} : { headers: { ...headers } }) };
    const expiresAtMs = this.#limits.clock.nowMs() + this.#limits.produceTimeoutMs;
    this.#add({
      contract: topic,
      topic: name,
      partition,
      state,
      chosen: message.partition,
      wire,
      bytes,
      expiresAtMs,
      answer,
      span,
      maybeStored: false,
      settled: false,
    });
    this.#sweepLater();
    return answer.promise;
  }

  /**
   * Must run while no producer may send, so that the messages of a key keep their order. If it
   * throws, the messages wait as before.
   */
  async repartition(counts: ReadonlyMap<string, number>): Promise<void> {
    const queues = (): BrokerQueue[] => [...this.#brokerQueues.values()];
    while (queues().some(({ inFlight }) => inFlight.length > 0)) await delay(PAUSED_POLL_MS);
    await this.#sender.refresh();
    // No wait from here on: `send` may add messages, and queues, during a wait.
    const states = partitionStates(counts);
    const moved = queues().flatMap(({ messages }) => messages.map((queued) => placed(queued, states)));
    this.#partitionStates = states;
    for (const brokerQueue of queues()) brokerQueue.messages = [];
    for (const queued of moved) this.#add(queued);
  }

  #add(queued: Queued): void {
    const brokerQueue = this.#queueOf(queued.state);
    queued.state.waiting += 1;
    brokerQueue.messages.push(queued);
    this.#schedule(brokerQueue);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#isBusy() && this.#mayPublish()) {
      this.#idle ??= deferred<void>();
      await Promise.race([this.#idle.promise, delay(STOP_DEADLINE_MS)]);
    }
    for (const brokerQueue of this.#brokerQueues.values()) {
      reject(
        this.#leaveQueue(brokerQueue, () => true),
        "the producer was stopped",
      );
      reject(brokerQueue.inFlight, "the producer was stopped before the answer came");
    }
    await Promise.race([this.#client.disconnect(), delay(DISCONNECT_DEADLINE_MS)]);
  }

  #statesOf(topic: string): readonly PartitionState[] {
    const states = this.#partitionStates.get(topic);
    if (states === undefined) throw new ProduceError("not-sent", `topic ${topic} does not exist`);
    return states;
  }

  /**
   * The queue of a partition. While messages of the partition wait or are under way, it is the
   * queue that has them; `#moveToLeaders` moves these messages when the leader changes. Else it is
   * the queue of the current leader.
   */
  #queueOf(state: PartitionState): BrokerQueue {
    if (state.brokerQueue !== null && state.waiting > 0) return state.brokerQueue;
    const brokerQueue = this.#queueTo(this.#sender.leaderOf(state.topic, state.partition));
    state.brokerQueue = brokerQueue;
    return brokerQueue;
  }

  #queueTo(leader: number | null): BrokerQueue {
    let brokerQueue = this.#brokerQueues.get(leader);
    if (brokerQueue === undefined) {
      brokerQueue = { messages: [], inFlight: [], lastFlushMs: 0, isScheduled: false, failures: 0 };
      this.#brokerQueues.set(leader, brokerQueue);
    }
    return brokerQueue;
  }

  #schedule(brokerQueue: BrokerQueue): void {
    if (brokerQueue.isScheduled || brokerQueue.inFlight.length > 0 || brokerQueue.messages.length === 0) return;
    brokerQueue.isScheduled = true;
    const flush = (): void => {
      brokerQueue.isScheduled = false;
      brokerQueue.lastFlushMs = this.#limits.clock.nowMs();
      void this.#flush(brokerQueue);
    };
    const { minIntervalMs, clock } = this.#limits;
    const leftMs = brokerQueue.lastFlushMs + minIntervalMs - clock.nowMs();
    if (leftMs > 0 && !this.#stopping) setTimeout(flush, leftMs);
    else setImmediate(flush);
  }

  #mayPublish(): boolean {
    return this.#kafka.growth?.mayPublish(this.#limits.isSource) ?? true;
  }

  /**
   * Called while this producer may not send: the messages of the queue wait. In the phase `moving`,
   * a producer that is no source rejects them instead: its process usually exits in this phase.
   */
  #pause(brokerQueue: BrokerQueue): void {
    if (!this.#limits.isSource && this.#kafka.growth?.growth?.phase === "moving") {
      const all = this.#leaveQueue(brokerQueue, () => true);
      return reject(all, "topics are being grown");
    }
    if (brokerQueue.messages.length === 0) return;
    brokerQueue.isScheduled = true;
    setTimeout(() => {
      brokerQueue.isScheduled = false;
      void this.#flush(brokerQueue);
    }, PAUSED_POLL_MS);
  }

  async #flush(brokerQueue: BrokerQueue): Promise<void> {
    if (!this.#mayPublish()) return this.#pause(brokerQueue);
    this.#moveToLeaders(brokerQueue);
    const batch = this.#nextBatch(brokerQueue);
    if (batch.length > 0) {
      brokerQueue.inFlight = batch;
      await this.#sender.send(batch);
      if (batch.some(({ settled }) => !settled)) await this.#backOff(brokerQueue);
      else brokerQueue.failures = 0;
      brokerQueue.inFlight = [];
      const again = batch.filter(({ settled }) => !settled);
      for (const { state, settled } of batch) if (settled) state.waiting -= 1;
      // Before newer messages, to keep the order of each partition.
      brokerQueue.messages.unshift(...again);
    }
    this.#resolveIdle();
    this.#schedule(brokerQueue);
  }

  /** Pauses, then reads the leaders again for the next attempt. */
  async #backOff(brokerQueue: BrokerQueue): Promise<void> {
    brokerQueue.failures += 1;
    await delay(backOffMs(brokerQueue.failures, Math.random, BACK_OFF));
    await this.#sender.refresh();
  }

  /**
   * Moves partitions to the queues of their current leaders. No message of this queue is under way,
   * so the order is kept.
   */
  #moveToLeaders(brokerQueue: BrokerQueue): void {
    const targets = new Map<PartitionState, BrokerQueue>();
    for (const { state } of brokerQueue.messages) {
      if (targets.has(state)) continue;
      targets.set(state, this.#queueTo(this.#sender.leaderOf(state.topic, state.partition)));
    }
    if (Array.from(targets.values()).every((target) => target === brokerQueue)) return;
    const queued = brokerQueue.messages;
    brokerQueue.messages = [];
    for (const waiting of queued) targets.get(waiting.state)?.messages.push(waiting);
    for (const [state, target] of targets) {
      state.brokerQueue = target;
      if (target !== brokerQueue) this.#schedule(target);
    }
  }

  #nextBatch(brokerQueue: BrokerQueue): Queued[] {
    let bytes = 0;
    let length = 0;
    for (const waiting of brokerQueue.messages) {
      bytes += waiting.bytes;
      if (length >= this.#limits.maxBatchMessages || (length > 0 && bytes > this.#limits.maxBatchBytes)) break;
      length += 1;
    }
    return brokerQueue.messages.splice(0, length);
  }

  #leaveQueue(brokerQueue: BrokerQueue, leaves: (waiting: PendingMessage) => boolean): Queued[] {
    const left = brokerQueue.messages.filter(leaves);
    if (left.length > 0) brokerQueue.messages = brokerQueue.messages.filter((waiting) => !leaves(waiting));
    for (const { state } of left) state.waiting -= 1;
    return left;
  }

  #isBusy(): boolean {
    for (const { messages, inFlight } of this.#brokerQueues.values())
      if (messages.length > 0 || inFlight.length > 0) return true;
    return false;
  }

  #resolveIdle(): void {
    if (this.#idle !== null && !this.#isBusy()) this.#idle.resolve();
  }

  #sweepLater(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    setTimeout(() => {
      this.#sweeping = false;
      for (const brokerQueue of this.#brokerQueues.values()) this.#expire(brokerQueue);
      this.#resolveIdle();
      if (this.#isBusy()) this.#sweepLater();
    }, SWEEP_INTERVAL_MS);
  }

  /**
   * Rejects messages past their deadline. Their request stays under way until it ends: a concurrent
   * request with the same partitions could change the order.
   */
  #expire(brokerQueue: BrokerQueue): void {
    const nowMs = this.#limits.clock.nowMs();
    const late = (waiting: PendingMessage): boolean => waiting.expiresAtMs <= nowMs;
    reject(brokerQueue.inFlight.filter(late), "not acknowledged within its deadline");
    reject(this.#leaveQueue(brokerQueue, late), "not sent within its deadline");
  }
}

function partitionStates(counts: ReadonlyMap<string, number>): Map<string, readonly PartitionState[]> {
  return new Map(
    Array.from(counts, ([topic, count]) => [
      topic,
      Array.from({ length: count }, (_, partition) => ({ topic, partition, brokerQueue: null, waiting: 0 })),
    ]),
  );
}

/** Returns the message in its new partition. Throws if `allStates` does not have this partition. */
function placed(queued: Queued, allStates: ReadonlyMap<string, readonly PartitionState[]>): Queued {
  const { topic, chosen, wire } = queued;
  const states = assertDefined(allStates.get(topic), `the number of partitions of topic ${topic}`);
  const partition = chosen ?? partitionOfKey(String(wire.key), states.length);
  const state = assertDefined(states[partition], `partition ${partition} of ${topic}`);
  return { ...queued, partition, state, wire: { ...wire, partition } };
}
