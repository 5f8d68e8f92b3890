import type { TopicContract } from "@kapi/contracts";
import { type Clock, type Deferred, deferred, delay, systemClock } from "@kapi/kernel";
import { counter, type Span, type Started, TRACEPARENT_HEADER } from "@kapi/runtime";
import type { Message as WireMessage, Producer as KafkaProducer, RecordMetadata } from "kafkajs";

import type { KafkaConnection } from "./connection.ts";
import { asError, MessageTooLarge, ProduceError } from "./errors.ts";
import { partitionOfKey } from "./partitioner.ts";
import { partitionCounts } from "./topics.ts";
import { startSending } from "./traces.ts";

const ACKS_ALL = -1;
const MAX_BATCH_MESSAGES = 1_000;
/** Under Kafka's default `max.message.bytes`, so that a request is taken even if it is all for one partition. */
const MAX_BATCH_BYTES = 900_000;
const MAX_QUEUED_MESSAGES = 20_000;
const PRODUCE_TIMEOUT_MS = 10_000;
const MIN_INTERVAL_MS = 8;
/** {@link ProducerOptions.minIntervalMs} of what is watched live: valuations, and the samples made of them. */
export const LIVE_INTERVAL_MS = 5;
/** Less than a process gives each of its components. */
const STOP_DEADLINE_MS = 8_000;
const DISCONNECT_DEADLINE_MS = 1_000;
/** How often deadlines are looked at while something waits. */
const SWEEP_INTERVAL_MS = 100;
/** What a record costs beside its key, value and headers, at most. */
const RECORD_OVERHEAD_BYTES = 40;
/** The header of a trace: its name, its 55 characters, and two lengths. */
const TRACEPARENT_BYTES = TRACEPARENT_HEADER.length + 57;

const failures = counter(
  "kafka.produce.failures",
  "Messages that were not acknowledged, by `topic` and `outcome` (not-sent, unknown)",
  "{message}",
);

export interface ProducerOptions {
  /** Most messages in one request. Default 1,000. */
  readonly maxBatchMessages?: number;
  /**
   * Most bytes in one request; a larger message is refused, unless its topic takes it (`maxMessageBytes`): then it is a
   * request of its own. Default 900,000.
   */
  readonly maxBatchBytes?: number;
  /** Most messages waiting for a request; one more is refused at once. Default 20,000. */
  readonly maxQueuedMessages?: number;
  /** Until a message must be acknowledged, counted from `send`. Default 10,000. */
  readonly produceTimeoutMs?: number;
  /**
   * Least time from one request to the next: what comes meanwhile shares it, which costs the broker and this process far less
   * than many small requests. The first message after a rest is sent at once. Default 8.
   */
  readonly minIntervalMs?: number;
  readonly clock?: Clock;
}

export interface OutgoingMessage {
  /** Decides about the partition, and so about the order. */
  readonly key: string;
  readonly value: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Only for a topic that repeats the partition numbers of another. */
  readonly partition?: number;
  /** The span that the message is sent in, if it belongs to a trace. Never the active one: that may be anybody's. */
  readonly traceparent?: string | undefined;
}

/** Where a message is in the log. */
export interface Position {
  readonly partition: number;
  readonly offset: bigint;
}

export interface Producer {
  /**
   * Publishes `message`; resolves with its place once all in-sync replicas have it. Rejects with a
   * {@link ProduceError}, which tells whether it may be in the log all the same, or that it never can
   * ({@link MessageTooLarge}). Messages of one key keep the order of
   * the calls.
   */
  send(topic: TopicContract, message: OutgoingMessage): Promise<Position>;
  /** The partition that `send` chooses for `key`. Throws for a topic that does not exist. */
  partitionOf(topic: TopicContract, key: string): number;
}

/**
 * Starts a producer. What is asked for in one turn of the event loop, and while a request is under way, goes out in the
 * next request; there is never more than one under way, which keeps the order without idempotence (kafkajs's own
 * loses acknowledged messages). `stop` sends what waits, within a deadline.
 */
