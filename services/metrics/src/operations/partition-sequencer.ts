import type { AccountRef } from "@kapi/contracts";
import { type SampleRange, copyOf } from "@kapi/contracts/codec";
import { retry } from "@kapi/kernel";
import { RetryableError } from "@kapi/kafka";

import { AccountWriter } from "../domain/account-writer.ts";
import type { AccountStream } from "../domain/account-stream.ts";
import { BEFORE_FIRST } from "../domain/acceptance-rule.ts";
import { decodeLiveFrame, encodeLiveFrame } from "../domain/codec/live-frame.ts";
import type { MeasuredValues, ValuationRecord } from "../domain/valuation-record.ts";
import { DELETED_ACCOUNT, type Rejection, UNKNOWN_ACCOUNT } from "../domain/rejection.ts";
import { type ParkedAccount, ParkedAccounts } from "./parked-accounts.ts";
import type { SequencerContext } from "./sequencer-context.ts";

/** Time limit for this process's reader to reach the end of a partition of `metrics.samples`. */
const REACH_END_TIMEOUT_MS = 10_000;
/** First pause after a failure to read the outcome of unacknowledged samples. */
const RECOVERY_RETRY_MS = 500;

/** The time at which an account's sample was cut. */
interface Cut {
  readonly writer: AccountWriter;
  readonly atMs: number;
}

/**
 * The writer of one partition, for one assignment. It writes only after this process's reader has
 * reached the end that the partition had at the assignment. So its samples follow the samples of
 * the previous writer.
 */
export class PartitionSequencer {
  readonly number: number;
  readonly #context: SequencerContext;
  readonly #accounts = new Map<string, AccountWriter>();
  /** Accounts with valuations that no accepted sample includes yet. */
  readonly #open = new Set<AccountWriter>();
  /** While an account's existence is unknown, its valuations wait and no sample is written. */
  readonly #parked: ParkedAccounts;
  /** The latest cuts, in order of time. A cut delays its account's next sample. */
  #cuts: Cut[] = [];
  /** Index of the first cut that no sweep has handled. */
  #firstCut = 0;
  #prepared: Promise<void> | null = null;
  #ready = false;
  #recovering = false;
  #closed = false;

