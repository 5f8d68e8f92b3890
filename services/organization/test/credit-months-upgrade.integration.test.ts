/**
 * The credit ledger during an upgrade from the last release that has no table for each month: while
 * processes of that release run, and after that.
 */
import { randomUUID } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { startPool, type Database, migrate, statement } from "@kapi/postgres";
import { ALL_SHARDS, type Shard, shardOf } from "@kapi/admission/redis";
import { createLogger } from "@kapi/runtime";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { LedgerEntry } from "../src/domain/credits/ledger-entry.ts";
import { syncShards } from "../src/operations/credits/sync-shards.ts";
import { purchaseCredits } from "../src/operations/credits/purchase-credits.ts";
import { recordUnderLocks } from "../src/operations/credits/record-under-locks.ts";
import { createCreditMonths } from "../src/outbound/postgres/credits/credit-months.ts";
import { ledgerSums, MIGRATIONS, startLedger, type LedgerHarness } from "./support.ts";

/** The first migration that the previous release does not have. */
const FIRST_NEW = "0014";
const DAY_SECONDS = 24 * 3_600;

// The statements of the previous release, unchanged.
const oldRaise = statement<{ epoch: number }>(
  "test_old_raise_epoch",
  `update tags set epoch = greatest(epoch + 1, extract(epoch from now())::bigint) where tag = $1 returning epoch`,
);
const oldInsert = statement<object>(
  "test_old_insert_entries",
  `insert into credit_legs
     (charge_id, leg, organization_id, credits, action, operation, x_request_id, command_id, at, epoch)
   select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::uuid[],
     $9::timestamptz[], $10::bigint[])
   on conflict (charge_id, leg) do nothing
   returning charge_id, leg`,
);
const oldReservations = statement<object>(
  "test_old_open_reservations",
  `insert into open_reservations (charge_id, organization_id, credits, at)
   select * from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::timestamptz[])`,
);
const addToWallet = statement<object>(
  "test_add_to_wallet",
  `update wallets set purchased = purchased + $2, reserved = reserved + $3, consumed = consumed + $4 where organization_id = $1`,
);

const organizationId = randomUUID();
const shard = shardOf(organizationId);
const bought = { organizationId, credits: 100, purchaseId: randomUUID() };
const reservation = { chargeId: randomUUID(), credits: 5 };
const OLD_ROWS = [
  `insert into organizations values ('${organizationId}', 'Old', now())`,
  `insert into wallets (organization_id, id, tag, low_balance_threshold, created_at, updated_at, consumed, usage_lines)
   values ('${organizationId}', gen_random_uuid(), ${shard}, 0, now(), now(), 1, 1)`,
  `insert into credit_legs
   values (gen_random_uuid(), 'consume', '${organizationId}', 1, null, 'getCommand', 'request', null, now(), 1)`,
];
let harness: LedgerHarness;

beforeAll(async () => {
  harness = await startLedger(async (connectionString) => {
    const directory = mkdtempSync(path.join(tmpdir(), "kapi-migrations-"));
    const isCopied = (name: string): boolean => name < FIRST_NEW || name === "corrected.json";
    for (const file of readdirSync(MIGRATIONS).filter(isCopied)) {
      cpSync(path.join(MIGRATIONS, file), path.join(directory, file));
    }
    const logger = createLogger({ service: "organization-test", level: "silent" });
    await migrate({ connectionString, schema: "organization", directory, logger });
    rmSync(directory, { recursive: true });
    const options = { connectionString, schema: "organization", applicationName: "release-before", logger };
    const { value: database, stop } = await startPool(options);
    for (const [index, text] of OLD_ROWS.entries()) await database.query(statement(`test_old_row_${index}`, text), []);
    await stop();
  });
});
afterAll(() => harness.stop());

/** Records an entry as the previous release does; returns whether it was new. */
async function recordOld(entry: LedgerEntry): Promise<boolean> {
  const { database } = harness;
  return database.transaction(async (tx) => {
    await tx.query(statement("test_share", `select pg_advisory_xact_lock_shared(hashtext(current_schema()), $1)`), [
      shard,
    ]);
    const select = statement<{ epoch: number }>("test_old_epoch", `select epoch from tags where tag = $1`);
    const [row] = await tx.query(select, [shard]);
    const at = new Date(entry.atMs).toISOString();
    const columns = [
      entry.chargeId,
      entry.kind,
      organizationId,
      entry.credits,
      entry.action,
      entry.operation,
      entry.requestId,
    ];
    const values = [...columns, entry.commandId, at, row?.epoch].map((value) => [value]);
    const isNew = (await tx.query(oldInsert, values)).length > 0;
    if (!isNew) return false;
    if (entry.kind === "reserve") {
      await tx.query(oldReservations, [[entry.chargeId], [organizationId], [entry.credits], [at]]);
    }
    const of = (kind: LedgerEntry["kind"]): number => (entry.kind === kind ? entry.credits : 0);
    await tx.query(addToWallet, [organizationId, of("purchase"), of("reserve"), of("consume")]);
    return true;
  });
}

