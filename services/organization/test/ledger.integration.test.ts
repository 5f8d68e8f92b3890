import { randomUUID } from "node:crypto";

import { COMMAND_DEADLINE_MS, EXPORT_DEADLINE_MS } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";
import {
  admit,
  ALL_SHARDS,
  metaKey,
  purchase,
  readUsage,
  SETTLED_TTL_MS,
  settledKey,
  shardOf,
  walletKey,
} from "@kapi/admission/redis";
import { eventually, TestClock } from "@kapi/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

import { applyChanges, applyPending } from "../src/operations/credits/apply-pending.ts";
import { syncShards } from "../src/operations/credits/sync-shards.ts";
import { purchaseCredits, recordPurchase } from "../src/operations/credits/purchase-credits.ts";
import { recordUnderLocks } from "../src/operations/credits/record-under-locks.ts";
import { recordAllUsage } from "../src/operations/credits/record-usage.ts";
import { recordSettlements } from "../src/operations/credits/record-settlements.ts";
import { releaseOrphans } from "../src/operations/credits/release-orphans.ts";
import {
  expectWallet,
  finalEvent,
  finish,
  organizationWith,
  read,
  redisSums,
  requestOf,
  reserve,
  startLedger,
  type LedgerHarness,
} from "./support.ts";

/**
 * Longer than the margin after a deadline. After this margin the reservation of an unknown command
 * is an orphan.
 */
const WAITED_FOR_MS = 6 * 60_000;

let harness: LedgerHarness;
beforeAll(async () => {
  harness = await startLedger();
});
afterAll(() => harness.stop());

test("every charge is in the ledger once, also with two concurrent readers", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 1_000);
  await Promise.all(Array.from({ length: 40 }, () => read(context, organizationId, 3)));
  await Promise.all([recordAllUsage(context, ALL_SHARDS), recordAllUsage(context, ALL_SHARDS)]);
  await expectWallet(harness, organizationId, { purchased: 1_000, consumed: 120, available: 880, reserved: 0 });
  const { replies } = await readUsage(context.redis, ALL_SHARDS, 10);
  expect([...replies.values()].flat()).toEqual([]);
});

test("a command's entries give the same wallet, whether they are recorded together, one after the other, or repeatedly", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const early = await reserve(context, organizationId, 5);
  await finish(context, organizationId, early, 5);
  await finish(context, organizationId, early, 5);
  await recordAllUsage(context, ALL_SHARDS);
  const late = await reserve(context, organizationId, 7);
  await recordAllUsage(context, ALL_SHARDS);
  await finish(context, organizationId, late, 7, "release");
  await reserve(context, organizationId, 9);
  await recordAllUsage(context, ALL_SHARDS);
  await expectWallet(harness, organizationId, { purchased: 100, consumed: 5, reserved: 9, available: 86 });
});

test("a purchase adds its credits once, and its id cannot name another purchase", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 10);
  const bought = { organizationId, credits: 25, purchaseId: randomUUID() };
  await purchaseCredits(context, bought);
  await purchaseCredits(context, bought);
  await expectWallet(harness, organizationId, { purchased: 35, available: 35 });
  await expect(purchaseCredits(context, { ...bought, credits: 26 })).rejects.toMatchObject({ status: 400 });
  await expectWallet(harness, organizationId, { purchased: 35, available: 35 });
});

test("a wallet that falls to its threshold is announced once", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 20, 10);
  for (const price of [9, 1, 1]) {
    await read(context, organizationId, price);
    await recordAllUsage(context, ALL_SHARDS);
  }
  const events = harness.kafka.taken.filter(({ key }) => key === organizationId);
  expect(events.map(({ value }) => JSON.parse(String(value)) as object)).toMatchObject([
    { type: "credits.low_balance", availableCredits: 10, lowBalanceThreshold: 10 },
  ]);
});

