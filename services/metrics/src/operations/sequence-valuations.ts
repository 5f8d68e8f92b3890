import type { AccountRef } from "@kapi/contracts";
import { type SampleRange, decodeValuation } from "@kapi/contracts/codec";
import { type Deferred, deferred } from "@kapi/kernel";
import { retryable, RetryableError } from "@kapi/kafka";
import { counter } from "@kapi/runtime";

import type { AccountStream } from "../domain/account-stream.ts";
import { DELETED_ACCOUNT, type Rejection, UNKNOWN_SERVER, WRONG_PARTITION } from "../domain/rejection.ts";
import { PartitionSequencer } from "./partition-sequencer.ts";
import type { SampleListener } from "./sample-log.ts";
import type { SequencerContext, SequencerOptions } from "./sequencer-context.ts";

/**
 * Maximum number of samples that are being sent. At the limit, no valuation is added until at most
 * half as many are being sent.
 */
export const MAX_SENDS_IN_FLIGHT = 5_000;

const readValuations = counter(
  "metrics.valuations.taken",
  "Valuations that were read, including rejected ones",
  "{valuation}",
);
const sequenced = counter("metrics.samples.sequenced", "Samples that were numbered and sent to the log", "{sample}");

/** A record of `trading.valuations`; `offset` is its position. */
export interface RawValuation {
  readonly key: string;
  readonly value: Buffer;
  readonly offset: bigint;
}

/** Counts since the start of the process. */
export interface SequencerCounts {
  /** Valuations that were read, including rejected ones. */
  valuations: number;
  /** Samples that were numbered and sent. */
  samples: number;
  /** Samples whose send has failed: they may be in the log or not. */
  unacknowledged: number;
  /** Accepted samples of other writers. */
  foreignSamples: number;
}

/**
 * Coalesces valuations per account and writes consecutive samples, for the partitions assigned to
 * this process. It listens to `SampleLog`, which alone decides which samples are accepted.
 */
export class Sequencer implements SampleListener {
  readonly counts: SequencerCounts = { valuations: 0, samples: 0, unacknowledged: 0, foreignSamples: 0 };
  readonly #context: SequencerContext;
  readonly #sends = new Map<number, Set<Promise<void>>>();
  #partitions = new Map<number, PartitionSequencer>();
  #inFlight = 0;
  #room: Deferred<void> | null = null;

  constructor(options: SequencerOptions) {
    this.#context = {
      ...options,
      hasRoom: () => this.#inFlight < MAX_SENDS_IN_FLIGHT,
      room: () => this.#roomForMore(),
      send: (partition, key, range, frame, lost) => this.#send(partition, key, range, frame, lost),
      settled: async (partition) => void (await Promise.all(this.#sends.get(partition) ?? new Set<Promise<void>>())),
      countForeignSample: () => {
        this.counts.foreignSamples += 1;
      },
    };
  }

  /** The partitions that this process may write now. */
  get readyPartitions(): number[] {
    return [...this.#partitions.values()].filter(({ ready }) => ready).map(({ number }) => number);
  }

  /**
   * Replaces the assigned partitions, and drops all waiting valuations. The caller must read each
   * partition from its committed offset.
   */
  assign(partitions: readonly number[]): void {
    for (const partition of this.#partitions.values()) partition.close();
    this.#partitions = new Map(partitions.map((number) => [number, new PartitionSequencer(number, this.#context)]));
  }

  /** Releases all partitions. */
  stop(): void {
    this.assign([]);
  }

  /**
   * Adds valuations of one partition, in log order.
   * @returns `commitOffset`: a call returns the offset below which no valuation has to be read
   * again, at the time of the call.
   * @throws RetryableError if the partition is not assigned, if its samples cannot be read to the
   * end in time, or if too many accounts are parked.
   */
  async addValuations(number: number, messages: readonly RawValuation[]): Promise<{ commitOffset: () => bigint }> {
    const partition = this.#partitions.get(number);
    if (partition === undefined) throw new RetryableError(`partition ${number} is not assigned`);
    await retryable("the end of the samples was not reached", () => partition.prepare());
    for (const message of messages) {
      if (!this.#context.hasRoom()) await this.#roomForMore();
      const rejection = this.#addOne(partition, message);
      if (rejection !== null) this.#context.rejections.reject(number, message, rejection);
    }
    this.counts.valuations += messages.length;
    readValuations.add(messages.length);
    const next = Number(messages.at(-1)?.offset ?? -1n) + 1;
    return { commitOffset: () => BigInt(partition.commitOffset(next)) };
  }

  /**
   * Resolves when this process has read all samples that it has sent so far; rejects if the log
   * cannot be read to its end in time.
   */
  async awaitAcceptance(): Promise<void> {
    await Promise.all([...this.#partitions.values()].map((partition) => partition.awaitAcceptance()));
  }

  /** Cuts the samples that are due; called every `sweepMs`. */
  sweep(sweepMs: number): void {
    const nowMs = this.#context.clock.nowMs();
    for (const partition of this.#partitions.values()) partition.sweep(nowMs, sweepMs);
  }

  accepted(stream: AccountStream, range: SampleRange): void {
    this.#partitions.get(stream.partition)?.accepted(stream, range);
  }

  deleted(key: string): void {
    for (const partition of this.#partitions.values()) partition.removed(key);
  }

  /** Decodes and adds a valuation; returns its rejection, or null. */
  #addOne(partition: PartitionSequencer, message: RawValuation): Rejection | null {
    const found = decodeValuation(message.key, message.value, Number(message.offset));
    if ("fault" in found) return found;
    return (
      this.#admit(partition, message.key, found) ??
      partition.addValuation(message.key, found.valuation, this.#context.clock.nowMs())
    );
  }

  /** Adds or parks an account that the partition does not have; returns a rejection, or null. */
  #admit(partition: PartitionSequencer, key: string, account: AccountRef): Rejection | null {
    if (partition.has(key)) return null;
    const { log, isServer, partitionOf } = this.#context;
    // Samples of one account on two partitions would have no order among each other.
    if (partitionOf(key) !== partition.number) return WRONG_PARTITION;
    if (log.isDeleted(key)) return DELETED_ACCOUNT;
    const stream = log.find(key);
    if (stream !== undefined) partition.add(key, stream);
    else if (isServer(account.serverId)) partition.park(key, account);
    else return UNKNOWN_SERVER;
    return null;
  }

  #send(partition: number, key: string, range: SampleRange, frame: Buffer, lost: () => void): void {
    const sends = this.#sends.get(partition) ?? new Set();
    this.#sends.set(partition, sends);
    this.#inFlight += 1;
    this.counts.samples += 1;
    sequenced.add(1);
    const send = this.#context.sink.write(partition, key, range, frame).catch((error: unknown) => {
      this.counts.unacknowledged += 1;
      this.#context.logger.warn({ err: error, partition }, "a sample was not acknowledged");
      // In a later turn of the event loop, when this send is no longer in flight.
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

  async #roomForMore(): Promise<void> {
    while (!this.#context.hasRoom()) {
      this.#room ??= deferred<void>();
      await this.#room.promise;
    }
  }
}
