import { randomUUID } from "node:crypto";

import type { EquityHistory, AccountRef } from "@kapi/contracts";
import { type Database, statement } from "@kapi/postgres";
import { Scope } from "@kapi/runtime";
import { afterAll, beforeAll, expect, it } from "vitest";

import { type AggregatorState, type ClosedMinute, MinuteAggregator } from "../src/domain/minute-aggregator.ts";
import type { EquityHistories, SnapshotStore } from "../src/domain/ports.ts";
import { lengthOfPart } from "../src/operations/read-equity-history.ts";
import { createEquityHistories } from "../src/outbound/postgres/equity-history.ts";
import { createSnapshotStore } from "../src/outbound/postgres/snapshot-store.ts";
import { startSnapshotDatabase } from "./snapshot-database.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const HOURS = 30;
/** The first hour of the tests, two days before the current one. */
const firstMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 2 * DAY_MS;
const kept = { firstMs: 0, beforeMs: Number.MAX_SAFE_INTEGER };
const scope = new Scope();
let database: Database;
let store: SnapshotStore;
let histories: EquityHistories;

beforeAll(async () => {
  database = await startSnapshotDatabase(scope);
  store = createSnapshotStore(database);
  histories = createEquityHistories(database);
});
afterAll(() => scope.stop());

interface Minute {
  readonly atMs: number;
  readonly equity: number;
  readonly lowest: number;
}

/**
 * Stores minutes of an account. Each minute has one sample, with the lowest equity since the sample
 * before.
 */
class Writer {
  readonly account: AccountRef = { serverId: randomUUID(), accountNumber: "10000001" };
  #aggregator = new MinuteAggregator(this.account, null);
  #state: AggregatorState | null = null;
  #sequence = 0;

