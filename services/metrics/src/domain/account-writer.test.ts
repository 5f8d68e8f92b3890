import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { AccountWriter } from "./account-writer.ts";
import { type SampleRange, decodeSampleHeaders, encodeSampleHeaders } from "@kapi/contracts/codec";
import { BEFORE_FIRST, acceptSample, type LogState, sameRange } from "./acceptance-rule.ts";
import type { ValuationRecord } from "./valuation-record.ts";
import {
  MAX_CLOCK_DIFFERENCE_MS,
  MAX_DUPLICATE_AGE_MS,
  MEASURED_AHEAD,
  MEASURED_BEFORE,
  DUPLICATE,
} from "./rejection.ts";
import type { Sample } from "./sample.ts";

const ACCOUNT = { key: "s/1001", serverId: "s", accountNumber: "1001" };
const COALESCE_MS = 1_000;

function valuation(offset: number, change: Partial<ValuationRecord> = {}): ValuationRecord {
  return {
    offset,
    measuredAt: new Date(offset).toISOString(),
    measuredAtMs: offset,
    balanceMinor: 100_00,
    equityMinor: 100_00,
    marginMinor: 0,
    freeMarginMinor: 100_00,
    marginLevel: 0,
    openPositionCount: 1,
    ...change,
  };
}

function writerAfterFirst(): AccountWriter {
  const writer = new AccountWriter(ACCOUNT, BEFORE_FIRST, null);
  expect(writer.addValuation(valuation(10), 0, COALESCE_MS)).toBe("due");
  const { range } = writer.cut(0);
  expect(writer.accept(range, () => null)).toBe("own");
  return writer;
}

describe("the acceptance rule", () => {
  it("accepts only a sample with the last sequence + 1, the last `to` as `from`, a higher `to` and a valid size", () => {
    const state = { sequence: 4, to: 70 };
    expect(acceptSample(state, { sequence: 5, from: 70, to: 71 }, 10)).toBe(true);
    expect(acceptSample(state, { sequence: 4, from: 70, to: 71 }, 10)).toBe(false);
    expect(acceptSample(state, { sequence: 6, from: 70, to: 71 }, 10)).toBe(false);
    expect(acceptSample(state, { sequence: 5, from: 69, to: 71 }, 10)).toBe(false);
    expect(acceptSample(state, { sequence: 5, from: 70, to: 70 }, 10)).toBe(false);
    expect(acceptSample(state, { sequence: 5, from: 70, to: 71 }, 0)).toBe(false);
    expect(acceptSample(state, { sequence: 5, from: 70, to: 71 }, 5_000)).toBe(false);
  });
});

describe("the headers of a sample", () => {
  it("are decoded to the encoded range, and rejected if a header is missing or malformed", () => {
    const range = { sequence: 1, from: -1, to: 0 };
    expect(decodeSampleHeaders(encodeSampleHeaders(range))).toEqual(range);
    for (const bad of ["", "1.5", "-2", "01", "1e3", "9".repeat(17), " 1"]) {
      expect(decodeSampleHeaders({ ...encodeSampleHeaders(range), sequence: bad })).toBeNull();
    }
    expect(decodeSampleHeaders({ sequence: "1", from: "0" })).toBeNull();
  });
});

