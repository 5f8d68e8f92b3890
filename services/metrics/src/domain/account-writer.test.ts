import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { AccountWriter } from "./account-writer.ts";
import { decodeSampleHeaders, encodeSampleHeaders } from "./codec/sample-headers.ts";
import { BEFORE_FIRST, counts, type LogState, sameSpan, type Span } from "./judge.ts";
import type { Reading } from "./reading.ts";
import { MAX_CLOCK_DIFFERENCE_MS, MAX_REPEAT_AGE_MS, MEASURED_AHEAD, MEASURED_BEFORE, REPEATED } from "./rejection.ts";
import type { Sample } from "./sample.ts";

const ACCOUNT = { key: "s/1001", serverId: "s", accountNumber: "1001" };
const COALESCE_MS = 1_000;

function reading(offset: number, change: Partial<Reading> = {}): Reading {
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
  expect(writer.take(reading(10), 0, COALESCE_MS)).toBe("due");
  const { span } = writer.cut(0);
  expect(writer.judged(span, () => null)).toBe("ours");
  return writer;
}

describe("the judge", () => {
  it("counts only the last sequence + 1 whose source begins where the last one ended", () => {
    const state = { sequence: 4, to: 70 };
    expect(counts(state, { sequence: 5, from: 70, to: 71 }, 10)).toBe(true);
    expect(counts(state, { sequence: 4, from: 70, to: 71 }, 10)).toBe(false);
    expect(counts(state, { sequence: 6, from: 70, to: 71 }, 10)).toBe(false);
    expect(counts(state, { sequence: 5, from: 69, to: 71 }, 10)).toBe(false);
    expect(counts(state, { sequence: 5, from: 70, to: 70 }, 10)).toBe(false);
    expect(counts(state, { sequence: 5, from: 70, to: 71 }, 0)).toBe(false);
    expect(counts(state, { sequence: 5, from: 70, to: 71 }, 5_000)).toBe(false);
  });

  it("reads the headers that it writes, and nothing that is no whole number", () => {
    const span = { sequence: 1, from: -1, to: 0 };
    expect(decodeSampleHeaders(encodeSampleHeaders(span))).toEqual(span);
    for (const bad of ["", "1.5", "-2", "01", "1e3", "9".repeat(17), " 1"]) {
      expect(decodeSampleHeaders({ ...encodeSampleHeaders(span), sequence: bad })).toBeNull();
    }
    expect(decodeSampleHeaders({ sequence: "1", from: "0" })).toBeNull();
  });
});