async function record(entry: LedgerEntry): Promise<boolean | undefined> {
  const { store } = harness.context;
  const recorded = await store.transaction((tx) => recordUnderLocks(tx, [entry], Date.now()));
  return recorded[0]?.isNew;
}

function entryOf(kind: LedgerEntry["kind"], more: Partial<LedgerEntry> = {}): LedgerEntry {
  const names = { chargeId: randomUUID(), operation: "getCommand", requestId: "request", commandId: null };
  return {
    ...names,
    kind,
    organizationId,
    credits: 1,
    action: kind === "settle" ? "consume" : null,
    atMs: Date.now(),
    ...more,
  };
}

async function raiseTo(database: Database, shards: readonly Shard[], epoch: number): Promise<void> {
  const raise = statement<object>("test_raise_to", `update tags set epoch = $2 where tag = any($1::smallint[])`);
  await database.query(raise, [shards, epoch]);
}

async function expectSums(sums: object): Promise<void> {
  const { kept, derived } = await ledgerSums(harness, organizationId);
  expect(kept).toMatchObject(sums);
  expect(derived).toEqual(kept);
}

test("both releases record credit ledger entries until each month has its own table; then only this release can, and no entry counts twice", async () => {
  const { context, database } = harness;
  const monthsFrom = statement<{ months_from: number; now: number }>(
    "test_months_from",
    `select months_from, extract(epoch from now())::bigint as now from credit_ledger`,
  );
  const [ledger] = await database.query(monthsFrom, []);
  const from = ledger?.months_from ?? 0;
  expect(from - (ledger?.now ?? 0)).toBeGreaterThanOrEqual(7 * DAY_SECONDS);
  await syncShards(context, ALL_SHARDS);

  const [byOld, byNew] = [entryOf("consume"), entryOf("consume")];
  expect([await recordOld(byOld), await record(byOld)]).toEqual([true, false]);
  expect([await record(byNew), await recordOld(byNew)]).toEqual([true, false]);
  const both = entryOf("consume");
  expect((await Promise.all([recordOld(both), record(both)])).filter((isNew) => isNew === true)).toHaveLength(1);
  const purchase = entryOf("purchase", { chargeId: bought.purchaseId, credits: bought.credits });
  expect(await recordOld(purchase)).toBe(true);
  await purchaseCredits(context, bought);
  await expect(purchaseCredits(context, { ...bought, credits: 7 })).rejects.toMatchObject({ status: 400 });
  const late = entryOf("purchase", { credits: 10 });
  expect(await recordOld(late)).toBe(true);
  const reserve = entryOf("reserve", reservation);
  expect([await recordOld(reserve), await record(reserve)]).toEqual([true, false]);
  await expectSums({ purchased: 110, consumed: 4, reserved: 5 });

  // The previous release raises the epoch to the first month that has a table of its own.
  await raiseTo(database, ALL_SHARDS, from - 1);
  await database.query(oldRaise, [shard]);
  for (const entry of [byOld, byNew, both, reserve]) expect(await record(entry)).toBe(false);
  const fresh = entryOf("consume");
  expect(await record(fresh)).toBe(true);
  for (const entry of [fresh, byOld, entryOf("consume")])
    await expect(recordOld(entry)).rejects.toThrow("credit_legs_before_months");
  await purchaseCredits(context, bought);
  await purchaseCredits(context, { organizationId, purchaseId: late.chargeId, credits: 10 });
  await expectSums({ purchased: 110, consumed: 5, reserved: 5 });

  // Entries from before the ledger had a table for each month are dropped like a month.
  for (let month = 1; month <= 2; month += 1) await raiseTo(database, ALL_SHARDS, from + month * 32 * DAY_SECONDS);
  expect(await createCreditMonths(database).dropOldest("9999-01-01")).toBe(true);
  expect(await record({ ...reserve, kind: "settle", action: "consume", credits: 50 })).toBe(true);
  await purchaseCredits(context, bought);
  await expect(purchaseCredits(context, { ...bought, credits: 7 })).rejects.toMatchObject({ status: 400 });
  expect((await ledgerSums(harness, organizationId)).kept).toMatchObject({ purchased: 110, consumed: 10, reserved: 0 });
});