describe("a writer of one account", () => {
  it("cuts the first sample at once and the next sample only after COALESCE_MS, or if the clock was set back", () => {
    const writer = writerAfterFirst();
    expect(writer.addValuation(valuation(11, { equityMinor: 99_00 }), 400, COALESCE_MS)).toBe("waits");
    expect(writer.isDue(999, COALESCE_MS)).toBe(false);
    expect(writer.isDue(1_000, COALESCE_MS)).toBe(true);
    // The clock was set back.
    expect(writer.isDue(-60_000, COALESCE_MS)).toBe(true);
  });

  it("cuts a sample at once when the balance or the number of open positions changes", () => {
    for (const change of [{ balanceMinor: 1 }, { openPositionCount: 2 }]) {
      const writer = writerAfterFirst();
      expect(writer.addValuation(valuation(11, { equityMinor: 99_00 }), 1, COALESCE_MS)).toBe("waits");
      expect(writer.addValuation(valuation(12, { equityMinor: 99_00, ...change }), 2, COALESCE_MS)).toBe("due");
    }
  });

  it("cuts a sample with the newest values, and the interval's lowest equity with its time", () => {
    const writer = writerAfterFirst();
    writer.addValuation(valuation(11, { equityMinor: 90_00 }), 1, COALESCE_MS);
    writer.addValuation(valuation(12, { equityMinor: 80_00 }), 2, COALESCE_MS);
    writer.addValuation(valuation(13, { equityMinor: 95_00 }), 3, COALESCE_MS);
    const sample = writer.cut(1_000);
    expect(sample.values.equityMinor).toBe(95_00);
    expect(sample.minimum).toMatchObject({ equityMinor: 80_00, measuredAt: valuation(12).measuredAt });
    expect(sample.range).toEqual({ sequence: 2, from: 10, to: 13 });
  });

  it("drops a valuation with the values of the last sample, but not while another valuation waits", () => {
    const writer = writerAfterFirst();
    expect(writer.addValuation(valuation(11), 1, COALESCE_MS)).toBe("unchanged");
    expect(writer.waits).toBe(false);
    writer.addValuation(valuation(12, { equityMinor: 120_00 }), 2, COALESCE_MS);
    expect(writer.cut(1_000).minimum).toMatchObject({ equityMinor: 100_00, measuredAt: valuation(10).measuredAt });
    writer.addValuation(valuation(13, { equityMinor: 90_00 }), 3, COALESCE_MS);
    expect(writer.addValuation(valuation(14, { equityMinor: 120_00 }), 4, COALESCE_MS)).toBe("waits");
    expect(writer.cut(2_000)).toMatchObject({ range: { to: 14 }, minimum: { equityMinor: 90_00 } });
  });

  it("rejects a valuation measured before the last valuation, and skips a valuation that a sample includes", () => {
    const writer = writerAfterFirst();
    expect(writer.addValuation(valuation(11, { measuredAtMs: 9 }), 1, COALESCE_MS)).toBe(DUPLICATE);
    expect(writer.addValuation(valuation(11, { measuredAtMs: 10 - MAX_DUPLICATE_AGE_MS }), 1, COALESCE_MS)).toBe(
      DUPLICATE,
    );
    expect(writer.addValuation(valuation(11, { measuredAtMs: 9 - MAX_DUPLICATE_AGE_MS }), 1, COALESCE_MS)).toBe(
      MEASURED_BEFORE,
    );
    expect(writer.addValuation(valuation(10), 1, COALESCE_MS)).toBe("covered");
    const successor = new AccountWriter(ACCOUNT, { sequence: 7, to: 50 }, { ...valuation(50), measuredAtMs: 50 });
    expect(successor.addValuation(valuation(50), 1, COALESCE_MS)).toBe("covered");
    expect(successor.addValuation(valuation(51), 1, COALESCE_MS)).toBe("unchanged");
    expect(successor.addValuation(valuation(52, { measuredAtMs: 49 }), 1, COALESCE_MS)).toBe(DUPLICATE);
  });

  it("rejects a valuation that was measured too far ahead, and accepts the valuations after it", () => {
    const writer = writerAfterFirst();
    const ahead = { measuredAtMs: 20 + MAX_CLOCK_DIFFERENCE_MS, equityMinor: 1 };
    expect(writer.addValuation(valuation(11, ahead), 19, 0)).toBe(MEASURED_AHEAD);
    expect(writer.addValuation(valuation(12, ahead), 20, 0)).toBe("due");
    expect(writer.addValuation(valuation(13, { measuredAtMs: 20 }), 20, 0)).toBe(DUPLICATE);
  });

  it("accepts valuations after an accepted sample that was measured too far ahead", () => {
    const frozen = { ...valuation(10), measuredAtMs: 23 * 3_600_000 };
    const successor = new AccountWriter(ACCOUNT, { sequence: 1, to: 10 }, frozen);
    expect(successor.addValuation(valuation(11, { equityMinor: 1 }), 20, 0)).toBe("due");
    expect(successor.addValuation(valuation(12, { measuredAtMs: 9 }), 20, 0)).toBe(DUPLICATE);
  });

  it("gives the offset to commit: that of the first valuation without an accepted sample", () => {
    const writer = writerAfterFirst();
    expect(writer.firstOpenOffset).toBeNull();
    writer.addValuation(valuation(11, { equityMinor: 1 }), 1, COALESCE_MS);
    const first = writer.cut(1);
    writer.addValuation(valuation(12, { equityMinor: 2 }), 2, COALESCE_MS);
    expect(writer.firstOpenOffset).toBe(11);
    writer.accept(first.range, () => null);
    expect(writer.firstOpenOffset).toBe(12);
  });

  it("starts an interval with the newest sample's equity, also after the partition had another writer", () => {
    const newest = { ...valuation(10), measuredAtMs: 10 };
    for (const writer of [writerAfterFirst(), new AccountWriter(ACCOUNT, { sequence: 1, to: 10 }, newest)]) {
      writer.addValuation(valuation(13, { equityMinor: 120_00 }), 3, COALESCE_MS);
      expect(writer.cut(3)).toMatchObject({
        range: { sequence: 2, from: 10, to: 13 },
        minimum: { equityMinor: 100_00, measuredAt: newest.measuredAt },
      });
    }
  });

  it("continues after an accepted foreign sample, and puts the remaining valuations into the next sample", () => {
    const writer = writerAfterFirst();
    writer.addValuation(valuation(11, { equityMinor: 50_00 }), 1, COALESCE_MS);
    writer.addValuation(valuation(12, { equityMinor: 90_00 }), 2, COALESCE_MS);
    expect(writer.cut(1_000).range).toEqual({ sequence: 2, from: 10, to: 12 });
    const another = { sequence: 2, from: 10, to: 11 };
    expect(writer.accept(another, () => ({ ...valuation(11), measuredAtMs: 11 }))).toBe("foreign");
    expect(writer.firstOpenOffset).toBe(12);
    expect(writer.isDue(1_000, COALESCE_MS)).toBe(true);
    const next = writer.cut(1_000);
    expect(next.range).toEqual({ sequence: 3, from: 11, to: 12 });
    expect(next.minimum.equityMinor).toBe(90_00);
  });

  it("puts the valuations of an abandoned sample into the sample that follows the last accepted sample", () => {
    const writer = writerAfterFirst();
    writer.addValuation(valuation(11, { equityMinor: 50_00 }), 1, 0);
    writer.cut(1);
    writer.abandon(() => null);
    expect(writer.cut(2)).toMatchObject({ range: { sequence: 2, from: 10, to: 11 }, minimum: { equityMinor: 50_00 } });
  });
});

