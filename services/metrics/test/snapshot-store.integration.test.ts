import type { AccountRef } from "@kapi/contracts";
import { randomUUID } from "node:crypto";

import { type Database, statement } from "@kapi/postgres";
import { Scope } from "@kapi/runtime";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { SnapshotStore } from "../src/domain/ports.ts";
import { KEPT_DAYS } from "../src/operations/store-snapshots.ts";
import { createSnapshotLists } from "../src/outbound/postgres/snapshot-lists.ts";
import { createSnapshotStore } from "../src/outbound/postgres/snapshot-store.ts";
import { startSnapshotDatabase } from "./snapshot-database.ts";

const DAY_MS = 86_400_000;
const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const scope = new Scope();
let database: Database;
let store: SnapshotStore;

beforeAll(async () => {
  database = await startSnapshotDatabase(scope);
  store = createSnapshotStore(database);
  await store.createDays(today, today + DAY_MS);
});
afterAll(() => scope.stop());

function rowsOf(account: AccountRef): Promise<unknown[]> {
  const all = { organizationId: randomUUID(), sinceMs: 0, untilMs: null, limit: 10 };
  return createSnapshotLists(database).list({ ...all, ...account });
}

it("a deleted account gets no rows from a writer that already had its samples", async () => {
  const account = { serverId: randomUUID(), accountNumber: "deleted-1" };
  const drawdown = { equityMinor: 1, dayMs: today, dayStartMinor: 1, dayLowMinor: 1, peakMinor: 1, lowMinor: 1 };
  const numbers = { balanceMinor: 1, equityMinor: 1, marginMinor: 0, freeMarginMinor: 1, marginLevel: 0 };
  const extremes = { dailyDrawdown: 0, totalDrawdown: 0, lowestEquityMinor: 1, highestEquityMinor: 1 };
  const minute = {
    snapshot: { account, measuredAtMs: today, sequence: 1, ...numbers, ...extremes },
    state: { log: { sequence: 1, to: 0 }, drawdown },
    fromOffset: 0,
    endedHour: null,
  };
  const kept = { firstMs: 0, beforeMs: Number.MAX_SAFE_INTEGER };
  await store.write([minute], kept);
  await store.write([minute], kept);
  expect(await rowsOf(account)).toHaveLength(1);
  await store.deleteAccount(account);
  await store.write([minute], kept);
  await store.upsertStatuses([{ account, version: 1, status: "active", accountName: "Gone" }]);
  expect(await rowsOf(account)).toEqual([]);
  expect(await store.states([account])).toEqual(new Map());
});

it("the snapshot store drops the days before the first kept day, and keeps all later days", async () => {
  const days = statement<{ name: string }>(
    "test_days",
    `select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent = 'account_metric_snapshots'::regclass order by relname`,
  );
  const names = async (): Promise<string[]> => (await database.query(days, [])).map(({ name }) => name.slice(-8));
  const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10).replaceAll("-", "");
  const firstKept = today - KEPT_DAYS * DAY_MS;
  await store.createDays(firstKept - 2 * DAY_MS, firstKept + DAY_MS);
  await store.createDays(firstKept, firstKept);
  expect(await names()).toContain(dayOf(firstKept - DAY_MS));
  expect(await store.dropDaysBefore(firstKept)).toBe(2);
  expect((await names())[0]).toBe(dayOf(firstKept));
  expect(await names()).toContain(dayOf(today + DAY_MS));
});

it("the snapshot store does not drop a day that is in use, blocks no reader, and drops the day at the next call", async () => {
  const [old, kept] = [today - (KEPT_DAYS + 5) * DAY_MS, today - (KEPT_DAYS + 4) * DAY_MS];
  await store.createDays(old, old);
  const name = new Date(old).toISOString().slice(0, 10).replaceAll("-", "");
  const count = statement<{ rows: number }>(
    "test_count",
    `select count(*)::integer as rows from account_metric_snapshots_${name}`,
  );
  await database.transaction(async (tx) => {
    expect(await tx.query(count, [])).toEqual([{ rows: 0 }]);
    expect(await store.dropDaysBefore(kept)).toBe(0);
    expect(await database.query(count, [])).toEqual([{ rows: 0 }]);
  });
  expect(await store.dropDaysBefore(kept)).toBe(1);
});

it("PostgreSQL reads the list of a server along the indexes of the day partitions, without a sort", async () => {
  const plan = statement<{ "QUERY PLAN": string }>(
    "test_plan",
    `explain select * from account_metric_snapshots
     where server_id = '${randomUUID()}' and measured_at >= now() - interval '30 days' and measured_at < now()
     order by measured_at desc, account_number limit 100`,
  );
  const lines = (await database.query(plan, [])).map((row) => row["QUERY PLAN"]).join("\n");
  expect(lines).toContain("Append");
  expect(lines).not.toMatch(/Sort|Merge|Seq Scan/);
});
