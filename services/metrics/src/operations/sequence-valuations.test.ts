import { createLogger } from "@kapi/runtime";
import { eventually, TestClock, valuation } from "@kapi/testkit";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { encodeSampleHeaders } from "@kapi/contracts/codec";
import type { SampleSink } from "../domain/ports.ts";
import { MAX_CLOCK_DIFFERENCE_MS, MEASURED_AHEAD, UNKNOWN_ACCOUNT, WRONG_PARTITION } from "../domain/rejection.ts";
import { SampleWindows } from "../domain/sample-windows.ts";
import { MAX_PARKED_ACCOUNTS, MAX_PARKED_VALUATIONS } from "./parked-accounts.ts";
import { Rejections } from "./rejections.ts";
import { SampleLog, type SampleRecord } from "./sample-log.ts";
import { MAX_SENDS_IN_FLIGHT, Sequencer, type RawValuation } from "./sequence-valuations.ts";
import { UnreadableRecords } from "./unreadable-records.ts";

const SERVER = "5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f";
const ACCOUNTS = ["10000001", "10000002", "10000003"];
const PARTITION = 0;
const SAMPLES_PER_MINUTE = 3;
const POLLED_OFTEN = { intervalMs: 1 };
const logger = createLogger({ service: "metrics-test", level: "silent" });

/** The outcome of a send: acknowledged; in the log without acknowledgement; or lost. */
type Fate = "acknowledged" | "unknown" | "lost";

/** One partition of a log, its reader, and the sequencer that writes to it. */
class Partition {
  readonly records: SampleRecord[] = [];
  readonly accepted: { key: string; sequence: number; to: number; equity: number; low: number }[] = [];
  /** Keys of accounts that belong to another partition. */
  readonly elsewhere = new Set<string>();
  readonly rejected: { key: string; offset: bigint; reason: string }[] = [];
  /** Number of rejected valuations by reason, as `metrics.valuations.rejected` counts them. */
  readonly rejectedByReason: Record<string, number> = {};
  /** Numbers of accounts that do not exist, as the account service reports. */
  readonly unknown = new Set<string>();
  /** Number of accounts in each call to the account service. */
  readonly asked: number[] = [];
  /** Whether every call to the account service fails. */
  unavailable = false;
  /** Keys of accounts whose samples reach the log, but are never acknowledged. */
  readonly hanging = new Set<string>();
  readonly sequencer: Sequencer;
  readonly #log: SampleLog;
  #fates: Fate[];
  #read = 0;