export async function createProducer(
  kafka: KafkaConnection,
  options: ProducerOptions = {},
): Promise<Started<Producer>> {
  const produceTimeoutMs = options.produceTimeoutMs ?? PRODUCE_TIMEOUT_MS;
  const client = kafka.client({ requestTimeoutMs: produceTimeoutMs }).producer({
    createPartitioner: () => partitionAlreadyChosen,
    allowAutoTopicCreation: false,
    idempotent: false,
  });
  await kafka.connect(client);
  const counts = await partitionCounts(kafka);
  const producer = new BatchingProducer(kafka, client, counts, {
    maxBatchMessages: options.maxBatchMessages ?? MAX_BATCH_MESSAGES,
    maxBatchBytes: options.maxBatchBytes ?? MAX_BATCH_BYTES,
    maxQueuedMessages: options.maxQueuedMessages ?? MAX_QUEUED_MESSAGES,
    minIntervalMs: options.minIntervalMs ?? MIN_INTERVAL_MS,
    produceTimeoutMs,
    clock: options.clock ?? systemClock,
  });
  return { value: producer, stop: () => producer.stop() };
}

interface Waiting {
  readonly contract: TopicContract;
  readonly topic: string;
  readonly partition: number;
  readonly wire: WireMessage;
  readonly bytes: number;
  readonly expiresAtMs: number;
  readonly answer: Deferred<Position>;
  readonly span: Span | null;
  /** Past its deadline a message is answered, and stays in its request until that ends. */
  settled: boolean;
}

type Limits = Required<ProducerOptions>;

class BatchingProducer implements Producer {
  readonly #kafka: KafkaConnection;
  readonly #client: KafkaProducer;
  readonly #counts: ReadonlyMap<string, number>;
  readonly #limits: Limits;
  #queue: Waiting[] = [];
  #inFlight: readonly Waiting[] = [];
  #busy = false;
  #lastFlushMs = 0;
  #scheduled = false;
  #sweeping = false;
  #stopping = false;
  #idle: Deferred<void> | null = null;

  constructor(kafka: KafkaConnection, client: KafkaProducer, counts: ReadonlyMap<string, number>, limits: Limits) {
    this.#kafka = kafka;
    this.#client = client;
    this.#counts = counts;
    this.#limits = limits;
  }

