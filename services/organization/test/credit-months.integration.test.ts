/** The credit ledger by month. Raising the epochs of the shards ends a month. */
import { randomUUID } from "node:crypto";

import { transactionWithOutbox } from "@kapi/outbox";
import { startPool, statement } from "@kapi/postgres";
import { ALL_SHARDS, settledKey, type Shard, shardOf } from "@kapi/admission/redis";
import { eventually, measurements } from "@kapi/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { LedgerEntry } from "../src/domain/credits/ledger-entry.ts";
import { checkDrift } from "../src/operations/credits/check-drift.ts";
import { keepCreditMonths, monthOf } from "../src/operations/credits/keep-credit-months.ts";
import { listCreditUsage } from "../src/operations/credits/list-credit-usage.ts";
import { purchaseCredits } from "../src/operations/credits/purchase-credits.ts";
import { recordUnderLocks } from "../src/operations/credits/record-under-locks.ts";
import { recordAllUsage } from "../src/operations/credits/record-usage.ts";
import { createCreditMonths } from "../src/outbound/postgres/credits/credit-months.ts";
import { recordEntries, shareShardLocks } from "../src/outbound/postgres/credits/ledger.ts";
import { createUsageLines, SELECT_PAGE } from "../src/outbound/postgres/credits/usage-lines.ts";
import { createWalletChecks } from "../src/outbound/postgres/credits/wallet-checks.ts";
import {
  finish,
  ledgerSums,
  organizationWith,
  read,
  redisSums,
  reserve,
  startLedger,
  type LedgerHarness,
} from "./support.ts";

const DAY_MS = 24 * 3_600_000;
/** Later than every month of the tests. */
const FAR_MONTH = "9999-01-01";

const lockShards = statement<object>(
  "test_lock_tags",
  `select pg_advisory_xact_lock(hashtext(current_schema()), tag) from unnest($1::int[]) as tag`,
);
const endMonths = statement<object>(
  "test_end_months",
  `update tags set epoch = extract(epoch from
     (date_trunc('month', to_timestamp((select max(epoch) from tags)) at time zone 'UTC') + make_interval(months => $2)) at time zone 'UTC')::bigint
   where tag = any($1::smallint[])`,
);
const countEntries = statement<{ count: number }>(
  "test_count_entries",
  `select count(*) from all_credit_entries where organization_id = $1`,
);

const measured = measurements();
let harness: LedgerHarness;
beforeAll(async () => {
  harness = await startLedger();
});
afterAll(() => harness.stop());

/** Moves the shards into the month that is `months` after the newest month of all shards. */
async function nextMonth(shards: readonly Shard[] = ALL_SHARDS, months = 1): Promise<void> {
  await harness.database.transaction(async (tx) => {
    await tx.query(lockShards, [shards]);
    await tx.query(endMonths, [shards, months]);
  });
}

/** Drops all months that are neither the current nor the previous month of a shard. */
async function dropMonths(): Promise<number> {
  let dropped = 0;
  while (await createCreditMonths(harness.database).dropOldest(FAR_MONTH)) dropped += 1;
  return dropped;
}

function record(entries: readonly LedgerEntry[], nowMs = Date.now(), { context } = harness): Promise<unknown> {
  return context.store.transaction((tx) => recordUnderLocks(tx, entries, nowMs));
}

function entryOf(organizationId: string, kind: LedgerEntry["kind"], more: Partial<LedgerEntry> = {}): LedgerEntry {
  const action = kind === "settle" ? "consume" : null;
  const names = { chargeId: randomUUID(), operation: "getCommand", requestId: "request", commandId: null };
  return { ...names, kind, organizationId, credits: 1, action, atMs: Date.now(), ...more };
}

/** The entries of a read, and of a command with its settlement. */
function someEntries(organizationId: string): LedgerEntry[] {
  const chargeId = randomUUID();
  return [
    entryOf(organizationId, "consume", { credits: 2 }),
    entryOf(organizationId, "reserve", { chargeId, credits: 3 }),
    entryOf(organizationId, "settle", { chargeId, credits: 3 }),
  ];
}