  constructor(fates: readonly Fate[], coalesceMs = 0, clock = new TestClock(0)) {
    this.#fates = [...fates];
    const limits = { maxSamples: 300, maxAgeMs: 300_000, budgetBytes: 8 * 1_024 * 1_024, slabBytes: 1_024 * 1_024 };
    this.#log = new SampleLog({ windows: new SampleWindows(limits), clock, partitionOf: () => 0 });
    const sink: SampleSink = {
      write: async (_partition, key, range, frame) => {
        const fate = this.#fates.shift() ?? "acknowledged";
        await Promise.resolve();
        if (fate !== "lost") {
          const headers = encodeSampleHeaders(range);
          this.records.push({ key, value: frame, headers, offset: BigInt(this.records.length), timestampMs: 0 });
          setImmediate(() => this.read());
        }
        if (this.hanging.has(key)) await new Promise<void>(() => undefined);
        if (fate !== "acknowledged") throw new Error("not acknowledged");
      },
      endOf: () => Promise.resolve(BigInt(this.records.length)),
    };
    const rejections = new Rejections({
      sink: {
        write: (_partition, { key, offset }, reason) => {
          this.rejected.push({ key, offset, reason });
          return Promise.resolve();
        },
      },
      samplesPerMinute: SAMPLES_PER_MINUTE,
      clock,
      logger,
    });
    this.sequencer = new Sequencer({
      log: this.#log,
      sink,
      progress: { reached: () => Promise.resolve(this.read()) },
      existence: {
        forget: () => undefined,
        exist: (accounts) => {
          this.asked.push(accounts.length);
          if (this.unavailable) return Promise.reject(new Error("the account service is unavailable"));
          return Promise.resolve(accounts.map(({ accountNumber }) => !this.unknown.has(accountNumber)));
        },
      },
      rejections: {
        reject: (...rejected) => {
          const [, , { reason }, valuations = 1] = rejected;
          this.rejectedByReason[reason] = (this.rejectedByReason[reason] ?? 0) + valuations;
          rejections.reject(...rejected);
        },
      },
      unreadable: new UnreadableRecords({ clock, logger }),
      isServer: () => true,
      partitionOf: (key) => (this.elsewhere.has(key) ? PARTITION + 1 : PARTITION),
      coalesceMs,
      clock,
      logger,
    });
    this.#log.listen({
      accepted: (stream, range) => {
        const frame = JSON.parse(this.#log.newest(stream).toString()) as Record<string, number>;
        const { equity = 0, intervalMinimumEquity: low = 0 } = frame;
        this.accepted.push({ key: stream.key, sequence: range.sequence, to: range.to, equity, low });
      },
    });
    this.#log.listen(this.sequencer);
    this.sequencer.assign([PARTITION]);
  }

  /** Reads the log to its end. */
  read(): void {
    const fresh = this.records.slice(this.#read);
    this.#read = this.records.length;
    this.#log.apply(PARTITION, fresh);
  }
}

function records(equities: readonly number[], firstOffset = 0): RawValuation[] {
  return equities.map((equityMinor, index) => {
    const offset = firstOffset + index;
    return record(ACCOUNTS[offset % ACCOUNTS.length] ?? "", offset, { equityMinor });
  });
}

/** A valuation of an account; by default measured `offset` milliseconds after 1970 began. */
function record(accountNumber: string, offset: number, change: { equityMinor?: number; ms?: number }): RawValuation {
  const { equityMinor = 5_000, ms = offset } = change;
  const measuredAt = new Date(ms).toISOString();
  const value = valuation({ serverId: SERVER, accountNumber, equityMinor, balanceMinor: 5_000, measuredAt });
  return { key: `${SERVER}/${accountNumber}`, value: Buffer.from(JSON.stringify(value)), offset: BigInt(offset) };
}