  constructor(number: number, context: SequencerContext) {
    this.number = number;
    this.#context = context;
    this.#parked = new ParkedAccounts({
      existence: context.existence,
      exists: (account) => this.#unpark(account),
      unknown: ({ key, valuations, waiting }) => {
        const offset = this.#accounts.get(key)?.firstOpenOffset ?? waiting?.[0]?.offset;
        this.#forget(key);
        // All its valuations were rejected before.
        if (offset === undefined) return;
        const first = { key, value: null, offset: BigInt(offset) };
        context.rejections.reject(number, first, UNKNOWN_ACCOUNT, valuations);
      },
      logger: context.logger,
    });
  }

  /** Whether this process may write: it has read the partition to its end. */
  get ready(): boolean {
    return this.#ready && !this.#closed;
  }

  /** Resolves when this process may write. Rejects on a failure; the next call tries again. */
  async prepare(): Promise<void> {
    if (this.#ready) return;
    this.#prepared ??= this.#reachEnd();
    try {
      await this.#prepared;
      this.#ready = true;
    } catch (error) {
      this.#prepared = null;
      throw error;
    }
  }

  /** Stops cutting samples. The partition's next writer reads the waiting valuations again. */
  close(): void {
    this.#closed = true;
    this.#parked.close();
  }

  has(key: string): boolean {
    return this.#accounts.has(key);
  }

  /** Adds an account that has samples. */
  add(key: string, stream: AccountStream): void {
    const { serverId, accountNumber, sequence, to } = stream;
    const newest = this.#newestOf(stream);
    this.#accounts.set(key, new AccountWriter({ key, serverId, accountNumber }, { sequence, to }, newest));
  }

  /**
   * Adds an account without samples. Its valuations wait until the account service confirms that it
   * exists.
   * @throws RetryableError while the maximum number of accounts is parked.
   */
  park(key: string, account: AccountRef): void {
    if (!this.#parked.add(key, account)) throw new RetryableError("too many accounts wait for the account service");
    const { serverId, accountNumber } = account;
    this.#accounts.set(key, new AccountWriter({ key, serverId, accountNumber }, BEFORE_FIRST, null));
  }

  /**
   * Adds a valuation of an added or parked account. Returns its rejection, or null. Rejections of
   * parked accounts' valuations are reported here, so null is returned for them.
   */
  addValuation(key: string, valuation: ValuationRecord, nowMs: number): Rejection | null {
    const writer = this.#accounts.get(key);
    if (writer === undefined) return DELETED_ACCOUNT;
    const parked = this.#parked.find(key);
    if (parked === undefined) return this.#addToWriter(writer, valuation, nowMs);
    for (const one of this.#parked.keep(parked, valuation)) this.#addParked(parked, writer, one, nowMs);
    return null;
  }

  /**
   * Passes a parked account's valuation to the writer. If it is rejected, the rejection is reported
   * without the value of the record, and the valuation no longer counts for the account.
   */
  #addParked(parked: ParkedAccount, writer: AccountWriter, valuation: ValuationRecord, nowMs: number): void {
    const rejection = this.#addToWriter(writer, valuation, nowMs);
    if (rejection === null) return;
    parked.valuations -= 1;
    const record = { key: writer.key, value: null, offset: BigInt(valuation.offset) };
    this.#context.rejections.reject(this.number, record, rejection);
  }

  #addToWriter(writer: AccountWriter, valuation: ValuationRecord, nowMs: number): Rejection | null {
    const outcome = writer.addValuation(valuation, nowMs, this.#context.coalesceMs);
    if (typeof outcome === "object") return outcome;
    if (outcome !== "covered" && writer.firstOpenOffset !== null) this.#open.add(writer);
    if (outcome === "due") this.#publish(writer, nowMs);
    return null;
  }

  /**
   * Cuts the samples whose coalescing interval is over, while more samples may be sent. Called
   * every `sweepMs`.
   */
  sweep(nowMs: number, sweepMs: number): void {
    if (!this.#mayWrite()) return;
    const { coalesceMs } = this.#context;
    const kept: Cut[] = [];
    while (this.#firstCut < this.#cuts.length && this.#context.hasRoom()) {
      const cut = this.#cuts[this.#firstCut];
      if (cut === undefined) break;
      // Also cut samples that are due before the next sweep, so that no valuation waits longer than
      // the interval.
      const leftMs = cut.atMs + coalesceMs - (nowMs + sweepMs);
      // More than the interval is left only if the clock was set back.
      if (leftMs > 0 && leftMs <= coalesceMs) break;
      this.#firstCut += 1;
      const { writer, atMs } = cut;
      if (writer.publishedAtMs !== atMs || this.#accounts.get(writer.key) !== writer) continue;
      if (writer.waits) this.#publish(writer, nowMs);
      // This cut still delays later valuations.
      else if (atMs + coalesceMs > nowMs) kept.push(cut);
    }
    this.#cuts.splice(this.#firstCut - kept.length, kept.length, ...kept);
    this.#firstCut -= kept.length;
    if (this.#firstCut > this.#cuts.length / 2) {
      this.#cuts = this.#cuts.slice(this.#firstCut);
      this.#firstCut = 0;
    }
  }

  /** Applies the next accepted sample of an account. */
  accepted(stream: AccountStream, range: SampleRange): void {
    const writer = this.#accounts.get(stream.key);
    if (writer === undefined) return;
    const whose = writer.accept(range, () => this.#newestOf(stream));
    const parked = this.#parked.find(stream.key);
    if (parked?.exists === false) void this.#unpark(parked);
    if (whose === "foreign") this.#context.countForeignSample();
    if (whose === "foreign" && writer.waits) this.#publish(writer, this.#context.clock.nowMs());
    if (writer.firstOpenOffset === null) this.#open.delete(writer);
  }

  /** Removes a deleted account and its valuations. */
  removed(key: string): void {
    const parked = this.#parked.find(key);
    if (parked !== undefined) this.#parked.remove(parked);
    this.#forget(key);
  }

  /**
   * The offset to commit once every valuation before `next` has been added: the lowest offset that
   * is not durable yet.
   */
  commitOffset(next: number): number {
    let lowest = Math.min(next, this.#parked.lowestWaitingOffset ?? next);
    for (const writer of this.#open) lowest = Math.min(lowest, writer.firstOpenOffset ?? next);
    return lowest;
  }

  /**
   * Resolves when this process has read all samples that it sent. Then only waiting valuations are
   * not durable.
   */
  async awaitAcceptance(): Promise<void> {
    if (this.ready) await this.#reachEnd();
  }

  /**
   * The account exists: passes its waiting valuations to the writer, in log order. A valuation that
   * arrives meanwhile waits behind them.
   */
  async #unpark(parked: ParkedAccount): Promise<void> {
    parked.exists = true;
    const writer = this.#accounts.get(parked.key);
    const { clock, coalesceMs } = this.#context;
    if (writer?.isDue(clock.nowMs(), coalesceMs) === true) this.#publish(writer, clock.nowMs());
    for (;;) {
      await this.#context.room();
      if (this.#closed || this.#parked.find(parked.key) !== parked) return;
      const valuation = this.#parked.next(parked);
      if (writer === undefined || valuation === undefined) break;
      this.#addParked(parked, writer, valuation, clock.nowMs());
    }
    this.#parked.remove(parked);
  }

  #forget(key: string): void {
    const writer = this.#accounts.get(key);
    if (writer === undefined) return;
    this.#accounts.delete(key);
    this.#open.delete(writer);
  }

  #mayWrite(): boolean {
    return this.ready && !this.#recovering;
  }

  #publish(writer: AccountWriter, nowMs: number): void {
    if (!this.#mayWrite() || this.#parked.find(writer.key)?.exists === false) return;
    const sample = writer.cut(nowMs);
    if (this.#context.coalesceMs > 0) this.#cuts.push({ writer, atMs: nowMs });
    this.#context.send(
      this.number,
      writer.key,
      sample.range,
      encodeLiveFrame(writer, sample),
      () => void this.#recover(),
    );
  }

  /**
   * Recovers from a send with an unknown outcome. Once all sends to the partition have ended, the
   * reader reads to the partition's end. Samples that are in the log by then are final. All other
   * samples that were sent are dropped, and their valuations become part of the next samples.
   */
  async #recover(): Promise<void> {
    if (this.#recovering || this.#closed) return;
    this.#recovering = true;
    await retry(() => this.#reachEnd(), {
      backOff: { firstMs: RECOVERY_RETRY_MS },
      onFailure: (error) =>
        this.#context.logger.warn({ err: error, partition: this.number }, "the outcome of samples is still unknown"),
    });
    this.#recovering = false;
    if (this.#closed) return;
    const nowMs = this.#context.clock.nowMs();
    for (const writer of this.#open) {
      writer.abandon(() => {
        const stream = this.#context.log.find(writer.key);
        return stream === undefined ? null : this.#newestOf(stream);
      });
      if (writer.isDue(nowMs, this.#context.coalesceMs)) this.#publish(writer, nowMs);
      else if (writer.firstOpenOffset === null) this.#open.delete(writer);
    }
  }

  /** Decodes the values of an account's newest sample; null if they cannot be decoded. */
  #newestOf(stream: AccountStream): MeasuredValues | null {
    const content = decodeLiveFrame(this.#context.log.newest(stream));
    if (!("fault" in content)) return { ...content.values, measuredAt: copyOf(content.values.measuredAt) };
    this.#context.unreadable.report("sample", stream.key, content);
    return null;
  }

  /**
   * Waits for the running sends to the partition, then until this process has read every sample
   * that the partition has at that time.
   */
  async #reachEnd(): Promise<void> {
    if (this.#closed) return;
    await this.#context.settled(this.number);
    const end = await this.#context.sink.endOf(this.number);
    await this.#context.progress.reached(this.number, end, REACH_END_TIMEOUT_MS);
  }
}