async function expectSums(organizationId: string, sums: object): Promise<void> {
  const { kept, derived } = await ledgerSums(harness, organizationId);
  expect(kept).toMatchObject(sums);
  expect(derived).toEqual(kept);
}

test("an entry that is recorded at the end of a month, and again in the next month, counts once", async () => {
  const organizationId = await organizationWith(harness, 100);
  const entries = someEntries(organizationId);
  await record(entries);
  await nextMonth();
  await record(entries);
  await record([...entries, entryOf(organizationId, "consume")]);
  await expectSums(organizationId, { consumed: 6, reserved: 0, available: 94 });
  expect((await harness.database.query(countEntries, [organizationId]))[0]?.count).toBe(5);
});

test("an entry counts once when several transactions record it at the end of a month", async () => {
  const organizations = [await organizationWith(harness, 1_000), await organizationWith(harness, 1_000)];
  const ROUNDS = 8;
  for (let round = 0; round < ROUNDS; round += 1) {
    const entries = organizations.flatMap(someEntries);
    const shards = round % 2 === 0 ? ALL_SHARDS : [shardOf(organizations[0] ?? "")];
    await Promise.all([record(entries), nextMonth(shards), record(entries.toReversed()), record(entries)]);
  }
  for (const organizationId of organizations) {
    await expectSums(organizationId, { consumed: ROUNDS * 5, reserved: 0, available: 1_000 - ROUNDS * 5 });
  }
});

test("a reservation that is recorded again months later reserves its credits only once", async () => {
  const organizationId = await organizationWith(harness, 100);
  const reservation = entryOf(organizationId, "reserve", { credits: 9 });
  await record([reservation]);
  await nextMonth(ALL_SHARDS, 2);
  await nextMonth();
  await record([{ ...reservation, operation: "command", requestId: null }]);
  await expectSums(organizationId, { reserved: 9, available: 91 });
});

test.each([
  ["made and released in the month before", 0, 1],
  ["made two months ago and released in the month before", 1, 1],
  ["made three months ago and released in this month", 3, 0],
])("a repeated command does not keep credits reserved if its reservation was %s", async (...row) => {
  const [, monthsOpen, monthsSince] = row;
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const reservation = entryOf(organizationId, "reserve", { credits: 9 });
  await record([reservation]);
  for (let month = 0; month < monthsOpen; month += 1) await nextMonth();
  await record([{ ...reservation, kind: "settle", action: "release" }]);
  for (let month = 0; month < monthsSince; month += 1) await nextMonth();
  // A new request, with its own id, more than MONTH_BEGIN_MARGIN_MS after the month began.
  const nowMs = (await epochMs(organizationId)) + 3 * DAY_MS;
  await record([{ ...reservation, requestId: "again", atMs: nowMs }], nowMs);
  expect((await ledgerSums(harness, organizationId)).kept).toMatchObject({ reserved: 0, available: 100 });
  await finish(context, organizationId, reservation.chargeId, 9);
  const { kept } = await ledgerSums(harness, organizationId);
  expect(kept).toMatchObject({ reserved: 0, consumed: 9, available: 91 });
  const open = statement<object>("test_open_of", `select from open_reservations where organization_id = $1`);
  expect(await harness.database.query(open, [organizationId])).toEqual([]);
});

/** Time of the shard's epoch, in ms. */
async function epochMs(organizationId: string): Promise<number> {
  const select = statement<{ epoch: number }>("test_epoch", `select epoch from tags where tag = $1`);
  const [row] = await harness.database.query(select, [shardOf(organizationId)]);
  return (row?.epoch ?? 0) * 1_000;
}