describe("a writer of one account", () => {
  it("publishes the first valuation at once and the next one only after the interval", () => {
    const writer = writerAfterFirst();
    expect(writer.take(reading(11, { equityMinor: 99_00 }), 400, COALESCE_MS)).toBe("waits");
    expect(writer.isDue(999, COALESCE_MS)).toBe(false);
    expect(writer.isDue(1_000, COALESCE_MS)).toBe(true);
    // The clock was set back.
    expect(writer.isDue(-60_000, COALESCE_MS)).toBe(true);
  });

  it("publishes at once when the balance or the number of open positions changes", () => {
    for (const change of [{ balanceMinor: 1 }, { openPositionCount: 2 }]) {
      const writer = writerAfterFirst();
      expect(writer.take(reading(11, { equityMinor: 99_00 }), 1, COALESCE_MS)).toBe("waits");
      expect(writer.take(reading(12, { equityMinor: 99_00, ...change }), 2, COALESCE_MS)).toBe("due");
    }
  });

  it("tells the lowest equity of the interval and when it was, and the newest values", () => {
    const writer = writerAfterFirst();
    writer.take(reading(11, { equityMinor: 90_00 }), 1, COALESCE_MS);
    writer.take(reading(12, { equityMinor: 80_00 }), 2, COALESCE_MS);
    writer.take(reading(13, { equityMinor: 95_00 }), 3, COALESCE_MS);
    const sample = writer.cut(1_000);
    expect(sample.values.equityMinor).toBe(95_00);
    expect(sample.minimum).toMatchObject({ equityMinor: 80_00, measuredAt: reading(12).measuredAt });
    expect(sample.span).toEqual({ sequence: 2, from: 10, to: 13 });
  });

  it("drops a valuation that says what the last sample said, but not while another waits", () => {
    const writer = writerAfterFirst();
    expect(writer.take(reading(11), 1, COALESCE_MS)).toBe("unchanged");
    expect(writer.waits).toBe(false);
    writer.take(reading(12, { equityMinor: 120_00 }), 2, COALESCE_MS);
    expect(writer.cut(1_000).minimum).toMatchObject({ equityMinor: 100_00, measuredAt: reading(10).measuredAt });
    writer.take(reading(13, { equityMinor: 90_00 }), 3, COALESCE_MS);
    expect(writer.take(reading(14, { equityMinor: 120_00 }), 4, COALESCE_MS)).toBe("waits");
    expect(writer.cut(2_000)).toMatchObject({ span: { to: 14 }, minimum: { equityMinor: 90_00 } });
  });

  it("rejects a valuation measured before the last one, and passes over one that it has had", () => {
    const writer = writerAfterFirst();
    expect(writer.take(reading(11, { measuredAtMs: 9 }), 1, COALESCE_MS)).toBe(REPEATED);
    expect(writer.take(reading(11, { measuredAtMs: 10 - MAX_REPEAT_AGE_MS }), 1, COALESCE_MS)).toBe(REPEATED);
    expect(writer.take(reading(11, { measuredAtMs: 9 - MAX_REPEAT_AGE_MS }), 1, COALESCE_MS)).toBe(MEASURED_BEFORE);
    expect(writer.take(reading(10), 1, COALESCE_MS)).toBe("covered");
    const takenOver = new AccountWriter(ACCOUNT, { sequence: 7, to: 50 }, { ...reading(50), measuredAtMs: 50 });
    expect(takenOver.take(reading(50), 1, COALESCE_MS)).toBe("covered");
    expect(takenOver.take(reading(51), 1, COALESCE_MS)).toBe("unchanged");
    expect(takenOver.take(reading(52, { measuredAtMs: 49 }), 1, COALESCE_MS)).toBe(REPEATED);
  });

  it("rejects a valuation from too far ahead, and takes the next one", () => {
    const writer = writerAfterFirst();
    const ahead = { measuredAtMs: 20 + MAX_CLOCK_DIFFERENCE_MS, equityMinor: 1 };
    expect(writer.take(reading(11, ahead), 19, 0)).toBe(MEASURED_AHEAD);
    expect(writer.take(reading(12, ahead), 20, 0)).toBe("due");
    expect(writer.take(reading(13, { measuredAtMs: 20 }), 20, 0)).toBe(REPEATED);
    const frozen = { ...reading(10), measuredAtMs: 23 * 3_600_000 };
    const successor = new AccountWriter(ACCOUNT, { sequence: 1, to: 10 }, frozen);
    expect(successor.take(reading(11, { equityMinor: 1 }), 20, 0)).toBe("due");
    expect(successor.take(reading(12, { measuredAtMs: 9 }), 20, 0)).toBe(REPEATED);
  });

  it("holds the committed offset below what no judged sample has", () => {
    const writer = writerAfterFirst();
    expect(writer.firstOpenOffset).toBeNull();
    writer.take(reading(11, { equityMinor: 1 }), 1, COALESCE_MS);
    const first = writer.cut(1);
    writer.take(reading(12, { equityMinor: 2 }), 2, COALESCE_MS);
    expect(writer.firstOpenOffset).toBe(11);
    writer.judged(first.span, () => null);
    expect(writer.firstOpenOffset).toBe(12);
  });

  it("begins an interval with what the newest sample says, also as the successor of another writer", () => {
    const newest = { ...reading(10), measuredAtMs: 10 };
    for (const writer of [writerAfterFirst(), new AccountWriter(ACCOUNT, { sequence: 1, to: 10 }, newest)]) {
      writer.take(reading(13, { equityMinor: 120_00 }), 3, COALESCE_MS);
      expect(writer.cut(3)).toMatchObject({
        span: { sequence: 2, from: 10, to: 13 },
        minimum: { equityMinor: 100_00, measuredAt: newest.measuredAt },
      });
    }
  });

  it("takes the log's word when another's sample counts, and folds the rest of its own into the next", () => {
    const writer = writerAfterFirst();
    writer.take(reading(11, { equityMinor: 50_00 }), 1, COALESCE_MS);
    writer.take(reading(12, { equityMinor: 90_00 }), 2, COALESCE_MS);
    expect(writer.cut(1_000).span).toEqual({ sequence: 2, from: 10, to: 12 });
    const another = { sequence: 2, from: 10, to: 11 };
    expect(writer.judged(another, () => ({ ...reading(11), measuredAtMs: 11 }))).toBe("another's");
    expect(writer.firstOpenOffset).toBe(12);
    expect(writer.isDue(1_000, COALESCE_MS)).toBe(true);
    const next = writer.cut(1_000);
    expect(next.span).toEqual({ sequence: 3, from: 11, to: 12 });
    expect(next.minimum.equityMinor).toBe(90_00);
  });

  it("writes again what an unacknowledged sample had, from the log's state", () => {
    const writer = writerAfterFirst();
    writer.take(reading(11, { equityMinor: 50_00 }), 1, 0);
    writer.cut(1);
    writer.abandon(() => null);
    expect(writer.cut(2)).toMatchObject({ span: { sequence: 2, from: 10, to: 11 }, minimum: { equityMinor: 50_00 } });
  });
});

