import { randomUUID } from "node:crypto";

import { statement } from "@kapi/postgres";
import { ALL_SHARDS, metaKey, shardOf, walletKey } from "@kapi/admission/redis";
import { createLogger } from "@kapi/runtime";
import { eventually, measurements, TestClock } from "@kapi/testkit";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { applyPending } from "../src/operations/credits/apply-pending.ts";
import { checkDrift, type DriftContext } from "../src/operations/credits/check-drift.ts";
import { purchaseCredits } from "../src/operations/credits/purchase-credits.ts";
import { recordAllUsage } from "../src/operations/credits/record-usage.ts";
import { createWalletChecks } from "../src/outbound/postgres/credits/wallet-checks.ts";
import { finish, ledgerSums, organizationWith, read, reserve, startLedger, type LedgerHarness } from "./support.ts";

const COMPARISON_PAUSE_MS = 20;
const DAY_MS = 24 * 3_600_000;

const changeWallet = statement<object>(
  "test_change_wallet",
  `update wallets set consumed = consumed + $2 where organization_id = $1`,
);
const deletePurchases = statement<object>(
  "test_delete_purchases",
  `delete from credit_entries where organization_id = $1 and leg = 'purchase'`,
);

const measured = measurements();
let logged: string[] = [];
let harness: LedgerHarness;
let context: DriftContext;

beforeAll(async () => {
  harness = await startLedger();
  const destination = { write: (line: string) => void logged.push(line) };
  const logger = createLogger({ service: "organization-test", level: "error", destination });
  const checks = createWalletChecks(harness.database);
  context = { ...harness.context, logger, checks, comparisonPauseMs: COMPARISON_PAUSE_MS };
});
afterAll(() => harness.stop());
beforeEach(() => {
  logged = [];
});

/**
 * A wallet with purchases, a charge, a consumed, a released and an open reservation, and a charge
 * that only Redis has.
 */
async function usedWallet(): Promise<string> {
  const organizationId = await organizationWith(harness, 100);
  while ((await applyPending(context)) > 0);
  await read(context, organizationId, 3);
  await purchaseCredits(context, { organizationId, credits: 10, purchaseId: randomUUID() });
  const consumed = await reserve(context, organizationId, 5);
  const released = await reserve(context, organizationId, 7);
  await reserve(context, organizationId, 9);
  await recordAllUsage(context, ALL_SHARDS);
  await finish(context, organizationId, consumed, 5);
  await finish(context, organizationId, released, 7, "release");
  await read(context, organizationId, 1);
  return organizationId;
}

async function changeInRedis(organizationId: string, change: number): Promise<void> {
  await context.redis.commands.hincrby(walletKey(shardOf(organizationId), organizationId), "available", change);
}

function expectMeasured(wallets: number, credits: number): void {
  expect(measured.last("organization.wallets_in_drift")).toBe(wallets);
  expect(measured.last("organization.greatest_drift")).toBe(credits);
}

test("correct wallets do not drift, also while they are used", async () => {
  const organizationId = await usedWallet();
  expect(await checkDrift(context)).toEqual([]);
  const checked = new AbortController();
  const use = async (): Promise<void> => {
    while (!checked.signal.aborted) {
      await read(context, organizationId, 0);
      const commandId = await reserve(context, organizationId, 1);
      await finish(context, organizationId, commandId, 1, "release");
    }
  };
  const using = Promise.all([use(), use()]);
  for (let check = 0; check < 5; check += 1) expect(await checkDrift(context)).toEqual([]);
  checked.abort();
  await using;
  expectMeasured(0, 0);
  expect(logged).toEqual([]);
});

test("a settlement that the ledger has and Redis does not have yet is no drift", async () => {
  const organizationId = await usedWallet();
  const commandId = await reserve(context, organizationId, 6);
  const { promise: secondLook, resolve } = Promise.withResolvers<void>();
  let comparisons = 0;
  const call: DriftContext["redis"]["call"] = async (name, keys, args) => {
    if (name === "kapi_settle") await secondLook;
    if (name === "kapi_read_tag" && keys[0] === metaKey(shardOf(organizationId)) && (comparisons += 1) === 2) resolve();
    return harness.context.redis.call(name, keys, args);
  };
  const slow = { ...context, redis: { ...context.redis, call } };
  const finished = finish(slow, organizationId, commandId, 6);
  await eventually(async () => {
    expect((await ledgerSums(harness, organizationId)).kept.consumed).toBe(15);
  });
  expect(await checkDrift(slow)).toEqual([]);
  expect(comparisons).toBeGreaterThan(1);
  await finished;
});

test("a wallet that differs in Redis drifts: it is logged, measured and not corrected", async () => {
  const organizationId = await usedWallet();
  await changeInRedis(organizationId, 4);
  for (let check = 0; check < 2; check += 1) {
    expect(await checkDrift(context)).toMatchObject([
      { organizationId, source: "redis", expected: { available: 92 }, found: { available: 96 } },
    ]);
    expectMeasured(1, 4);
  }
  expect(logged).toHaveLength(2);
  expect(JSON.parse(logged[0] ?? "")).toMatchObject({ level: "error", msg: "a wallet drifts", organizationId });
  await changeInRedis(organizationId, -4);
  expect(await checkDrift(context)).toEqual([]);
  expectMeasured(0, 0);
});

test("a wallet that differs from the sums of its entries drifts, also after an earlier check without drift", async () => {
  const organizationId = await usedWallet();
  await harness.database.query(changeWallet, [organizationId, 3]);
  const sources = (await checkDrift(context)).map((drift) => [drift.organizationId, drift.source]);
  expect(sources).toEqual([
    [organizationId, "redis"],
    [organizationId, "entries"],
  ]);
  expectMeasured(1, 3);
  await harness.database.query(changeWallet, [organizationId, -3]);
  expect(await checkDrift(context)).toEqual([]);
  // From here on, only new entries are summed up.
  await read(context, organizationId, 2);
  await recordAllUsage(context, ALL_SHARDS);
  expect(await checkDrift(context)).toEqual([]);
  await harness.database.query(changeWallet, [organizationId, 1]);
  expect(await checkDrift(context)).toMatchObject([
    { source: "redis" },
    { source: "entries", expected: { consumed: 12 } },
  ]);
  await harness.database.query(changeWallet, [organizationId, -1]);
});

test("the loss of an entry that was checked before is noticed a day after the check", async () => {
  const organizationId = await usedWallet();
  expect(await checkDrift(context)).toEqual([]);
  await harness.database.query(deletePurchases, [organizationId]);
  const later = new TestClock(context.clock.nowMs() + DAY_MS + 1);
  expect(await checkDrift({ ...context, clock: later })).toMatchObject([
    { organizationId, source: "entries", expected: { purchased: 110 }, found: { purchased: 0 } },
  ]);
  expectMeasured(1, 110);
});