test("an empty Redis is synced with the same wallets, and nothing is charged twice", async () => {
  const { context, commands } = harness;
  const organizationId = await organizationWith(harness, 100);
  const shard = shardOf(organizationId);
  await read(context, organizationId, 11);
  const kept = await reserve(context, organizationId, 5);
  await recordAllUsage(context, ALL_SHARDS);
  const lost = await reserve(context, organizationId, 7);
  const before = await redisSums(context, organizationId);

  await context.redis.commands.flushall();
  expect(await read(context, organizationId, 1)).toEqual({ kind: "unsynced" });
  commands.open = [{ commandId: lost, organizationId, reservedCredits: 7 }];
  expect(await syncShards(context, [shard])).toEqual({ synced: [shard], unsynced: [], unreachable: [] });
  expect(await redisSums(context, organizationId)).toEqual(before);
  await expectWallet(harness, organizationId, { purchased: 100, consumed: 11, reserved: 12, available: 77 });

  await reserve(context, organizationId, 5, kept);
  await finish(context, organizationId, kept, 5);
  await finish(context, organizationId, lost, 7);
  await recordAllUsage(context, ALL_SHARDS);
  await expectWallet(harness, organizationId, { purchased: 100, consumed: 23, reserved: 0, available: 77 });
});

test("a change that is recorded while the shard is unsynced counts once in the synced wallet", async () => {
  const { context, commands } = harness;
  const organizationId = await organizationWith(harness, 100);
  const commandId = await reserve(context, organizationId, 5);
  await context.redis.commands.flushall();
  await finish(context, organizationId, commandId, 5);
  await purchaseCredits(context, { organizationId, credits: 50, purchaseId: randomUUID() });
  commands.open = [];
  await syncShards(context, ALL_SHARDS);
  await applyPending(context);
  await finish(context, organizationId, commandId, 5);
  await expectWallet(harness, organizationId, { purchased: 150, consumed: 5, reserved: 0, available: 145 });
});

test("a settlement that is recorded after the sync of its shard is applied to the synced wallet", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const commandId = await reserve(context, organizationId, 5);
  await context.redis.commands.flushall();
  // The sync does not know the reservation: Redis lost its usage entry, and the final event comes
  // later.
  await syncShards(context, ALL_SHARDS);
  expect(await redisSums(context, organizationId)).toMatchObject({ available: 100, reserved: 0 });
  await finish(context, organizationId, commandId, 5);
  await expectWallet(harness, organizationId, { purchased: 100, consumed: 5, reserved: 0, available: 95 });
});

test("two concurrent syncs set the wallets once", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  await context.redis.commands.flushall();
  const consume = async (): Promise<void> => {
    await eventually(async () => (await read(context, organizationId, 2)).kind === "admitted");
  };
  await Promise.all([syncShards(context, ALL_SHARDS), syncShards(context, ALL_SHARDS), consume()]);
  await recordAllUsage(context, ALL_SHARDS);
  await finish(context, organizationId, randomUUID(), 3);
  await expectWallet(harness, organizationId, { purchased: 100, consumed: 5, available: 95 });
});

test("reservations of unpublished commands are released minutes after the commands' deadline; reservations of published commands stay", async () => {
  const { context, commands } = harness;
  const organizationId = await organizationWith(harness, 100);
  const orphan = await reserve(context, organizationId, 5);
  const published = await reserve(context, organizationId, 7);
  const records = [{ commandId: randomUUID(), fingerprint: "print", message: "{}", credits: 20 }];
  const request = requestOf(organizationId, randomUUID());
  await admit(context.redis, { ...request, operation: "exportAccountHistory", mode: "reserve", records });
  commands.known = new Set([published]);
  await recordAllUsage(context, ALL_SHARDS);
  expect(await releaseOrphans(context, context.commandStatus)).toBe(0);
  const releaseAfter = async (ms: number): Promise<void> => {
    const clock = new TestClock(context.clock.nowMs() + ms);
    await releaseOrphans({ ...context, clock }, context.commandStatus);
    await applyPending(context);
  };
  await releaseAfter(COMMAND_DEADLINE_MS + WAITED_FOR_MS);
  await expectWallet(harness, organizationId, { available: 73, reserved: 27, consumed: 0 });
  await releaseAfter(EXPORT_DEADLINE_MS);
  await expectWallet(harness, organizationId, { available: 73, reserved: 27, consumed: 0 });
  await releaseAfter(EXPORT_DEADLINE_MS + WAITED_FOR_MS);
  await expectWallet(harness, organizationId, { available: 93, reserved: 7, consumed: 0 });
  await reserve(context, organizationId, 5, orphan);
  await expectWallet(harness, organizationId, { available: 93, reserved: 7, consumed: 0 });
});