test("an entry of weeks ago is recorded unless a kept month has it, and is refused if a dropped month may have had it", async () => {
  const organizationId = await organizationWith(harness, 100);
  const nowMs = Date.now() + 100 * DAY_MS;
  const entries = someEntries(organizationId);
  await record(entries);
  for (let month = 0; month < 3; month += 1) await nextMonth();
  await record(entries, nowMs);
  await expectSums(organizationId, { consumed: 5, available: 95 });
  // This entry is new, and every month since its time is kept.
  await record([entryOf(organizationId, "consume", { atMs: nowMs - 22 * DAY_MS })], nowMs);
  await expectSums(organizationId, { consumed: 6, available: 94 });

  const stillOpen = entryOf(organizationId, "reserve", { credits: 4 });
  await record([stillOpen]);
  for (let month = 0; month < 3; month += 1) await nextMonth();
  expect(await dropMonths()).toBeGreaterThan(0);
  await record([...entries, stillOpen], nowMs);
  await record([...entries, { ...stillOpen, kind: "settle", action: "consume" }], nowMs);
  expect((await ledgerSums(harness, organizationId)).kept).toMatchObject({ consumed: 10, reserved: 0, available: 90 });
  const refused = statement<{ kind: string; entry: LedgerEntry }>(
    "test_select_refused",
    `select leg as kind, entry from refused_credit_entries where organization_id = $1 order by kind`,
  );
  const rows = await harness.database.query(refused, [organizationId]);
  expect(rows.map((row) => row.entry)).toEqual([entries[0], entries[1], entries[2]]);
  const { database, context } = harness;
  await keepCreditMonths({ ...context, months: createCreditMonths(database) }, 1_000);
  expect(measured.last("organization.entries.refused")).toBe(3);
});

test("a settlement uses the price and operation of a reservation whose month was dropped", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const [kept, released] = [await reserve(context, organizationId, 5), await reserve(context, organizationId, 7)];
  await recordAllUsage(context, ALL_SHARDS);
  for (let month = 0; month < 3; month += 1) await nextMonth();
  expect(await dropMonths()).toBeGreaterThan(0);
  expect((await ledgerSums(harness, organizationId)).derived.reserved).toBe(0);

  await finish(context, organizationId, kept, 50);
  await finish(context, organizationId, released, 70, "release");
  await finish(context, organizationId, kept, 50);
  expect((await ledgerSums(harness, organizationId)).kept).toMatchObject({ reserved: 0, consumed: 5, available: 95 });
  const { usage } = await listCreditUsage(createUsageLines(harness.database), organizationId, { page: 1, limit: 10 });
  expect(usage).toMatchObject([{ credits: -7, operation: "getCommand", commandId: released }]);
  const days = await createUsageLines(harness.database).byDay(organizationId, "2000-01-01");
  expect(days).toMatchObject([{ operation: "getCommand", requests: 2, credits: 5 }]);
});

test("a purchase adds its credits once, also if it is repeated after its month was dropped", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 10);
  const bought = { organizationId, credits: 25, purchaseId: randomUUID() };
  await purchaseCredits(context, bought);
  for (let month = 0; month < 3; month += 1) await nextMonth();
  expect(await dropMonths()).toBeGreaterThan(0);
  // Redis forgets a purchase after PURCHASED_TTL_MS.
  await context.redis.commands.del(settledKey(shardOf(organizationId), bought.purchaseId));
  await purchaseCredits(context, bought);
  await expect(purchaseCredits(context, { ...bought, credits: 26 })).rejects.toMatchObject({ status: 400 });
  const { kept } = await ledgerSums(harness, organizationId);
  expect(kept).toMatchObject({ purchased: 35, available: 35 });
  expect(await redisSums(context, organizationId)).toEqual(kept);
});

