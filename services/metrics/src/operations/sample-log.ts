import type { SampleCheckpoint } from "@kapi/contracts";
import type { Clock } from "@kapi/kernel";
import { counter } from "@kapi/runtime";

import { type AccountStream, FROM_UNKNOWN } from "../domain/account-stream.ts";
import { type SampleRange, decodeSampleHeaders, isDeletion } from "@kapi/contracts/codec";
import { acceptSample, type LogState } from "../domain/acceptance-rule.ts";
import { WITHOUT_CHECKPOINT, type StartingPoint } from "../domain/restore.ts";
import { type KeptRange, keptRange } from "../domain/cursor.ts";
import { accountOfKey } from "../domain/sample.ts";
import type { SampledAccount } from "../domain/sample-source.ts";
import type { SampleWindows } from "../domain/sample-windows.ts";

const readSamples = counter("metrics.samples.read", "Records of `metrics.samples` that were read", "{record}");
const rejectedSamples = counter(
  "metrics.samples.refused",
  "Samples that were read from the log and not accepted",
  "{sample}",
);

/**
 * How long a process remembers a deleted account: longer than any topic keeps records that could
 * restore it (7 days). After that its valuations are rejected as those of an unknown account.
 */
export const DELETED_KEPT_MS = 8 * 86_400_000;

/** A record of `metrics.samples`; `offset` is its position. */
export interface SampleRecord {
  readonly key: string;
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly offset: bigint;
  readonly timestampMs: number;
}

/**
 * Listens to the log. `accepted` is called in log order, in the same turn in which the record is
 * applied. `removed` and `deleted` may come at any time, because deletions are also read from
 * `account.events` and PostgreSQL.
 */
export interface SampleListener {
  /** A sample was accepted and is in its account's window. */
  accepted?(account: AccountStream, range: SampleRange): void;
  /** An account with samples was deleted. */
  removed?(account: AccountStream): void;
  /** An account was deleted, with or without samples; called after `removed`. */
  deleted?(key: string): void;
  /** This process no longer reads a partition; its accounts are forgotten, not deleted. */
  dropped?(partition: number): void;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

interface Stream extends Mutable<AccountStream> {
  /** Records below this offset are skipped: the state includes them. */
  acceptFrom: number;
  /** Until this time, accepted samples leave `windowStart` in place. */
  windowStartUntilMs: number;
}

/**
 * Applies the acceptance rule to every sample of the log, and keeps the state and window of every
 * account. The sequencer and the live stream listen to it.
 */
export class SampleLog {
  readonly #windows: SampleWindows;
  readonly #clock: Clock;
  readonly #partitionOf: (key: string) => number;
  readonly #streams = new Map<string, Stream>();
  /** When each account was deleted. */
  readonly #deleted = new Map<string, number>();
  readonly #positions = new Map<number, number>();
  readonly #listeners: SampleListener[] = [];
  #rejected = 0;

  constructor(options: { windows: SampleWindows; clock: Clock; partitionOf: (key: string) => number }) {
    this.#windows = options.windows;
    this.#clock = options.clock;
    this.#partitionOf = options.partitionOf;
  }

  /** Number of samples that were not accepted. */
  get rejected(): number {
    return this.#rejected;
  }

  /** Number of accounts with samples. */
  get size(): number {
    return this.#streams.size;
  }

  /** Every account with samples. */
  streams(): Iterable<AccountStream> {
    return this.#streams.values();
  }

  listen(listener: SampleListener): void {
    this.#listeners.push(listener);
  }

  /** Returns the account's stream, if it has samples. */
  find(key: string): AccountStream | undefined {
    return this.#streams.get(key);
  }

  /** Whether the account is known to have been deleted. */
  isDeleted(key: string): boolean {
    return this.#deleted.has(key);
  }

  /**
   * Whether the accepted sample of this sequence is the record at this offset; false if the sample
   * is no longer kept.
   */
  isAccepted(key: string, sequence: number, offset: number): boolean {
    const stream = this.#streams.get(key);
    if (stream === undefined || sequence < stream.window.first || sequence > stream.window.last) return false;
    return this.#windows.sample(stream.window, sequence).offset === offset;
  }

  /** Returns the offset before which every sample of `partition` has been applied. */
  position(partition: number): number {
    return this.#positions.get(partition) ?? 0;
  }

  /** Returns the sequences that the account's window keeps now. */
  kept(account: SampledAccount): KeptRange {
    this.#windows.trim(account.window, this.#clock.nowMs());
    return keptRange(account);
  }

  /** Returns the frame of the newest sample. */
  newest(account: AccountStream): Buffer {
    return this.#windows.sample(account.window, account.window.last).payload;
  }

  /** Returns frames ready for a socket, from a kept sequence on ({@link SampleWindows.frames}). */
  frames(account: SampledAccount, fromSequence: number, maxBytes: number): { bytes: Buffer; next: number } {
    return this.#windows.frames(account.window, fromSequence, maxBytes);
  }

  /** Returns samples from a kept sequence on as records ({@link SampleWindows.records}). */
  records(account: SampledAccount, fromSequence: number, maxBytes: number): { bytes: Buffer; next: number } {
    return this.#windows.records(account.window, fromSequence, maxBytes);
  }