test("a release reaches Redis although the process that recorded it dies", async () => {
  const { context, commands } = harness;
  const organizationId = await organizationWith(harness, 100);
  await reserve(context, organizationId, 5);
  await recordAllUsage(context, ALL_SHARDS);
  commands.known = new Set();
  const later = new TestClock(context.clock.nowMs() + COMMAND_DEADLINE_MS + WAITED_FOR_MS);
  expect(await releaseOrphans({ ...context, clock: later }, context.commandStatus)).toBeGreaterThan(0);
  // From here on, another process runs.
  await applyPending(context);
  await expectWallet(harness, organizationId, { available: 100, reserved: 0, consumed: 0 });
});

test("a settlement uses the reserved price, not the price in the final event, also if reservation and settlement are recorded together", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const recorded = await reserve(context, organizationId, 5);
  await recordAllUsage(context, ALL_SHARDS);
  await finish(context, organizationId, recorded, 7);
  await expectWallet(harness, organizationId, { available: 95, reserved: 0, consumed: 5 });
  const unread = await reserve(context, organizationId, 5);
  await finish(context, organizationId, unread, 7);
  await finish(context, organizationId, unread, 7);
  await expectWallet(harness, organizationId, { available: 90, reserved: 0, consumed: 10 });
  const released = await reserve(context, organizationId, 5);
  await finish(context, organizationId, released, 7, "release");
  await expectWallet(harness, organizationId, { available: 90, reserved: 0, consumed: 10 });
});

test("a request that is repeated after Redis lost its record and the ledger settled its command is charged once", async () => {
  const { context, commands } = harness;
  const organizationId = await organizationWith(harness, 100);
  const commandId = await reserve(context, organizationId, 5);
  await context.redis.commands.flushall();
  await finish(context, organizationId, commandId, 5);
  commands.open = [];
  await syncShards(context, ALL_SHARDS);
  await applyPending(context);
  // The repeated request is admitted as a new one: command-status does not have the command yet,
  // and Redis has lost the idempotency record.
  await reserve(context, organizationId, 5, commandId);
  expect(await redisSums(context, organizationId)).toMatchObject({ reserved: 5 });
  await recordAllUsage(context, ALL_SHARDS);
  await expectWallet(harness, organizationId, { available: 95, reserved: 0, consumed: 5 });
});

test("if a request is repeated long after its reservation was released, the new reservation does not stay", async () => {
  const { context, commands } = harness;
  const organizationId = await organizationWith(harness, 100);
  const commandId = await reserve(context, organizationId, 5);
  await recordAllUsage(context, ALL_SHARDS);
  commands.known = new Set();
  const later = new TestClock(context.clock.nowMs() + COMMAND_DEADLINE_MS + WAITED_FOR_MS);
  await releaseOrphans({ ...context, clock: later }, context.commandStatus);
  await applyPending(context);
  // Redis forgets settlements and idempotency records.
  const forgotten = await context.redis.commands.keys(`*:${commandId}`);
  await context.redis.commands.del(...forgotten);
  await reserve(context, organizationId, 5, commandId);
  await recordAllUsage(context, ALL_SHARDS);
  await expectWallet(harness, organizationId, { available: 100, reserved: 0, consumed: 0 });
});

test("a command that is executed after its reservation was released as an orphan is consumed once", async () => {
  const { context, commands } = harness;
  const organizationId = await organizationWith(harness, 100);
  const commandId = await reserve(context, organizationId, 5);
  await recordAllUsage(context, ALL_SHARDS);
  commands.known = new Set();
  const beforeDeadline = new TestClock(context.clock.nowMs() + COMMAND_DEADLINE_MS);
  await releaseOrphans({ ...context, clock: beforeDeadline }, context.commandStatus);
  await applyPending(context);
  await expectWallet(harness, organizationId, { available: 95, reserved: 5, consumed: 0 });
  const later = new TestClock(context.clock.nowMs() + COMMAND_DEADLINE_MS + WAITED_FOR_MS);
  await releaseOrphans({ ...context, clock: later }, context.commandStatus);
  await applyPending(context);
  await expectWallet(harness, organizationId, { available: 100, reserved: 0, consumed: 0 });
  await finish(context, organizationId, commandId, 5);
  await finish(context, organizationId, commandId, 5);
  await expectWallet(harness, organizationId, { available: 95, reserved: 0, consumed: 5 });
});