test("after months are dropped, wallets keep their sums, and the usage list has only the lines of kept months", async () => {
  const { context, database } = harness;
  const context2 = { ...context, checks: createWalletChecks(database), comparisonPauseMs: 1 };
  const old = await organizationWith(harness, 100);
  await read(context, old, 3);
  await reserve(context, old, 5);
  await recordAllUsage(context, ALL_SHARDS);
  await nextMonth();
  const young = await organizationWith(harness, 50);
  for (let month = 0; month < 2; month += 1) {
    for (const organizationId of [old, young]) await read(context, organizationId, 2);
    await recordAllUsage(context, ALL_SHARDS);
    await nextMonth();
  }
  expect(await dropMonths()).toBeGreaterThan(0);
  const total = async (id: string) => createUsageLines(database).total(id, {});
  expect([await total(old), await total(young)]).toEqual([1, 1]);
  const lines = await createUsageLines(database).page(old, {}, { limit: 10, offset: 0, after: null });
  expect(lines.map(({ line }) => line.credits)).toEqual([2]);
  const ofThese = async () =>
    (await checkDrift(context2)).filter(({ organizationId }) => [old, young].includes(organizationId));
  expect(await ofThese()).toEqual([]);
  const later = { ...context2, clock: { nowMs: () => Date.now() + DAY_MS + 1 } };
  expect((await checkDrift(later)).filter(({ organizationId }) => organizationId === old)).toEqual([]);
  await database.query(
    statement("test_lose", `delete from credit_entries where organization_id = $1 and leg = 'consume'`),
    [old],
  );
  const muchLater = { ...context2, clock: { nowMs: () => Date.now() + 3 * DAY_MS } };
  expect((await checkDrift(muchLater)).filter(({ organizationId }) => organizationId === old)).toMatchObject([
    { source: "entries", expected: { consumed: 7 }, found: { consumed: 5 } },
  ]);
});

test("pages of usage over many months neither repeat nor skip a line, and read few entries", async () => {
  const organizationId = await organizationWith(harness, 1_000);
  const LINES = 60;
  const atMs = Date.now();
  const entries = Array.from({ length: LINES }, (_, index) =>
    entryOf(organizationId, "consume", { credits: index + 1, atMs: atMs + index }),
  );
  const MONTHS = 25;
  for (let month = 0; month < MONTHS; month += 1) {
    // Some entries are recorded a month late.
    await record(entries.filter((_, index) => Math.floor((index + (index % 3)) / 2.5) === month));
    await nextMonth([shardOf(organizationId)]);
  }
  const lines = createUsageLines(harness.database);
  const pages = [];
  for (let page = 1; page <= 9; page += 1) pages.push(await listCreditUsage(lines, organizationId, { page, limit: 7 }));
  expect(pages.flatMap(({ usage }) => usage.map(({ credits }) => credits))).toEqual(
    entries.map(({ credits }) => credits).toReversed(),
  );
  await record(Array.from({ length: 5_000 }, (_, index) => entryOf(organizationId, "consume", { atMs: atMs - index })));
  await harness.database.query(statement("test_analyze", "analyze credit_entries"), []);
  const LIMIT = 7;
  expect(await entriesRead(organizationId, LIMIT)).toBeLessThan(3 * LIMIT + 2 * MONTHS);
});

/** Number of rows that the scans of a page's statement return, as PostgreSQL counts them. */
async function entriesRead(organizationId: string, limit: number): Promise<number> {
  const explain = statement<{ "QUERY PLAN": readonly { Plan: PlanNode }[] }>(
    "test_explain_page",
    `explain (analyze, format json, timing off) ${SELECT_PAGE.text}`,
  );
  const start = [organizationId, null, null, "infinity", organizationId, ""];
  const [row] = await harness.database.query(explain, [...start, limit, 0]);
  const plan = row?.["QUERY PLAN"][0]?.Plan;
  if (plan === undefined) throw new Error("no plan");
  return scansOf(plan).reduce((sum, scan) => sum + scan["Actual Rows"] * scan["Actual Loops"], 0);
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly Plans?: readonly PlanNode[];
}

function scansOf(node: PlanNode): PlanNode[] {
  expect(node["Node Type"]).not.toBe("Seq Scan");
  const below = (node.Plans ?? []).flatMap(scansOf);
  return node["Node Type"].startsWith("Index") ? [node, ...below] : below;
}