describe("the sequencer", () => {
  it("loses no valuation and repeats no sequence when sends are lost or not acknowledged", async () => {
    const fate = fc.constantFrom<Fate>("acknowledged", "acknowledged", "unknown", "lost");
    const equities = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(fc.array(fate, { maxLength: 40 }), equities, fc.nat(10), async (fates, values, size) => {
        const partition = new Partition(fates);
        const all = records(values);
        for (let start = 0; start < all.length; start += size + 1) {
          await partition.sequencer.addValuations(PARTITION, all.slice(start, start + size + 1));
        }
        await eventually(async () => {
          const { commitOffset } = await partition.sequencer.addValuations(PARTITION, all.slice(-1));
          expect(Number(commitOffset())).toBe(all.length);
        }, POLLED_OFTEN);
        for (const account of ACCOUNTS) {
          const samples = partition.accepted.filter(({ key }) => key.endsWith(account));
          const own = values.filter((_, offset) => ACCOUNTS[offset % ACCOUNTS.length] === account);
          expect(samples.map(({ sequence }) => sequence)).toEqual(samples.map((_, index) => index + 1));
          expect(samples.at(-1)?.equity).toBe(own.length === 0 ? undefined : (own.at(-1) ?? 0) / 100);
          if (own.length > 0) expect(Math.min(...samples.map(({ low }) => low))).toBe(Math.min(...own) / 100);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("delays a valuation no longer than the interval; one sweep serves all accounts", async () => {
    const clock = new TestClock(0);
    const partition = new Partition([], 1_000, clock);
    await partition.sequencer.addValuations(PARTITION, records([1, 2, 3]));
    await eventually(() => partition.accepted.length === 3);
    await partition.sequencer.addValuations(PARTITION, records([4, 5, 6], 3));
    clock.set(900);
    partition.sequencer.sweep(50);
    expect(partition.sequencer.counts.samples).toBe(3);
    clock.set(950);
    partition.sequencer.sweep(50);
    expect(partition.sequencer.counts.samples).toBe(6);
    await eventually(() => partition.accepted.length === 6);
  });

  it("cuts a sample of an account's last valuation, even if the valuation arrives after the last sweep of the interval", async () => {
    const clock = new TestClock(0);
    const partition = new Partition([], 1_000, clock);
    await partition.sequencer.addValuations(PARTITION, records([1, 2, 3]));
    await eventually(() => partition.accepted.length === 3);
    clock.set(970);
    partition.sequencer.sweep(50);
    clock.set(990);
    await partition.sequencer.addValuations(PARTITION, records([4, 5, 6], 3));
    expect(partition.sequencer.counts.samples).toBe(3);
    clock.set(1_020);
    partition.sequencer.sweep(50);
    expect(partition.sequencer.counts.samples).toBe(6);
    await eventually(() => partition.accepted.length === 6);
  });

  it("delays no valuation for longer than the interval if the clock is set back", async () => {
    const clock = new TestClock(600_000);
    const partition = new Partition([], 1_000, clock);
    await partition.sequencer.addValuations(PARTITION, records([1, 2, 3]));
    await eventually(() => partition.accepted.length === 3);
    await partition.sequencer.addValuations(PARTITION, records([4, 5, 6], 3));
    clock.set(0);
    partition.sequencer.sweep(50);
    expect(partition.sequencer.counts.samples).toBe(6);
    await eventually(() => partition.accepted.length === 6);
  });

  it("delays a valuation at most two intervals if the clock was set back by less than an interval before the valuation arrived", async () => {
    const clock = new TestClock(600_000);
    const partition = new Partition([], 1_000, clock);
    await partition.sequencer.addValuations(PARTITION, records([1, 2, 3]));
    await eventually(() => partition.accepted.length === 3);
    clock.set(599_880);
    partition.sequencer.sweep(50);
    clock.set(600_030);
    await partition.sequencer.addValuations(PARTITION, records([4, 5, 6], 3));
    expect(partition.sequencer.counts.samples).toBe(3);
    for (const nowMs of [600_500, 601_000, 602_000]) {
      clock.set(nowMs);
      partition.sequencer.sweep(50);
    }
    expect(partition.sequencer.counts.samples).toBe(6);
    await eventually(() => partition.accepted.length === 6);
  });

  it("rejects valuations on another partition than that of their account, and continues", async () => {
    const partition = new Partition([]);
    partition.elsewhere.add(`${SERVER}/${ACCOUNTS[0]}`);
    const all = records([1, 2]);
    await partition.sequencer.addValuations(PARTITION, all);
    expect(partition.rejected).toEqual([{ key: all[0]?.key, offset: 0n, reason: WRONG_PARTITION.fault }]);
    await eventually(() => partition.accepted.some(({ key }) => key === all[1]?.key));
    expect((await partition.sequencer.addValuations(PARTITION, all)).commitOffset()).toBe(2n);
    expect(partition.accepted).toHaveLength(1);
  });

  it("commits only valuations that an accepted sample includes or equals", async () => {
    const clock = new TestClock(0);
    const partition = new Partition([], 1_000, clock);
    await partition.sequencer.addValuations(PARTITION, records([1, 2, 3]));
    await eventually(() => partition.accepted.length === 3);
    // The first and the last equal their accounts' samples; the second waits.
    expect((await partition.sequencer.addValuations(PARTITION, records([1, 7, 3], 3))).commitOffset()).toBe(4n);
  });

  it("reports a limited number of rejected valuations per reason and minute, and no duplicate valuation", async () => {
    const clock = new TestClock(0);
    const partition = new Partition([], 0, clock);
    const bad = Array.from({ length: 10 }, (_, index) => ({ key: "", value: Buffer.from("{"), offset: BigInt(index) }));
    const reported = (): number => partition.rejected.length;
    await partition.sequencer.addValuations(PARTITION, bad);
    expect(reported()).toBe(SAMPLES_PER_MINUTE);
    partition.elsewhere.add(`${SERVER}/${ACCOUNTS[0]}`);
    await partition.sequencer.addValuations(PARTITION, records([1, 2, 3, 1], 12));
    expect(reported()).toBe(SAMPLES_PER_MINUTE + 2);
    clock.set(60_000);
    await partition.sequencer.addValuations(PARTITION, bad);
    expect(reported()).toBe(2 * SAMPLES_PER_MINUTE + 2);
    const [, again] = records([1, 2], 0);
    if (again !== undefined) await partition.sequencer.addValuations(PARTITION, [{ ...again, offset: 100n }]);
    expect(reported()).toBe(2 * SAMPLES_PER_MINUTE + 2);
  });
});

describe("accounts whose existence is not known yet", () => {
  it("are parked: no valuation and no lowest equity is lost, none of their offsets is committed, and other accounts continue", async () => {
    const partition = new Partition([]);
    await partition.sequencer.addValuations(PARTITION, records([1, 2], 0));
    await eventually(() => partition.accepted.length === 2);
    partition.unavailable = true;
    const parked = `${SERVER}/${ACCOUNTS[2]}`;
    const { commitOffset } = await partition.sequencer.addValuations(
      PARTITION,
      records([900, 4, 5, 300, 6, 7, 500], 2),
    );
    await eventually(() => partition.accepted.length === 6 && partition.asked.length > 1);
    expect(partition.accepted.filter(({ key }) => key === parked)).toEqual([]);
    expect(commitOffset()).toBe(2n);
    partition.unavailable = false;
    await eventually(() => commitOffset() === 9n);
    const [, , ...rest] = partition.accepted;
    const samples = rest
      .filter(({ key }) => key === parked)
      .map(({ sequence, to, equity, low }) => [sequence, to, equity, low]);
    expect(samples).toEqual([
      [1, 2, 9, 9],
      [2, 5, 3, 3],
      [3, 8, 5, 3],
    ]);
    expect(partition.rejected).toEqual([]);
  });

  it("keep the offsets of waiting valuations uncommitted while too many sends are running", async () => {
    const partition = new Partition([]);
    const of = (account: number, equities: readonly number[], firstOffset: number): RawValuation[] =>
      equities.map((equityMinor, index) => record(ACCOUNTS[account] ?? "", firstOffset + index, { equityMinor }));
    await partition.sequencer.addValuations(PARTITION, of(0, [1], 0));
    await eventually(() => partition.accepted.length === 1);
    partition.unavailable = true;
    await partition.sequencer.addValuations(PARTITION, of(1, [900, 300, 500], 1));
    partition.hanging.add(`${SERVER}/${ACCOUNTS[0]}`);
    const busy = Array.from({ length: MAX_SENDS_IN_FLIGHT }, (_, index) => index + 2);
    const { commitOffset } = await partition.sequencer.addValuations(PARTITION, of(0, busy, 4));
    expect(commitOffset()).toBe(1n);
    partition.unavailable = false;
    // The first valuation of the parked account is in a sample; the second waits for the sends.
    await eventually(() => partition.accepted.length === MAX_SENDS_IN_FLIGHT + 2);
    expect(commitOffset()).toBe(2n);
  });

  it("are rejected if they do not exist, and their next valuation causes another call to the account service", async () => {
    const partition = new Partition([]);
    const [first = ""] = ACCOUNTS;
    partition.unknown.add(first);
    const { commitOffset } = await partition.sequencer.addValuations(PARTITION, records([1, 2, 3, 4], 0));
    await eventually(() => commitOffset() === 4n);
    expect(partition.rejected).toMatchObject([
      { key: `${SERVER}/${first}`, offset: 0n, reason: "the account is unknown" },
    ]);
    partition.unknown.clear();
    await partition.sequencer.addValuations(PARTITION, records([5], 6));
    await eventually(() => partition.accepted.some(({ key, to }) => key.endsWith(first) && to === 6));
  });

  it("are reported as unknown if they do not exist: at the first valuation that was not rejected for another reason, and no valuation is rejected twice", async () => {
    const partition = new Partition([]);
    const [accountNumber = ""] = ACCOUNTS;
    partition.unknown.add(accountNumber);
    const key = `${SERVER}/${accountNumber}`;
    const ahead = { ms: MAX_CLOCK_DIFFERENCE_MS + 100 };
    const all = [7, 8].map((offset) => record(accountNumber, offset, ahead));
    all.push(...[9, 10].map((offset) => record(accountNumber, offset, {})));
    const { commitOffset } = await partition.sequencer.addValuations(PARTITION, all);
    await eventually(() => commitOffset() === 11n);
    expect(partition.rejectedByReason).toEqual({ measured_ahead: 2, unknown_account: 2 });
    expect(partition.rejected).toEqual([
      { key, offset: 7n, reason: MEASURED_AHEAD.fault },
      { key, offset: 8n, reason: MEASURED_AHEAD.fault },
      { key, offset: 9n, reason: UNKNOWN_ACCOUNT.fault },
    ]);
  });

  it("are not reported as unknown if all their valuations were rejected for another reason", async () => {
    const partition = new Partition([]);
    const [accountNumber = ""] = ACCOUNTS;
    partition.unknown.add(accountNumber);
    const key = `${SERVER}/${accountNumber}`;
    await partition.sequencer.addValuations(PARTITION, [record(accountNumber, 7, { ms: 1e9 })]);
    await eventually(() => partition.asked.length === 1);
    await partition.sequencer.addValuations(PARTITION, records([1], 9));
    await eventually(() => partition.rejected.length === 2);
    expect(partition.rejectedByReason).toEqual({ measured_ahead: 1, unknown_account: 1 });
    expect(partition.rejected).toEqual([
      { key, offset: 7n, reason: MEASURED_AHEAD.fault },
      { key, offset: 9n, reason: UNKNOWN_ACCOUNT.fault },
    ]);
  });

  it("keep a limited number of valuations each; above the limit, all their valuations become one sample, with the lowest equity", async () => {
    const partition = new Partition([]);
    partition.unavailable = true;
    const equities = Array.from({ length: MAX_PARKED_VALUATIONS + 10 }, (_, index) => 10_000 + index);
    equities[MAX_PARKED_VALUATIONS] = 100;
    const [accountNumber = ""] = ACCOUNTS;
    const all = equities.map((equityMinor, index) => record(accountNumber, index, { equityMinor }));
    const { commitOffset } = await partition.sequencer.addValuations(PARTITION, all);
    expect(commitOffset()).toBe(0n);
    partition.unavailable = false;
    await eventually(() => commitOffset() === BigInt(all.length));
    expect(partition.accepted).toMatchObject([{ sequence: 1, to: all.length - 1, low: 1 }]);
  });

  it("are limited in number; at the limit the partition waits, and no valuation is lost", async () => {
    const partition = new Partition([]);
    partition.unavailable = true;
    const all = Array.from({ length: MAX_PARKED_ACCOUNTS + 1 }, (_, index) =>
      record(String(20_000_000 + index), index, { ms: 0 }),
    );
    await expect(partition.sequencer.addValuations(PARTITION, all)).rejects.toThrow("too many accounts wait");
    partition.unavailable = false;
    await eventually(async () => {
      const { commitOffset } = await partition.sequencer.addValuations(PARTITION, all);
      expect(commitOffset()).toBe(BigInt(all.length));
    });
    expect(partition.accepted.map(({ sequence }) => sequence)).toEqual(all.map(() => 1));
  });
});
