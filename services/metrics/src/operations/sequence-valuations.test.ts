import { createLogger } from "@kapi/runtime";
import { eventually, TestClock, valuation } from "@kapi/testkit";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { currentRepeat } from "../domain/account-stream.ts";
import { spanToWire } from "../domain/judge.ts";
import type { SampleSink } from "../domain/ports.ts";
import { SampleWindows } from "../domain/sample-windows.ts";
import { SampleLog, type SampleRecord } from "./sample-log.ts";
import { Sequencer, type ValuationRecord } from "./sequence-valuations.ts";

const SERVER = "5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f";
const ACCOUNTS = ["10000001", "10000002", "10000003"];
const PARTITION = 0;
const logger = createLogger({ service: "metrics-test", level: "silent" });

/** What becomes of a send: acknowledged; in the log, but nobody says so; or lost on its way. */
type Fate = "acknowledged" | "unknown" | "lost";

/** One partition of a log, the reader of it, and the sequencer that writes to it. */
class Partition {
  readonly records: SampleRecord[] = [];
  readonly counted: { key: string; sequence: number; to: number; equity: number; low: number }[] = [];
  /** Keys of accounts whose place is on another partition. */
  readonly elsewhere = new Set<string>();
  readonly sequencer: Sequencer;
  readonly #log: SampleLog;
  #fates: Fate[];
  #read = 0;

  constructor(fates: readonly Fate[], coalesceMs = 0, clock = new TestClock(0)) {
    this.#fates = [...fates];
    const limits = { maxSamples: 300, maxAgeMs: 300_000, budgetBytes: 8 * 1_024 * 1_024, slabBytes: 1_024 * 1_024 };
    this.#log = new SampleLog({ windows: new SampleWindows(limits), clock });
    const sink: SampleSink = {
      write: async (_partition, key, span, frame) => {
        const fate = this.#fates.shift() ?? "acknowledged";
        await Promise.resolve();
        if (fate !== "lost") {
          const headers = spanToWire(span);
          this.records.push({ key, value: frame, headers, offset: BigInt(this.records.length), timestampMs: 0 });
          setImmediate(() => this.read());
        }
        if (fate !== "acknowledged") throw new Error("not acknowledged");
      },
      endOf: () => Promise.resolve(BigInt(this.records.length)),
    };
    this.sequencer = new Sequencer({
      log: this.#log,
      sink,
      progress: { reached: () => Promise.resolve(this.read()), checkpointsReached: () => Promise.resolve() },
      existence: { exist: (accounts) => Promise.resolve(accounts.map(() => true)) },
      isServer: () => true,
      partitionOf: (key) => (this.elsewhere.has(key) ? PARTITION + 1 : PARTITION),
      coalesceMs,
      clock,
      logger,
    });
    this.#log.listen({
      counted: (stream, span) => {
        const frame = JSON.parse(this.#log.newest(stream).toString()) as Record<string, number>;
        const { equity = 0, intervalMinimumEquity: low = 0 } = frame;
        this.counted.push({ key: stream.key, sequence: span.sequence, to: span.to, equity, low });
      },
    });
    this.#log.listen(this.sequencer);
    this.sequencer.assign([PARTITION]);
  }

  /** Checkpoints of all accounts become durable. */
  keepRepeats(): void {
    for (const account of ACCOUNTS) {
      const stream = this.#log.find(`${SERVER}/${account}`);
      const repeat = stream === undefined ? null : currentRepeat(stream);
      if (stream !== undefined && repeat !== null) this.sequencer.repeatKept(stream, repeat);
    }
  }

  /** The process's reader goes to the end of the log. */
  read(): void {
    const fresh = this.records.slice(this.#read);
    this.#read = this.records.length;
    this.#log.apply(PARTITION, fresh);
  }
}