/**
 * Two writers that both believe they have the account, a log that takes their samples in any order
 * or loses them, restarts that read again only what was not committed, and the judge. Whatever
 * happens: sequences have no gap, every valuation that changed something is in exactly one counted
 * sample, and each one's minimum is the lowest of the sample before and its own valuations.
 */
describe("two writers of one account", () => {
  interface World {
    log: LogState;
    counted: Sample[];
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
        const world = newWorld();
        const readings: Reading[] = [];
        for (const action of steps) {
          if (action.kind === "value") {
            const next = reading(readings.length, { equityMinor: action.equity });
            readings.push(next);
            for (const writer of world.writers) writer.take(next, 0, 0);
          } else if (action.kind === "cut") {
            const writer = world.writers[action.writer];
            if (writer?.waits === true) world.queue.push({ sample: writer.cut(0) });
          } else if (action.kind === "append") {
            appendOne(world, action.pick, readings);
          } else if (action.kind === "lose") {
            world.queue.length = 0;
            for (const writer of world.writers) writer.abandon(() => judgedValues(world));
          } else if (action.kind === "commit") {
            const open = world.writers[action.writer]?.firstOpenOffset ?? readings.length;
            world.committed = Math.max(world.committed, open);
          } else {
            world.writers[action.writer] = takenOver(world, readings);
          }
        }
        drain(world, readings);
        checkAgainst(world, readings);
      }),
      { numRuns: 500 },
    );
  });

  function newWorld(): World {
    return {
      log: BEFORE_FIRST,
      counted: [],
      queue: [],
      writers: [new AccountWriter(ACCOUNT, BEFORE_FIRST, null), new AccountWriter(ACCOUNT, BEFORE_FIRST, null)],
      committed: 0,
    };
  }

  function judgedValues(world: World): (Reading & { measuredAtMs: number }) | null {
    const last = world.counted.at(-1);
    return last === undefined ? null : (last.values as Reading);
  }

  function takenOver(world: World, readings: readonly Reading[]): AccountWriter {
    const writer = new AccountWriter(ACCOUNT, world.log, judgedValues(world));
    for (const one of readings.slice(world.committed)) writer.take(one, 0, 0);
    return writer;
  }

  function appendOne(world: World, pick: number, readings: readonly Reading[]): void {
    const [entry] = world.queue.splice(pick % Math.max(1, world.queue.length), 1);
    if (entry === undefined || !counts(world.log, entry.sample.span, 1)) return;
    world.log = entry.sample.span;
    world.counted.push(entry.sample);
    for (const writer of world.writers) writer.judged(entry.sample.span, () => readings[entry.sample.span.to] ?? null);
  }

  function drain(world: World, readings: readonly Reading[]): void {
    for (let round = 0; round < 200; round += 1) {
      while (world.queue.length > 0) appendOne(world, 0, readings);
      for (const writer of world.writers) if (writer.waits) world.queue.push({ sample: writer.cut(0) });
      if (world.queue.length === 0) break;
    }
    // A sample refused because it came out of order is found missing by the recovery of its writer.
    for (const writer of world.writers) writer.abandon(() => judgedValues(world));
    for (const writer of world.writers) if (writer.waits) world.queue.push({ sample: writer.cut(0) });
    while (world.queue.length > 0) appendOne(world, 0, readings);
  }

  function checkAgainst(world: World, readings: readonly Reading[]): void {
    let last: Span = { sequence: 0, from: -1, to: -1 };
    for (const { span, minimum, values } of world.counted) {
      expect(span.sequence).toBe(last.sequence + 1);
      expect(span.from).toBe(last.to);
      const covered = readings.slice(span.from + 1, span.to + 1);
      // What the sample before says held when the interval began.
      const observed = readings.slice(Math.max(0, span.from), span.to + 1);
      const lowest = Math.min(...observed.map((one) => one.equityMinor));
      const earliest = observed.find((one) => one.equityMinor === lowest);
      expect(minimum).toMatchObject({ equityMinor: lowest, measuredAt: earliest?.measuredAt });
      expect(values.equityMinor).toBe(covered.at(-1)?.equityMinor);
      expect(sameSpan(span, last)).toBe(false);
      last = span;
    }
    // What no sample covers says what the newest sample says.
    const newest = readings[last.to];
    for (const one of readings.slice(last.to + 1)) expect(one.equityMinor).toBe(newest?.equityMinor);
  }
});
