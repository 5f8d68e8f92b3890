import { delay } from "@kapi/kernel";

import { AccountWriter } from "../domain/account-writer.ts";
import { type AccountStream, currentRepeat, type Repeat } from "../domain/account-stream.ts";
import { BEFORE_FIRST, type Span } from "../domain/judge.ts";
import { type Reading, valuesFromFrame } from "../domain/reading.ts";
import { type AccountId, frameOf } from "../domain/sample.ts";
import type { SequencerContext } from "./sequencer-context.ts";

/** Longest wait for this process's reader to reach the end of a partition of `metrics.samples`. */
const REACH_END_TIMEOUT_MS = 10_000;
const RECOVERY_RETRY_MS = 500;
/** A valuation from further ahead is refused: as the account's last one it would make all that follow too old. */
const MAX_AHEAD_MS = 24 * 3_600_000;

/**
 * The writer of one partition, from an assignment to the next. It writes only after this process's own reader has
 * reached the end that the partition had when it was assigned, so that it follows whatever another writer left.
 */
export class PartitionSequencer {
  readonly number: number;
  readonly #context: SequencerContext;
  readonly #accounts = new Map<string, AccountWriter>();
  /** Accounts with valuations that no judged sample has yet. */
  readonly #open = new Set<AccountWriter>();
  /** Samples in the order they were cut: which accounts the coalescing interval holds back, soonest first. */
  #cuts: { readonly writer: AccountWriter; readonly atMs: number }[] = [];
  #firstCut = 0;
  #prepared: Promise<void> | null = null;
  #ready = false;
  #recovering = false;
  #closed = false;

  constructor(number: number, context: SequencerContext) {
    this.number = number;
    this.#context = context;
  }

  /** Whether it may write: this process knows all that is in the partition. */
  get ready(): boolean {
    return this.#ready && !this.#closed;
  }

