import { type Deferred, deferred } from "@kapi/kernel";
import { RetryableError } from "@kapi/kafka";
import { counter } from "@kapi/runtime";

import type { AccountStream, Repeat } from "../domain/account-stream.ts";
import type { Span } from "../domain/judge.ts";
import { type ParsedReading, readingFromWire } from "../domain/reading.ts";
import { type AccountId, accountOfKey } from "../domain/sample.ts";
import { PartitionSequencer } from "./partition-sequencer.ts";
import type { SampleListener } from "./sample-log.ts";
import type { SequencerContext, SequencerOptions } from "./sequencer-context.ts";

/** Samples that may be on their way to the log at once; more valuations are not taken in meanwhile. */
const MAX_SENDS_IN_FLIGHT = 5_000;

const taken = counter(
  "metrics.valuations.taken",
  "Valuations that were taken in, those refused among them",
  "{valuation}",
);
const sequenced = counter("metrics.samples.sequenced", "Samples that were numbered and sent to the log", "{sample}");

/** A record of `trading.valuations`. */
export interface ValuationRecord {
  readonly key: string;
  readonly value: Buffer;
  readonly offset: bigint;
}

/** A valuation that cannot be used, and why. */
export interface RefusedValuation<M> {
  readonly message: M;
  readonly reason: string;
}

/** What the sequencer has done since the start. */
export interface SequencerCounts {
  valuations: number;
  samples: number;
  lostSends: number;
  takenByAnother: number;
}

/**
 * Valuations → samples: coalesces them per account and writes consecutive samples, for the partitions that the group
 * has given to this process. What counts is decided by the log alone ({@link SampleLog}, of which this is a listener).
 */
export class Sequencer implements SampleListener {
  readonly counts: SequencerCounts = { valuations: 0, samples: 0, lostSends: 0, takenByAnother: 0 };
  readonly #context: SequencerContext;
  readonly #sends = new Map<number, Set<Promise<void>>>();
  #partitions = new Map<number, PartitionSequencer>();
  #inFlight = 0;
  #room: Deferred<void> | null = null;