test("dropping a month that is being read does not block recording, and succeeds after the read", async () => {
  const organizationId = await organizationWith(harness, 100);
  for (let month = 0; month < 3; month += 1) await nextMonth();
  const { logger, environment } = { ...harness, ...harness.context };
  const options = { connectionString: environment.postgresUrl, schema: "organization", applicationName: "recorder" };
  const { value: recorder, stop } = await startPool({ ...options, max: 1, logger });
  const record = (): Promise<unknown> =>
    transactionWithOutbox(recorder, { publish: () => Promise.resolve(false) }, async (tx) => {
      // The timeout makes recording fail if it waits for the drop.
      await tx.query(statement("test_wait_for_nobody", `set local lock_timeout = '1ms'`), []);
      const entries = [entryOf(organizationId, "consume"), ...someEntries(organizationId)];
      return recordEntries(tx, await shareShardLocks(tx, [shardOf(organizationId)]), entries, Date.now());
    });
  // The first recording of a connection would wait for a drop. So it precedes the drop.
  await record();
  const { promise: readEnough, resolve: endReading } = Promise.withResolvers<void>();
  const { promise: isReading, resolve: begun } = Promise.withResolvers<void>();
  const reading = harness.database.transaction(async (tx) => {
    await tx.query(countEntries, [organizationId]);
    begun();
    await readEnough;
  });
  try {
    await isReading;
    const tries = new AbortController();
    const dropping = (async () => {
      while (!tries.signal.aborted) expect(await dropMonths()).toBe(0);
    })();
    const isWaiting = async (): Promise<boolean> => (await harness.database.query(waitingDrops, []))[0]?.count === 1;
    await eventually(
      async () => {
        if (!(await isWaiting())) return false;
        await record();
        return isWaiting();
      },
      { intervalMs: 1, timeoutMs: 30_000 },
    );
    tries.abort();
    await dropping;
  } finally {
    endReading();
    await reading;
    await stop();
  }
  expect(await dropMonths()).toBeGreaterThan(0);
});

const waitingDrops = statement<{ count: number }>(
  "test_waiting_drops",
  `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%drop_credit_month%' and pid <> pg_backend_pid()`,
);

test("a wallet shard with an old epoch records entries only after its epoch is raised; the current and the next month have partitions", async () => {
  const age = statement<object>("test_age_shard", `update tags set epoch = epoch - 2 * 86400 where tag = 7`);
  const fresh = await startLedger();
  try {
    await fresh.database.query(age, []);
    await expect(fresh.context.store.transaction((tx) => tx.shareShardLocks([7]))).rejects.toThrow(
      "epoch of wallet shard 7",
    );
    const months = createCreditMonths(fresh.database);
    await keepCreditMonths({ ...fresh.context, months }, 3);
    await fresh.context.store.transaction((tx) => tx.shareShardLocks([7]));
    const partitions = statement<{ name: string }>(
      "test_partitions",
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'credit_entries'::regclass order by 1`,
    );
    const nameOf = (offset: number) => `credit_entries_${monthOf(Date.now(), offset).slice(0, 7).replace("-", "")}`;
    const names = (await fresh.database.query(partitions, [])).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([nameOf(0), nameOf(1)]));
    expect(await months.dropOldest(monthOf(Date.now(), -3))).toBe(false);
  } finally {
    await fresh.stop();
  }
});

test("wallet closings of months before the last dropped month are deleted", async () => {
  expect(await createCreditMonths(harness.database).deleteClosings(1_000_000)).toBeGreaterThan(0);
});

test("concurrent creations of a month succeed", async () => {
  const months = createCreditMonths(harness.database);
  for (const month of ["2095-01-01", "2095-02-01", "2095-03-01", "2095-04-01"]) {
    await Promise.all(Array.from({ length: 6 }, () => months.keep(month)));
  }
});