  /** Resolves when it may write. A failure is told, and the next call tries again. */
  async prepare(): Promise<void> {
    if (this.#ready) return;
    this.#prepared ??= this.#catchUp();
    try {
      await this.#prepared;
      this.#ready = true;
    } catch (error) {
      this.#prepared = null;
      throw error;
    }
  }

  /** No sample is cut any more; what waits is read again by the partition's next writer. */
  close(): void {
    this.#closed = true;
  }

  has(key: string): boolean {
    return this.#accounts.has(key);
  }

  /** Takes an account in: from its stream, or as one without samples. */
  add(key: string, account: AccountId, stream: AccountStream | undefined): void {
    const { serverId, accountNumber } = account;
    const writer = new AccountWriter(
      { key, serverId, accountNumber },
      stream === undefined ? BEFORE_FIRST : { sequence: stream.sequence, to: stream.to },
      stream === undefined ? null : valuesFromFrame(this.#context.log.newest(stream)),
      stream === undefined ? null : currentRepeat(stream),
    );
    this.#accounts.set(key, writer);
  }

  /** Takes in a valuation; the answer is why it is refused, or null. */
  take(key: string, reading: Reading, nowMs: number): string | null {
    const writer = this.#accounts.get(key);
    if (writer === undefined) return "the account was deleted";
    if (reading.measuredAtMs > nowMs + MAX_AHEAD_MS) return "measured more than a day ahead";
    const taken = writer.take(reading, nowMs, this.#context.coalesceMs);
    if (taken === "older") return "measured before the valuation before it";
    if (taken === "unchanged") this.#tellRepeat(writer);
    if (taken !== "covered" && writer.firstOpenOffset !== null) this.#open.add(writer);
    if (taken === "due") this.#publish(writer, nowMs);
    return null;
  }

  /** Cuts the samples that the coalescing interval has held back long enough, as far as there is room. */
  sweep(nowMs: number, sweepMs: number): void {
    if (!this.#mayWrite()) return;
    const { coalesceMs } = this.#context;
    while (this.#firstCut < this.#cuts.length && this.#context.hasRoom()) {
      const cut = this.#cuts[this.#firstCut];
      // What would fall due before the next sweep goes now: no valuation is held back longer than the interval.
      if (cut === undefined || cut.atMs + coalesceMs > nowMs + sweepMs) break;
      this.#firstCut += 1;
      const { writer, atMs } = cut;
      const current = writer.publishedAtMs === atMs && this.#accounts.get(writer.key) === writer;
      if (current && writer.waits) this.#publish(writer, nowMs);
    }
    if (this.#firstCut > this.#cuts.length / 2) {
      this.#cuts = this.#cuts.slice(this.#firstCut);
      this.#firstCut = 0;
    }
  }

  /** The log has shown the next sample of an account. */
  counted(stream: AccountStream, span: Span): void {
    const writer = this.#accounts.get(stream.key);
    if (writer === undefined) return;
    const whose = writer.judged(span, () => valuesFromFrame(this.#context.log.newest(stream)));
    if (whose === "another's") this.#context.takenByAnother();
    if (whose === "another's" && writer.waits) this.#publish(writer, this.#context.clock.nowMs());
    if (writer.firstOpenOffset === null) this.#open.delete(writer);
    else this.#tellRepeat(writer);
  }

  /** A checkpoint with this repeat of an account's newest sample is durable. */
  repeatKept(key: string, repeat: Repeat): void {
    const writer = this.#accounts.get(key);
    writer?.repeatKept(repeat);
    if (writer?.firstOpenOffset === null) this.#open.delete(writer);
  }

  removed(key: string): void {
    const writer = this.#accounts.get(key);
    if (writer === undefined) return;
    this.#accounts.delete(key);
    this.#open.delete(writer);
  }

  /** The offset to commit when everything before `next` has been taken in: below the lowest that is not durable yet. */
  commitOffset(next: number): number {
    let lowest = next;
    for (const writer of this.#open) lowest = Math.min(lowest, writer.firstOpenOffset ?? next);
    return lowest;
  }

  /** Resolves when what was sent has been judged, so that only what waits for its next sample is not durable. */
  async judged(): Promise<void> {
    if (this.ready) await this.#reachEnd();
  }

  /** What no sample shows goes into the account's checkpoint, for the partition's next writer. */
  #tellRepeat(writer: AccountWriter): void {
    const { openRepeat } = writer;
    if (openRepeat !== null) this.#context.log.repeated(writer.key, openRepeat);
  }

  #mayWrite(): boolean {
    return this.ready && !this.#recovering;
  }

  #publish(writer: AccountWriter, nowMs: number): void {
    if (!this.#mayWrite()) return;
    const sample = writer.cut(nowMs);
    if (this.#context.coalesceMs > 0) this.#cuts.push({ writer, atMs: nowMs });
    this.#context.send(this.number, writer.key, sample.span, frameOf(writer, sample), () => void this.#recover());
  }

  /**
   * A sample's outcome is unknown. Nothing is guessed: once all this process sent to the partition is settled, its reader
   * goes to the partition's end; what the log has shown by then stands, the rest waits for the next samples.
   */
  async #recover(): Promise<void> {
    if (this.#recovering || this.#closed) return;
    this.#recovering = true;
    while (!this.#closed) {
      try {
        await this.#reachEnd();
        break;
      } catch (error) {
        this.#context.logger.warn({ err: error, partition: this.number }, "the outcome of samples is not known yet");
        await delay(RECOVERY_RETRY_MS);
      }
    }
    this.#recovering = false;
    if (this.#closed) return;
    const nowMs = this.#context.clock.nowMs();
    for (const writer of this.#open) {
      writer.abandon(() => this.#newestOf(writer.key));
      if (writer.isDue(nowMs, this.#context.coalesceMs)) this.#publish(writer, nowMs);
      else if (writer.firstOpenOffset === null) this.#open.delete(writer);
    }
  }

  #newestOf(key: string): ReturnType<typeof valuesFromFrame> {
    const stream = this.#context.log.find(key);
    return stream === undefined ? null : valuesFromFrame(this.#context.log.newest(stream));
  }

  async #catchUp(): Promise<void> {
    await this.#reachEnd();
    await this.#context.progress.checkpointsReached(this.number, REACH_END_TIMEOUT_MS);
  }

  async #reachEnd(): Promise<void> {
    await this.#context.settled(this.number);
    const end = await this.#context.sink.endOf(this.number);
    await this.#context.progress.reached(this.number, end, REACH_END_TIMEOUT_MS);
  }
}