test("a repeated settlement is applied once, both if Redis forgot it and if Redis never had it", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const [settled, missed] = [await reserve(context, organizationId, 5), await reserve(context, organizationId, 7)];
  await recordAllUsage(context, ALL_SHARDS);
  await finish(context, organizationId, settled, 5);
  const dying = { ...context, store: { ...context.store, insertPending: () => Promise.resolve() } };
  const down = { ...context.redis, call: () => Promise.reject(new Error("no Redis")) };
  await finish({ ...dying, redis: down }, organizationId, missed, 7);
  const shard = shardOf(organizationId);
  await context.redis.commands.del(settledKey(shard, settled));
  const later = new TestClock(context.clock.nowMs() + SETTLED_TTL_MS);
  await recordSettlements(
    { ...context, clock: later },
    [finalEvent(context, organizationId, settled, 5), finalEvent(context, organizationId, missed, 7)],
    [],
  );
  await expectWallet(harness, organizationId, { available: 88, reserved: 0, consumed: 12 });
});

test("a purchase adds its credits once, whether the process dies before or after Redis applies it", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 10);
  const bought = { organizationId, credits: 25, purchaseId: randomUUID() };
  const change = await context.store.transaction((tx) => recordPurchase(tx, context.clock.nowMs(), bought));
  expect(await redisSums(context, organizationId)).toMatchObject({ purchased: 10 });
  // Another process applies the change in Redis, and dies before it deletes the pending change.
  await applyChanges({ ...context, store: { ...context.store, deletePending: () => Promise.resolve() } }, [
    assertDefined(change, "a new purchase"),
  ]);
  expect(await redisSums(context, organizationId)).toMatchObject({ purchased: 35 });
  await applyPending(context);
  await purchaseCredits(context, bought);
  await expectWallet(harness, organizationId, { purchased: 35, available: 35 });
});

test("a promoted replica with old wallets is synced from the ledger before it charges", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const shard = shardOf(organizationId);
  const before = await context.redis.commands.hgetall(walletKey(shard, organizationId));
  await read(context, organizationId, 30);
  const commandId = await reserve(context, organizationId, 5);
  await recordAllUsage(context, ALL_SHARDS);
  await read(context, organizationId, 2);
  // The replica lacks only the last changes of the wallet, and has its own replication id.
  await context.redis.commands.hset(walletKey(shard, organizationId), before);
  await context.redis.commands.hset(metaKey(shard), "replication", "0".repeat(40));
  expect(await read(context, organizationId, 1)).toEqual({ kind: "unsynced" });
  expect(await syncShards(context, [shard])).toEqual({ synced: [shard], unsynced: [], unreachable: [] });
  await expectWallet(harness, organizationId, { purchased: 100, consumed: 32, reserved: 5, available: 63 });
  await finish(context, organizationId, commandId, 5);
  await expectWallet(harness, organizationId, { purchased: 100, consumed: 37, reserved: 0, available: 63 });
});

test("entries of unknown organizations do not block other entries", async () => {
  const { context } = harness;
  const unknown = randomUUID();
  const wallet = { walletId: randomUUID(), lowBalanceThreshold: 0, createdAtMs: 1, epoch: Number.MAX_SAFE_INTEGER };
  await syncShards(context, ALL_SHARDS);
  await purchase(context.redis, { organizationId: unknown, purchaseId: randomUUID(), credits: 5, ...wallet });
  await read(context, unknown, 1);
  const organizationId = await organizationWith(harness, 10);
  await read(context, organizationId, 1);
  await recordAllUsage(context, ALL_SHARDS);
  await expectWallet(harness, organizationId, { available: 9 });
});

test("an entry keeps the epoch of its first recording", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 10);
  const shard = shardOf(organizationId);
  const entry = {
    chargeId: randomUUID(),
    kind: "settle",
    organizationId,
    credits: 1,
    action: "consume",
    operation: "x",
    requestId: null,
    commandId: null,
    atMs: 0,
  } as const;
  const record = (chargeId: string) =>
    context.store.transaction((tx) => recordUnderLocks(tx, [{ ...entry, chargeId }], 0));
  const [first] = await record(entry.chargeId);
  await context.redis.commands.flushall();
  await syncShards(context, [shard]);
  const [again] = await record(entry.chargeId);
  expect(again).toMatchObject({ isNew: false, epoch: first?.epoch });
  const [later] = await record(randomUUID());
  expect(later?.epoch).toBeGreaterThan(first?.epoch ?? 0);
});