  constructor(options: SequencerOptions) {
    this.#context = {
      ...options,
      hasRoom: () => this.#inFlight < MAX_SENDS_IN_FLIGHT,
      send: (partition, key, span, frame, lost) => this.#send(partition, key, span, frame, lost),
      settled: async (partition) => void (await Promise.all(this.#sends.get(partition) ?? new Set<Promise<void>>())),
      takenByAnother: () => {
        this.counts.takenByAnother += 1;
      },
    };
  }

  /** The partitions that this process may write now. */
  get readyPartitions(): number[] {
    return [...this.#partitions.values()].filter(({ ready }) => ready).map(({ number }) => number);
  }

  /** Begins anew with these partitions; valuations that no judged sample has are read again. */
  assign(partitions: readonly number[]): void {
    for (const partition of this.#partitions.values()) partition.close();
    this.#partitions = new Map(partitions.map((number) => [number, new PartitionSequencer(number, this.#context)]));
  }

  /** Gives all partitions up. */
  stop(): void {
    this.assign([]);
  }

  /**
   * Takes in valuations of one partition, in log order.
   * @returns those refused, and what tells the offset below which everything is durable by then.
   * @throws RetryableError while it cannot be told whether the partition may be written, or whether an account exists.
   */
  async take<M extends ValuationRecord>(
    number: number,
    messages: readonly M[],
  ): Promise<{ refused: RefusedValuation<M>[]; commitOffset: () => bigint }> {
    const partition = this.#partitions.get(number);
    if (partition === undefined) throw new RetryableError(`partition ${number} is not assigned`);
    await retryable("the end of the samples was not reached", () => partition.prepare());
    const parsed = messages.map((message) => readingFromWire(message.key, message.value, Number(message.offset)));
    const unknown = await this.#admit(partition, messages, parsed);
    const refused: RefusedValuation<M>[] = [];
    for (const [index, message] of messages.entries()) {
      const found = parsed[index];
      if (found === undefined) continue;
      if (!this.#context.hasRoom()) await this.#roomAgain();
      const reason =
        "fault" in found
          ? found.fault
          : (unknown.get(message.key) ?? partition.take(message.key, found.reading, this.#context.clock.nowMs()));
      if (reason !== null) refused.push({ message, reason });
    }
    this.counts.valuations += messages.length;
    taken.add(messages.length);
    const next = Number(messages.at(-1)?.offset ?? -1n) + 1;
    return { refused, commitOffset: () => BigInt(partition.commitOffset(next)) };
  }

  /** Resolves when all samples sent so far have been judged; rejects where the log cannot be read to its end in time. */
  async judged(): Promise<void> {
    await Promise.all([...this.#partitions.values()].map((partition) => partition.judged()));
  }

  /** Cuts what is due; to be called every `sweepMs`. */
  sweep(sweepMs: number): void {
    const nowMs = this.#context.clock.nowMs();
    for (const partition of this.#partitions.values()) partition.sweep(nowMs, sweepMs);
  }

  counted(stream: AccountStream, span: Span): void {
    this.#partitions.get(stream.partition)?.counted(stream, span);
  }

  /** A checkpoint with this repeat of the account's newest sample is durable. */
  repeatKept(stream: AccountStream, repeat: Repeat): void {
    this.#partitions.get(stream.partition)?.repeatKept(stream.key, repeat);
  }

  gone(key: string): void {
    for (const partition of this.#partitions.values()) partition.removed(key);
  }

  /** Takes in the accounts that are new here; the answer is why some of them are refused, by key. */
  async #admit(
    partition: PartitionSequencer,
    messages: readonly ValuationRecord[],
    parsed: readonly ParsedReading[],
  ): Promise<Map<string, string>> {
    const { log, isServer, partitionOf } = this.#context;
    const refused = new Map<string, string>();
    const asked = new Map<string, AccountId>();
    for (const [index, { key }] of messages.entries()) {
      const found = parsed[index];
      if (found === undefined || "fault" in found || partition.has(key) || refused.has(key)) continue;
      const stream = log.find(key);
      // Samples of one account on two partitions would have no order among each other.
      if (partitionOf(key) !== partition.number) refused.set(key, "the partition is not that of the key");
      else if (log.isGone(key)) refused.set(key, "the account was deleted");
      else if (stream !== undefined) partition.add(key, stream, stream);
      else if (!isServer(found.serverId)) refused.set(key, "the server is unknown");
      else asked.set(key, found);
    }
    if (asked.size === 0) return refused;
    const existing = await retryable("the accounts could not be asked for", () =>
      this.#context.existence.exist([...asked.values()]),
    );
    for (const [index, key] of [...asked.keys()].entries()) {
      const account = accountOfKey(key);
      if (existing[index] !== true || account === null) refused.set(key, "the account is unknown");
      else partition.add(key, account, log.find(key));
    }
    return refused;
  }

  #send(partition: number, key: string, span: Span, frame: Buffer, lost: () => void): void {
    const sends = this.#sends.get(partition) ?? new Set();
    this.#sends.set(partition, sends);
    this.#inFlight += 1;
    this.counts.samples += 1;
    sequenced.add(1);
    const send = this.#context.sink.write(partition, key, span, frame).catch((error: unknown) => {
      this.counts.lostSends += 1;
      this.#context.logger.warn({ err: error, partition }, "a sample was not acknowledged");
      // After this turn, so that the failed send no longer counts as on its way.
      setImmediate(lost);
    });
    sends.add(send);
    void send.then(() => {
      sends.delete(send);
      this.#inFlight -= 1;
      if (this.#room === null || this.#inFlight > MAX_SENDS_IN_FLIGHT / 2) return;
      this.#room.resolve();
      this.#room = null;
    });
  }

  #roomAgain(): Promise<void> {
    this.#room ??= deferred<void>();
    return this.#room.promise;
  }
}

async function retryable<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new RetryableError(what, { cause: error });
  }
}