  /**
   * Returns the sample from which this account can be restored: {@link AccountStream.windowStart}
   * if it is not null, otherwise the oldest kept sample with a known `from`. If no kept sample has
   * a known `from`, returns the newest sample with -1 as `from`.
   */
  windowStartOf(account: AccountStream): SampleCheckpoint["window"] {
    if (account.windowStart !== null) return account.windowStart;
    const { first, last } = this.kept(account);
    for (let sequence = first; sequence <= last; sequence += 1) {
      const sample = this.#windows.sample(account.window, sequence);
      if (sample.from !== FROM_UNKNOWN) return { sequence, from: sample.from, offset: sample.offset };
    }
    return { sequence: account.sequence, from: -1, offset: account.offset };
  }

  /** Sets the offset from which a partition is read. Called before its first record is applied. */
  begin(partition: number, offset: number): void {
    this.#positions.set(partition, offset);
  }

  /** Restores an account from its checkpoint, unless it was deleted. */
  restore(partition: number, key: string, checkpoint: SampleCheckpoint, point: StartingPoint): void {
    if (this.#deleted.has(key)) return;
    const stream = this.#open(partition, key, point);
    if (stream === null) return;
    stream.windowStart = checkpoint.window;
    if (point.keepsWindowStart) stream.windowStartUntilMs = this.#clock.nowMs() + this.#windows.maxAgeMs;
    stream.checkpointed = checkpoint.sequence;
    stream.offset = checkpoint.offset;
    if (!point.restoreFrame) return;
    const { sequence, offset } = checkpoint;
    const sample = { sequence, from: FROM_UNKNOWN, offset, atMs: 0, payload: Buffer.from(checkpoint.frame) };
    this.#windows.append(stream.window, sample, this.#clock.nowMs());
  }

  /** Applies records of a partition, in log order. */
  apply(partition: number, records: readonly SampleRecord[]): void {
    const nowMs = this.#clock.nowMs();
    readSamples.add(records.length);
    for (const record of records) this.#applyRecord(partition, record, nowMs);
    const last = records.at(-1);
    if (last !== undefined) this.#positions.set(partition, Number(last.offset) + 1);
  }

  /** Removes a deleted account with its samples; later samples are not accepted. */
  remove(key: string, deletedAtMs = this.#clock.nowMs()): void {
    if (!this.#deleted.has(key)) this.#deleted.set(key, deletedAtMs);
    const stream = this.#streams.get(key);
    if (stream !== undefined) {
      this.#streams.delete(key);
      for (const listener of this.#listeners) listener.removed?.(stream);
      this.#windows.close(stream.window);
    }
    for (const listener of this.#listeners) listener.deleted?.(key);
  }

  /** Forgets the accounts of a partition that this process no longer reads. */
  drop(partition: number): void {
    for (const [key, stream] of this.#streams) {
      if (stream.partition !== partition) continue;
      this.#streams.delete(key);
      this.#windows.close(stream.window);
    }
    this.#positions.delete(partition);
    for (const listener of this.#listeners) listener.dropped?.(partition);
  }

  /** Frees the memory of samples that are too old; called every few seconds. */
  expire(): void {
    this.#windows.expire(this.#clock.nowMs());
  }

  /** Forgets accounts that were deleted so long ago that no topic has records of them. */
  forgetDeleted(): void {
    const beforeMs = this.#clock.nowMs() - DELETED_KEPT_MS;
    for (const [key, deletedAtMs] of this.#deleted) if (deletedAtMs < beforeMs) this.#deleted.delete(key);
  }

  #applyRecord(partition: number, record: SampleRecord, nowMs: number): void {
    if (isDeletion(record.headers)) return this.remove(record.key);
    const offset = Number(record.offset);
    const range = decodeSampleHeaders(record.headers);
    const known = this.#streams.get(record.key);
    if (known !== undefined && (offset < known.acceptFrom || known.partition !== partition)) return;
    // The topic has grown since this record: the account continues on another partition.
    if (known === undefined && this.#partitionOf(record.key) !== partition) return;
    const state: LogState = known ?? WITHOUT_CHECKPOINT.state;
    if (range === null || this.#deleted.has(record.key) || !acceptSample(state, range, record.value.length)) {
      this.#rejected += 1;
      rejectedSamples.add(1);
      return;
    }
    const stream = known ?? this.#open(partition, record.key, WITHOUT_CHECKPOINT);
    if (stream === null) return;
    const { sequence, from } = range;
    this.#windows.append(
      stream.window,
      { sequence, from, offset, atMs: record.timestampMs, payload: record.value },
      nowMs,
    );
    stream.sequence = sequence;
    stream.to = range.to;
    stream.offset = offset;
    if (nowMs >= stream.windowStartUntilMs) stream.windowStart = null;
    for (const listener of this.#listeners) listener.accepted?.(stream, range);
  }

  #open(partition: number, key: string, point: StartingPoint): Stream | null {
    const account = accountOfKey(key);
    if (account === null) return null;
    const stream: Stream = {
      key,
      ...account,
      partition,
      sequence: point.state.sequence,
      to: point.state.to,
      offset: -1,
      window: this.#windows.open(),
      windowStart: null,
      checkpointed: 0,
      acceptFrom: point.acceptFrom,
      windowStartUntilMs: 0,
    };
    this.#streams.set(key, stream);
    return stream;
  }
}