function records(equities: readonly number[], firstOffset = 0): ValuationRecord[] {
  return equities.map((equityMinor, index) => {
    const offset = firstOffset + index;
    const accountNumber = ACCOUNTS[offset % ACCOUNTS.length] ?? "";
    const measuredAt = new Date(offset).toISOString();
    const value = valuation({ serverId: SERVER, accountNumber, equityMinor, balanceMinor: 5_000, measuredAt });
    return { key: `${SERVER}/${accountNumber}`, value: Buffer.from(JSON.stringify(value)), offset: BigInt(offset) };
  });
}

describe("the sequencer", () => {
  it("loses no valuation and repeats no sequence, whichever sends are lost or not acknowledged", async () => {
    const fate = fc.constantFrom<Fate>("acknowledged", "acknowledged", "unknown", "lost");
    const equities = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(fc.array(fate, { maxLength: 40 }), equities, fc.nat(10), async (fates, values, size) => {
        const partition = new Partition(fates);
        const all = records(values);
        for (let start = 0; start < all.length; start += size + 1) {
          await partition.sequencer.take(PARTITION, all.slice(start, start + size + 1));
        }
        await eventually(async () => {
          // What repeats an account's sample is committed once a checkpoint tells of it.
          partition.keepRepeats();
          const { commitOffset } = await partition.sequencer.take(PARTITION, all.slice(-1));
          expect(Number(commitOffset())).toBe(all.length);
        });
        for (const account of ACCOUNTS) {
          const told = partition.counted.filter(({ key }) => key.endsWith(account));
          const own = values.filter((_, offset) => ACCOUNTS[offset % ACCOUNTS.length] === account);
          expect(told.map(({ sequence }) => sequence)).toEqual(told.map((_, index) => index + 1));
          expect(told.at(-1)?.equity).toBe(own.length === 0 ? undefined : (own.at(-1) ?? 0) / 100);
          if (own.length > 0) expect(Math.min(...told.map(({ low }) => low))).toBe(Math.min(...own) / 100);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("holds a valuation back no longer than the interval, with one sweep for all accounts", async () => {
    const clock = new TestClock(0);
    const partition = new Partition([], 1_000, clock);
    await partition.sequencer.take(PARTITION, records([1, 2, 3]));
    await eventually(() => partition.counted.length === 3);
    await partition.sequencer.take(PARTITION, records([4, 5, 6], 3));
    clock.set(900);
    partition.sequencer.sweep(50);
    expect(partition.sequencer.counts.samples).toBe(3);
    clock.set(950);
    partition.sequencer.sweep(50);
    expect(partition.sequencer.counts.samples).toBe(6);
    await eventually(() => partition.counted.length === 6);
  });

  it("refuses what is on another partition than its account's, and goes on", async () => {
    const partition = new Partition([]);
    partition.elsewhere.add(`${SERVER}/${ACCOUNTS[0]}`);
    const all = records([1, 2]);
    const { refused } = await partition.sequencer.take(PARTITION, all);
    expect(refused).toEqual([{ message: all[0], reason: "the partition is not that of the key" }]);
    await eventually(() => partition.counted.some(({ key }) => key === all[1]?.key));
    expect((await partition.sequencer.take(PARTITION, all)).commitOffset()).toBe(2n);
    expect(partition.counted).toHaveLength(1);
  });

  it("commits nothing that neither a judged sample nor a checkpoint has", async () => {
    const clock = new TestClock(0);
    const partition = new Partition([], 1_000, clock);
    await partition.sequencer.take(PARTITION, records([1, 2, 3]));
    await eventually(() => partition.counted.length === 3);
    const repeating = records([1, 7, 3], 3);
    // The first and the last repeat what their accounts' samples say; the second waits.
    expect((await partition.sequencer.take(PARTITION, repeating)).commitOffset()).toBe(3n);
    partition.keepRepeats();
    expect((await partition.sequencer.take(PARTITION, repeating)).commitOffset()).toBe(4n);
  });
});