/**
 * Simulates two writers of one account, a log that reorders or loses their samples, restarts that
 * read again from the committed offset, and the acceptance rule. Invariants:
 * - Sequences have no gap.
 * - Every valuation that changed something is in exactly one accepted sample.
 * - A sample's minimum is the lowest among the equities of its valuations and the equity of the
 *   sample before.
 */
describe("two writers of one account", () => {
  interface Simulation {
    log: LogState;
    accepted: Sample[];
    queue: { sample: Sample }[];
    writers: AccountWriter[];
    /** Offset of the first valuation that a new writer reads. */
    committed: number;
  }

  const step = fc.oneof(
    fc.record({ kind: fc.constant("value" as const), equity: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ kind: fc.constant("cut" as const), writer: fc.nat(1) }),
    fc.record({ kind: fc.constant("append" as const), pick: fc.nat(3) }),
    fc.record({ kind: fc.constant("lose" as const) }),
    fc.record({ kind: fc.constant("restart" as const), writer: fc.nat(1) }),
    fc.record({ kind: fc.constant("commit" as const), writer: fc.nat(1) }),
  );

  it("never fork or repeat a sequence and never lose a valuation", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const simulation = newSimulation();
        const valuations: ValuationRecord[] = [];
        for (const action of steps) {
          if (action.kind === "value") {
            const next = valuation(valuations.length, { equityMinor: action.equity });
            valuations.push(next);
            for (const writer of simulation.writers) writer.addValuation(next, 0, 0);
          } else if (action.kind === "cut") {
            const writer = simulation.writers[action.writer];
            if (writer?.waits === true) simulation.queue.push({ sample: writer.cut(0) });
          } else if (action.kind === "append") {
            appendOne(simulation, action.pick, valuations);
          } else if (action.kind === "lose") {
            simulation.queue.length = 0;
            for (const writer of simulation.writers) writer.abandon(() => acceptedValues(simulation));
          } else if (action.kind === "commit") {
            const open = simulation.writers[action.writer]?.firstOpenOffset ?? valuations.length;
            simulation.committed = Math.max(simulation.committed, open);
          } else {
            simulation.writers[action.writer] = restarted(simulation, valuations);
          }
        }
        drain(simulation, valuations);
        expectInvariants(simulation, valuations);
      }),
      { numRuns: 500 },
    );
  });

  function newSimulation(): Simulation {
    return {
      log: BEFORE_FIRST,
      accepted: [],
      queue: [],
      writers: [new AccountWriter(ACCOUNT, BEFORE_FIRST, null), new AccountWriter(ACCOUNT, BEFORE_FIRST, null)],
      committed: 0,
    };
  }

  function acceptedValues(simulation: Simulation): (ValuationRecord & { measuredAtMs: number }) | null {
    const last = simulation.accepted.at(-1);
    return last === undefined ? null : (last.values as ValuationRecord);
  }

  function restarted(simulation: Simulation, valuations: readonly ValuationRecord[]): AccountWriter {
    const writer = new AccountWriter(ACCOUNT, simulation.log, acceptedValues(simulation));
    for (const one of valuations.slice(simulation.committed)) writer.addValuation(one, 0, 0);
    return writer;
  }

  function appendOne(simulation: Simulation, pick: number, valuations: readonly ValuationRecord[]): void {
    const [entry] = simulation.queue.splice(pick % Math.max(1, simulation.queue.length), 1);
    if (entry === undefined || !acceptSample(simulation.log, entry.sample.range, 1)) return;
    simulation.log = entry.sample.range;
    simulation.accepted.push(entry.sample);
    for (const writer of simulation.writers)
      writer.accept(entry.sample.range, () => valuations[entry.sample.range.to] ?? null);
  }

  function drain(simulation: Simulation, valuations: readonly ValuationRecord[]): void {
    for (let round = 0; round < 200; round += 1) {
      while (simulation.queue.length > 0) appendOne(simulation, 0, valuations);
      for (const writer of simulation.writers) if (writer.waits) simulation.queue.push({ sample: writer.cut(0) });
      if (simulation.queue.length === 0) break;
    }
    // Recovery: writers drop samples that were rejected because they arrived out of order.
    for (const writer of simulation.writers) writer.abandon(() => acceptedValues(simulation));
    for (const writer of simulation.writers) if (writer.waits) simulation.queue.push({ sample: writer.cut(0) });
    while (simulation.queue.length > 0) appendOne(simulation, 0, valuations);
  }

  function expectInvariants(simulation: Simulation, valuations: readonly ValuationRecord[]): void {
    let last: SampleRange = { sequence: 0, from: -1, to: -1 };
    for (const { range, minimum, values } of simulation.accepted) {
      expect(range.sequence).toBe(last.sequence + 1);
      expect(range.from).toBe(last.to);
      const covered = valuations.slice(range.from + 1, range.to + 1);
      // The interval starts with the equity of the previous sample.
      const observed = valuations.slice(Math.max(0, range.from), range.to + 1);
      const lowest = Math.min(...observed.map((one) => one.equityMinor));
      const earliest = observed.find((one) => one.equityMinor === lowest);
      expect(minimum).toMatchObject({ equityMinor: lowest, measuredAt: earliest?.measuredAt });
      expect(values.equityMinor).toBe(covered.at(-1)?.equityMinor);
      expect(sameRange(range, last)).toBe(false);
      last = range;
    }
    // Valuations after the newest sample have the equity of that sample.
    const newest = valuations[last.to];
    for (const one of valuations.slice(last.to + 1)) expect(one.equityMinor).toBe(newest?.equityMinor);
  }
});