  partitionOf(topic: TopicContract, key: string): number {
    return partitionOfKey(key, this.#countOf(this.#kafka.topicName(topic)));
  }

  async send(topic: TopicContract, message: OutgoingMessage): Promise<Position> {
    if (this.#stopping) throw new ProduceError("not-sent", "the producer is stopping");
    if (this.#queue.length >= this.#limits.maxQueuedMessages) {
      throw new ProduceError("not-sent", `${this.#queue.length} messages already wait to be published`);
    }
    const name = this.#kafka.topicName(topic);
    const count = this.#countOf(name);
    const partition = message.partition ?? partitionOfKey(message.key, count);
    if (partition < 0 || partition >= count)
      throw new ProduceError("not-sent", `${name} has no partition ${partition}`);
    const bytes = bytesOf(message) + (message.traceparent === undefined ? 0 : TRACEPARENT_BYTES);
    const maxBytes = Math.max(this.#limits.maxBatchBytes, topic.maxMessageBytes ?? 0);
    if (bytes > maxBytes) throw new MessageTooLarge(bytes, maxBytes);
    const answer = deferred<Position>();
    const { key, value } = message;
    const span = startSending(topic.name, message.traceparent);
    const headers = span === null ? message.headers : { ...message.headers, [TRACEPARENT_HEADER]: span.traceparent };
    const wire: WireMessage = { key, value, partition, ...(headers === undefined ? {} : { headers: { ...headers } }) };
    const expiresAtMs = this.#limits.clock.nowMs() + this.#limits.produceTimeoutMs;
    this.#queue.push({
      contract: topic,
      topic: name,
      partition,
      wire,
      bytes,
      expiresAtMs,
      answer,
      span,
      settled: false,
    });
    this.#schedule();
    this.#sweepLater();
    return answer.promise;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#busy || this.#queue.length > 0) {
      this.#idle ??= deferred<void>();
      await Promise.race([this.#idle.promise, delay(STOP_DEADLINE_MS)]);
    }
    const left = this.#queue;
    this.#queue = [];
    rejectAll(left, new ProduceError("not-sent", "the producer was stopped"));
    await Promise.race([this.#client.disconnect(), delay(DISCONNECT_DEADLINE_MS)]);
  }

  #countOf(topic: string): number {
    const count = this.#counts.get(topic);
    if (count === undefined) throw new ProduceError("not-sent", `topic ${topic} does not exist`);
    return count;
  }

  #schedule(): void {
    if (this.#scheduled || this.#busy || this.#queue.length === 0) return;
    this.#scheduled = true;
    const flush = (): void => {
      this.#scheduled = false;
      this.#lastFlushMs = this.#limits.clock.nowMs();
      void this.#flush();
    };
    const { minIntervalMs, clock } = this.#limits;
    // At most the interval, also where the machine's clock was set back.
    const leftMs = Math.min(minIntervalMs, this.#lastFlushMs + minIntervalMs - clock.nowMs());
    if (leftMs > 0 && !this.#stopping) setTimeout(flush, leftMs);
    else setImmediate(flush);
  }

  async #flush(): Promise<void> {
    if (this.#queue.length === 0) return;
    this.#busy = true;
    const batch = this.#nextBatch();
    this.#inFlight = batch;
    try {
      const metadata = await this.#client.sendBatch({
        acks: ACKS_ALL,
        timeout: this.#limits.produceTimeoutMs,
        topicMessages: byTopic(batch),
      });
      answerAll(batch, metadata);
    } catch (error) {
      rejectAll(batch, new ProduceError("unknown", `not acknowledged: ${asError(error).message}`, { cause: error }));
    } finally {
      this.#inFlight = [];
      this.#busy = false;
    }
    if (this.#queue.length === 0) this.#idle?.resolve();
    this.#schedule();
  }

  #nextBatch(): Waiting[] {
    let bytes = 0;
    let length = 0;
    for (const waiting of this.#queue) {
      bytes += waiting.bytes;
      if (length >= this.#limits.maxBatchMessages || (length > 0 && bytes > this.#limits.maxBatchBytes)) break;
      length += 1;
    }
    return this.#queue.splice(0, length);
  }

  #sweepLater(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    setTimeout(() => {
      this.#sweeping = false;
      this.#expire();
      if (this.#busy || this.#queue.length > 0) this.#sweepLater();
    }, SWEEP_INTERVAL_MS);
  }

  /**
   * Answers what is past its deadline. A request that is under way stays so until kafkajs gives it up: sending the next
   * one beside it could change the order.
   */
  #expire(): void {
    const nowMs = this.#limits.clock.nowMs();
    const late = (waiting: Waiting): boolean => waiting.expiresAtMs <= nowMs;
    rejectAll(this.#inFlight.filter(late), new ProduceError("unknown", "not acknowledged within its deadline"));
    const unsent = this.#queue.findIndex((waiting) => !late(waiting));
    const expired = this.#queue.splice(0, unsent === -1 ? this.#queue.length : unsent);
    rejectAll(expired, new ProduceError("not-sent", "not sent within its deadline"));
    if (!this.#busy && this.#queue.length === 0) this.#idle?.resolve();
  }
}

function partitionAlreadyChosen({ message }: { message: WireMessage }): number {
  if (message.partition === undefined) throw new TypeError("every message is given its partition");
  return message.partition;
}

function byTopic(batch: readonly Waiting[]): { topic: string; messages: WireMessage[] }[] {
  const topics = new Map<string, WireMessage[]>();
  for (const { topic, wire } of batch) {
    const messages = topics.get(topic);
    if (messages === undefined) topics.set(topic, [wire]);
    else messages.push(wire);
  }
  return Array.from(topics, ([topic, messages]) => ({ topic, messages }));
}

/** The answer names the first offset of each partition's records; they are stored in the order they were given in. */
function answerAll(batch: readonly Waiting[], metadata: readonly RecordMetadata[]): void {
  const next = new Map<string, bigint>();
  for (const { topicName, partition, baseOffset } of metadata) {
    if (baseOffset !== undefined) next.set(`${topicName}/${partition}`, BigInt(baseOffset));
  }
  for (const waiting of batch) {
    const { topic, partition } = waiting;
    const place = `${topic}/${partition}`;
    const offset = next.get(place);
    if (offset === undefined) {
      // A leader that changed between two tries of kafkajs can leave a partition out of the request.
      rejectAll([waiting], new ProduceError("unknown", `the answer does not name ${place}`));
    } else {
      next.set(place, offset + 1n);
      if (waiting.settled) continue;
      waiting.settled = true;
      waiting.span?.end();
      waiting.answer.resolve({ partition, offset });
    }
  }
}

/** Of a message that is answered already nothing is told again. */
function rejectAll(batch: readonly Waiting[], error: ProduceError): void {
  for (const waiting of batch) {
    if (waiting.settled) continue;
    waiting.settled = true;
    failures.add(1, { topic: waiting.contract.name, outcome: error.outcome });
    waiting.span?.end(error);
    waiting.answer.reject(error);
  }
}

function bytesOf({ key, value, headers }: OutgoingMessage): number {
  let bytes = RECORD_OVERHEAD_BYTES + Buffer.byteLength(key) + Buffer.byteLength(value);
  for (const name in headers) bytes += name.length + Buffer.byteLength(headers[name] ?? "") + 2;
  return bytes;
}