  async write(minutes: readonly Minute[]): Promise<void> {
    await store.write(
      minutes.map((minute) => this.#close(minute)),
      kept,
    );
  }

  /** Continues as another process, from the stored state. */
  restart(): void {
    this.#aggregator = new MinuteAggregator(this.account, this.#state);
  }

  #close({ atMs, equity, lowest }: Minute): ClosedMinute {
    const measuredAt = new Date(atMs).toISOString();
    const range = { sequence: (this.#sequence += 1), from: this.#sequence - 2, to: this.#sequence - 1 };
    const money = { balanceMinor: 100_000, equityMinor: equity, marginMinor: 0, freeMarginMinor: 0, marginLevel: 0 };
    const values = { ...money, measuredAt, measuredAtMs: atMs, openPositionCount: 0 };
    const sample = { values, minimum: { equityMinor: lowest, measuredAt } };
    this.#aggregator.addSample({ range, frameBytes: 400, offset: this.#sequence }, sample);
    const closed = this.#aggregator.closeEnded(atMs + MINUTE_MS);
    if (closed === null) throw new Error("the minute is not closed");
    this.#state = closed.state;
    return closed;
  }
}

type Range = readonly [fromMs: number, toMs: number, points: number];

function read(account: AccountRef, [fromMs, toMs, points]: Range, firstKeptMs = 0) {
  return histories.read({ ...account, fromMs, toMs, pointMs: lengthOfPart(toMs - fromMs, points), firstKeptMs });
}

/** About a third of the minutes of most hours, with equities that rise and fall. */
function randomMinutes(): Minute[] {
  let equity = 100_000;
  return Array.from({ length: HOURS * 60 }, (_, index) => ({ index, isGap: Math.floor(index / 60) % 7 === 3 }))
    .filter(({ isGap }) => !isGap && Math.random() < 0.3)
    .map(({ index }) => {
      equity += Math.round((Math.random() - 0.5) * 4_000);
      const lowest = equity - (Math.random() < 0.1 ? Math.round(Math.random() * 20_000) : 0);
      return { atMs: firstMs + index * MINUTE_MS, equity, lowest };
    });
}

/** Computes the expected history from these minutes, without the database. */
function expected(minutes: readonly Minute[], [fromMs, toMs, points]: Range): Pick<EquityHistory, "before" | "points"> {
  const pointMs = lengthOfPart(toMs - fromMs, points);
  const before = minutes.findLast(({ atMs }) => atMs < fromMs);
  const found = new Map<number, EquityHistory["points"][number]>();
  let peak = before?.equity ?? Number.NEGATIVE_INFINITY;
  for (const { atMs, equity, lowest } of minutes.filter((one) => one.atMs >= fromMs && one.atMs < toMs)) {
    const part = Math.floor((atMs - fromMs) / pointMs);
    const known = found.get(part);
    const from = Math.max(peak, equity);
    const fall = peak - lowest > 0 ? { from: peak / 100, to: lowest / 100 } : { from: from / 100, to: from / 100 };
    const depth = ({ from: high, to: low }: typeof fall): number => Math.round((high - low) * 100);
    const isDeeper =
      known === undefined ||
      depth(fall) > depth(known.drawdown) ||
      (depth(fall) === depth(known.drawdown) && fall.from > known.drawdown.from);
    found.set(part, {
      startsAt: known?.startsAt ?? new Date(atMs).toISOString(),
      endsAt: new Date(atMs + MINUTE_MS).toISOString(),
      equity: equity / 100,
      balance: 1_000,
      lowest: Math.min(known?.lowest ?? Number.POSITIVE_INFINITY, lowest / 100),
      highest: Math.max(known?.highest ?? Number.NEGATIVE_INFINITY, equity / 100),
      drawdown: isDeeper ? fall : known.drawdown,
    });
    peak = Math.max(peak, equity);
  }
  const first =
    before === undefined
      ? null
      : { measuredAt: new Date(before.atMs).toISOString(), equity: before.equity / 100, balance: 1_000 };
  return { before: first, points: [...found.values()] };
}

it("the equity history keeps the lowest equity and the deepest drawdown of every point, however long the range is", async () => {
  const minutes = randomMinutes();
  const writer = new Writer();
  await writer.write(minutes);
  const last = firstMs + HOURS * HOUR_MS;
  const ranges: Range[] = [
    [firstMs, last, HOURS],
    [firstMs + 5 * HOUR_MS, last, 9],
    [firstMs + 10 * HOUR_MS, firstMs + 12 * HOUR_MS, 40],
    [firstMs + 7 * MINUTE_MS, last, 100],
    [firstMs - DAY_MS, firstMs, 24],
    // Each part is an hour, except that the last one ends a minute earlier.
    ...Array.from({ length: HOURS }, (_, hour): Range => {
      return [firstMs, firstMs + (hour + 1) * HOUR_MS - MINUTE_MS, hour + 1];
    }),
  ];
  for (const range of ranges) expect(await read(writer.account, range)).toEqual(expected(minutes, range));
});

it("a process that restarts every minute stores as many hourly rows as one that does not; missing hourly rows do not change the equity history", async () => {
  const minutes = randomMinutes();
  const [steady, restarted] = [new Writer(), new Writer()];
  const half = Math.floor(minutes.length / 2);
  const forget = statement("test_forget", "delete from account_metric_hours where server_id = $1");
  for (const writer of [steady, restarted]) {
    await writer.write(minutes.slice(0, half));
    await database.query(forget, [writer.account.serverId]);
  }
  for (const minute of minutes.slice(half)) {
    await steady.write([minute]);
    restarted.restart();
    await restarted.write([minute]);
  }
  const stored = statement<{ hours: number }>(
    "test_hours",
    "select count(*)::integer as hours from account_metric_hours where server_id = $1",
  );
  const hours = await database.query(stored, [steady.account.serverId]);
  expect(hours[0]?.hours).toBeGreaterThan(HOURS / 4);
  expect(await database.query(stored, [restarted.account.serverId])).toEqual(hours);
  const range: Range = [firstMs, firstMs + HOURS * HOUR_MS, HOURS];
  for (const writer of [steady, restarted]) {
    expect(await read(writer.account, range)).toEqual(expected(minutes, range));
  }
});

it("the equity history uses the last equity of minutes of an earlier release, which have no lowest equity", async () => {
  const writer = new Writer();
  await writer.write([{ atMs: firstMs, equity: 100_000, lowest: 50_000 }]);
  const forget = statement(
    "test_no_extremes",
    "update account_metric_snapshots set lowest_equity_minor = null, highest_equity_minor = null where server_id = $1",
  );
  await database.query(forget, [writer.account.serverId]);
  const { points } = await read(writer.account, [firstMs, firstMs + HOUR_MS, 60]);
  expect(points).toMatchObject([{ equity: 1_000, lowest: 1_000, highest: 1_000 }]);
});

it("the equity history has no minute past its retention, and no minute of a deleted account", async () => {
  const writer = new Writer();
  const minutes = [0, 1, 2, 3].map((hour) => ({ atMs: firstMs + hour * HOUR_MS, equity: 100_000, lowest: 100_000 }));
  await writer.write(minutes);
  const range: Range = [firstMs + HOUR_MS, firstMs + 4 * HOUR_MS, 3];
  const since = await read(writer.account, range, firstMs + 2 * HOUR_MS);
  expect([since.before, since.points.length]).toEqual([null, 2]);
  await store.deleteAccount(writer.account);
  expect(await read(writer.account, range)).toEqual({ before: null, points: [] });
});
