/**
 * Refunds, releases of reservations, and changes that Redis may have applied already: each counts
 * once, in the ledger and in Redis.
 */
import { randomUUID } from "node:crypto";

import { EXPORT_DEADLINE_MS } from "@kapi/contracts";
import { statement } from "@kapi/postgres";
import {
  admit,
  ALL_SHARDS,
  chargeKey,
  metaKey,
  refund,
  SETTLED_TTL_MS,
  settledKey,
  shardOf,
  usageKey,
} from "@kapi/admission/redis";
import { TestClock } from "@kapi/testkit";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { applyPending } from "../src/operations/credits/apply-pending.ts";
import { syncShards } from "../src/operations/credits/sync-shards.ts";
import { purchaseCredits } from "../src/operations/credits/purchase-credits.ts";
import { recordSettlements } from "../src/operations/credits/record-settlements.ts";
import { recordAllUsage } from "../src/operations/credits/record-usage.ts";
import { releaseOrphans } from "../src/operations/credits/release-orphans.ts";
import {
  expectWallet,
  finalEvent,
  finish,
  organizationWith,
  redisSums,
  reservationOf,
  reserve,
  requestOf,
  reserveAs,
  startLedger,
  type LedgerHarness,
} from "./support.ts";

let harness: LedgerHarness;
beforeAll(async () => {
  harness = await startLedger();
});
afterAll(() => harness.stop());

test.each(["in one batch", "after each request", "with the settlement"])(
  "with usage recorded %s, the credits of a command are consumed once, even if earlier reservations were released because the command was not published",
  async (read) => {
    const { context } = harness;
    const organizationId = await organizationWith(harness, 100);
    const commandId = randomUUID();
    for (let tries = 0; tries < 2; tries += 1) {
      const chargeId = await reserveAs(context, organizationId, commandId, 5);
      const call = { organizationId, chargeId, operation: "depositAccountFunds", requestId: "request" };
      const records = [{ commandId, mayBePublished: false }];
      expect(await refund(context.redis, { ...call, records })).toMatchObject({ credits: 5 });
      if (read === "after each request") await recordAllUsage(context, ALL_SHARDS);
    }
    await reserve(context, organizationId, 5, commandId);
    expect(await redisSums(context, organizationId)).toMatchObject({ available: 95, reserved: 5, consumed: 0 });
    if (read !== "with the settlement") {
      await recordAllUsage(context, ALL_SHARDS);
      await expectWallet(harness, organizationId, { available: 95, reserved: 5, consumed: 0 });
    }
    const reservation = await reservationOf(context, organizationId, commandId);
    const end = (): Promise<void> => finish(context, organizationId, commandId, 5, "consume", reservation);
    await end();
    await end();
    await expectWallet(harness, organizationId, { available: 95, reserved: 0, consumed: 5 });
    await context.redis.commands.hdel(metaKey(shardOf(organizationId)), "replication", "run");
    await syncShards(context, ALL_SHARDS);
    await end();
    await expectWallet(harness, organizationId, { available: 95, reserved: 0, consumed: 5 });
  },
);

test("the second reservation of a command is settled and does not stay open, also if a sync learnt of the command only from command-status", async () => {
  const { context, commands } = harness;
  const organizationId = await organizationWith(harness, 100);
  const commandId = randomUUID();
  const chargeId = await reserveAs(context, organizationId, commandId, 5);
  const call = { organizationId, chargeId, operation: "depositAccountFunds", requestId: "request" };
  await refund(context.redis, { ...call, records: [{ commandId, mayBePublished: false }] });
  await reserve(context, organizationId, 5, commandId);
  const reservation = await reservationOf(context, organizationId, commandId);
  expect(reservation).not.toBe(commandId);
  await context.redis.commands.flushall();
  commands.open = [{ commandId, organizationId, reservedCredits: 5 }];
  commands.known = new Set([commandId]);
  await syncShards(context, ALL_SHARDS);
  await expectWallet(harness, organizationId, { available: 95, reserved: 5, consumed: 0 });
  commands.open = [];
  await recordSettlements(context, [finalEvent(context, organizationId, commandId, 5, "consume", reservation)], []);
  await applyPending(context);
  await expectWallet(harness, organizationId, { available: 95, reserved: 0, consumed: 5 });
});

/**
 * Reserves credits for a command, releases them because the command was not published, and reserves
 * again; returns the ids of the command and of its new reservation.
 */
async function reservedAgain(organizationId: string): Promise<{ commandId: string; reservation: string }> {
  const { context } = harness;
  const commandId = randomUUID();
  const chargeId = await reserveAs(context, organizationId, commandId, 5);
  const call = { organizationId, chargeId, operation: "depositAccountFunds", requestId: "request" };
  await refund(context.redis, { ...call, records: [{ commandId, mayBePublished: false }] });
  await reserve(context, organizationId, 5, commandId);
  await recordAllUsage(context, ALL_SHARDS);
  const reservation = await reservationOf(context, organizationId, commandId);
  expect(reservation).not.toBe(commandId);
  return { commandId, reservation };
}

/** Releases orphans, at a time when the deadlines of all commands have passed. */
async function releaseLater(): Promise<void> {
  const { context } = harness;
  const later = new TestClock(context.clock.nowMs() + EXPORT_DEADLINE_MS + 3_600_000);
  await releaseOrphans({ ...context, clock: later }, context.commandStatus);
  await applyPending(context);
}

test("a second reservation of a command stays while the command is open, and is released if the command is unknown", async () => {
  const { context, commands } = harness;
  const organizationId = await organizationWith(harness, 100);
  const waiting = await reservedAgain(organizationId);
  await reservedAgain(organizationId);
  await expectWallet(harness, organizationId, { available: 90, reserved: 10, consumed: 0 });
  commands.known = new Set([waiting.commandId]);
  await releaseLater();
  await expectWallet(harness, organizationId, { available: 95, reserved: 5, consumed: 0 });
  await finish(context, organizationId, waiting.commandId, 5, "consume", waiting.reservation);
  await expectWallet(harness, organizationId, { available: 95, reserved: 0, consumed: 5 });
});

// The previous release of kapi does not store the command id of a reservation.
const forgetCommand = statement<Record<string, never>>(
  "test_forget_command",
  `update open_reservations set command_id = null where charge_id = $1`,
);

const selectSettlement = statement<{ operation: string }>(
  "test_select_settlement",
  `select operation from all_credit_entries where charge_id = $1 and leg = 'settle'`,
);

test("a second reservation of a command is released if the final event settles the first reservation", async () => {
  const { context, commands } = harness;
  const organizationId = await organizationWith(harness, 100);
  const { commandId, reservation } = await reservedAgain(organizationId);
  const first = await reserve(context, organizationId, 7);
  await recordAllUsage(context, ALL_SHARDS);
  await harness.database.query(forgetCommand, [first]);
  commands.known = new Set([commandId, first]);
  // The message with the first reservation was published, although the reservation was released.
  await finish(context, organizationId, commandId, 5);
  await releaseLater();
  await expectWallet(harness, organizationId, { available: 83, reserved: 12, consumed: 5 });
  commands.final = new Set([commandId, first]);
  await releaseLater();
  // The 7 credits stay reserved: this is the first reservation of its command, so the final event
  // in `command.events` will settle it.
  await expectWallet(harness, organizationId, { available: 88, reserved: 7, consumed: 5 });
  // The command of `reservation` was published and is final. Only this second reservation of the
  // command was not used, so its release is recorded as that of an orphan.
  const [settlement] = await harness.database.query(selectSettlement, [reservation]);
  expect(settlement?.operation).toBe("orphaned reservation");
  commands.final = new Set();
});

const agePending = statement<Record<string, never>>(
  "test_age_pending",
  `update pending_wallet_changes set created_at = now() - make_interval(mins => $2) where charge_id = any($1::uuid[])`,
);

/** A Redis that executes calls, but whose replies are lost. */
function redisWithoutReplies(): LedgerHarness["context"]["redis"] {
  const { redis } = harness.context;
  return {
    ...redis,
    call: async (name, keys, args) => {
      await redis.call(name, keys, args);
      throw new Error("the reply is lost");
    },
  };
}

test.each([
  ["by a retry while Redis still remembers the change", 10, false],
  ["by a sync if Redis may have forgotten the change", 61, true],
])("a change of a wallet is applied once if the reply of Redis was lost: %s", async (_what, minutes, isForgotten) => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const shard = shardOf(organizationId);
  const commandId = await reserve(context, organizationId, 5);
  await recordAllUsage(context, ALL_SHARDS);
  const withoutReplies = { ...context, redis: redisWithoutReplies() };
  await finish(withoutReplies, organizationId, commandId, 5);
  const purchaseId = randomUUID();
  await purchaseCredits(withoutReplies, { organizationId, credits: 25, purchaseId });
  await harness.database.query(agePending, [[commandId, purchaseId], minutes]);
  if (isForgotten) await context.redis.commands.del(settledKey(shard, commandId), settledKey(shard, purchaseId));
  const warn = vi.spyOn(context.logger, "warn");
  for (let round = 0; round < 3; round += 1) await applyPending(context);
  expect(warn).toHaveBeenCalledTimes(isForgotten ? 1 : 0);
  warn.mockRestore();
  // Changes that Redis may have forgotten are not applied again: a sync sets the wallets.
  expect(await syncShards(context, [shard])).toMatchObject({ synced: isForgotten ? [shard] : [] });
  await applyPending(context);
  await expectWallet(harness, organizationId, { purchased: 125, available: 120, reserved: 0, consumed: 5 });
  // Changes that the sync included are no longer pending.
  expect(await context.store.readPending(100, [], 0)).toEqual([]);
});

test("a settlement that reaches Redis long after it was recorded, and whose reply is lost, is applied once", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const shard = shardOf(organizationId);
  const commandId = await reserve(context, organizationId, 5);
  await recordAllUsage(context, ALL_SHARDS);
  const event = finalEvent(context, organizationId, commandId, 5);
  // The process dies before it settles in Redis and before it stores a pending change.
  const dying = { ...context.store, insertPending: () => Promise.resolve() };
  const down = { ...context.redis, call: () => Promise.reject(new Error("no Redis")) };
  await recordSettlements({ ...context, store: dying, redis: down }, [event], []);
  const later = new TestClock(context.clock.nowMs() + SETTLED_TTL_MS);
  await recordSettlements({ ...context, clock: later, redis: redisWithoutReplies() }, [event], []);
  expect(await redisSums(context, organizationId)).toMatchObject({ available: 95, reserved: 0, consumed: 5 });
  await context.redis.commands.del(settledKey(shard, commandId));
  await applyPending(context);
  await syncShards(context, [shard]);
  await applyPending(context);
  await expectWallet(harness, organizationId, { available: 95, reserved: 0, consumed: 5 });
  expect(await context.store.readPending(100, [], 0)).toEqual([]);
});

test.each([
  ["the process dies before and is down for hours", false],
  ["a process of the previous release, which stores no pending change, dies before", true],
])("a consumption after a release reaches Redis once, also if %s", async (_what, isFormer) => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const commandId = await reserve(context, organizationId, 5);
  await recordAllUsage(context, ALL_SHARDS);
  await finish(context, organizationId, commandId, 5, "release");
  const event = finalEvent(context, organizationId, commandId, 5);
  const insertPending = () => Promise.resolve();
  const former: typeof context.store.transaction = (work) =>
    context.store.transaction((tx) => work({ ...tx, insertPending }));
  const store = { ...context.store, ...(isFormer ? { transaction: former } : { insertPending }) };
  const down = { ...context.redis, call: () => Promise.reject(new Error("no Redis")) };
  await recordSettlements({ ...context, store, redis: down }, [event], []);
  const clock = isFormer ? context.clock : new TestClock(context.clock.nowMs() + SETTLED_TTL_MS);
  for (let time = 0; time < 2; time += 1) {
    await recordSettlements({ ...context, clock }, [event], []);
    await applyPending(context);
    await expectWallet(harness, organizationId, { available: 95, reserved: 0, consumed: 5 });
  }
  expect(await context.store.readPending(100, [], 0)).toEqual([]);
});

/**
 * Returns a ledger that calls `made` after its first recording. Its second recording waits for
 * `others`: the end of the first recording of another ledger.
 */
function pausing(others: Promise<unknown>, made: () => void): LedgerHarness["context"] {
  const { context } = harness;
  let recordings = 0;
  const transaction: LedgerHarness["context"]["store"]["transaction"] = (work) =>
    context.store.transaction((tx) =>
      work({
        ...tx,
        recordEntries: async (...recordArguments) => {
          recordings += 1;
          if (recordings === 2) await others;
          const recorded = await tx.recordEntries(...recordArguments);
          if (recordings === 1) made();
          return recorded;
        },
      }),
    );
  return { ...context, store: { ...context.store, transaction } };
}

test("two processes that concurrently settle commands with released reservations do not deadlock, and each command is consumed once", async () => {
  const { context } = harness;
  const one = await organizationWith(harness, 100);
  const other = await organizationWith(harness, 100);
  const commandOf = async (organizationId: string, isReleased: boolean): Promise<string> => {
    const commandId = await reserve(context, organizationId, 5);
    if (isReleased) await finish(context, organizationId, commandId, 5, "release");
    return commandId;
  };
  const endOf = async (organizationId: string, isReleased: boolean) =>
    finalEvent(context, organizationId, await commandOf(organizationId, isReleased), 5);
  // The first transaction of each process locks a wallet. The second transaction of the other
  // process needs this wallet, to consume the credits of a released reservation.
  const batches = [
    [await endOf(one, false), await endOf(other, true)],
    [await endOf(other, false), await endOf(one, true)],
  ];
  await recordAllUsage(context, ALL_SHARDS);
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  await Promise.all([
    recordSettlements(pausing(second.promise, first.resolve), batches[0] ?? [], []),
    recordSettlements(pausing(first.promise, second.resolve), batches[1] ?? [], []),
  ]);
  for (const id of [one, other]) await expectWallet(harness, id, { available: 90, reserved: 0, consumed: 10 });
});

test("a reservation that is read again from the usage stream, long after its settlement, changes nothing", async () => {
  const { context } = harness;
  const organizationId = await organizationWith(harness, 100);
  const shard = shardOf(organizationId);
  const commandId = await reserve(context, organizationId, 5);
  await recordAllUsage(context, ALL_SHARDS);
  await finish(context, organizationId, commandId, 5);
  await context.redis.commands.del(settledKey(shard, commandId));
  const entry = `reserve 5 ${commandId} ${organizationId} depositAccountFunds request`;
  await context.redis.commands.xadd(usageKey(shard), "*", "entry", entry);
  await recordAllUsage(context, ALL_SHARDS);
  await expectWallet(harness, organizationId, { available: 95, reserved: 0, consumed: 5 });
});

/**
 * Applies `change` to the data, then fails over to a replica that has this data. The shard of the
 * organization is synced from the ledger.
 */
async function failOver(organizationId: string, change: () => Promise<unknown>): Promise<void> {
  const { context } = harness;
  const shard = shardOf(organizationId);
  await change();
  await context.redis.commands.hset(metaKey(shard), "replication", "0".repeat(40));
  expect(await syncShards(context, [shard])).toMatchObject({ synced: [shard] });
}

/** Charges 3 credits for a request, and records the charge. `giveBack` refunds the charge. */
async function chargedRead(organizationId: string) {
  const { context } = harness;
  const chargeId = randomUUID();
  await admit(context.redis, { ...requestOf(organizationId, chargeId), mode: "consume", price: 3 });
  await recordAllUsage(context, ALL_SHARDS);
  const key = chargeKey(shardOf(organizationId), chargeId);
  const call = { organizationId, chargeId, operation: "getCommand", requestId: "request", records: [] };
  return { key, giveBack: () => refund(context.redis, call) };
}

/** Records usage, applies pending changes and syncs the shard, as the loops of the service do. */
async function recordAndSync(organizationId: string): Promise<void> {
  const { context } = harness;
  await recordAllUsage(context, ALL_SHARDS);
  await applyPending(context);
  await syncShards(context, [shardOf(organizationId)]);
  await applyPending(context);
}

test("a refund that is repeated after a failover is applied once, also if only the ledger has the refund", async () => {
  const { context } = harness;
  for (const isRefundLost of [false, true]) {
    const organizationId = await organizationWith(harness, 100);
    const { key, giveBack } = await chargedRead(organizationId);
    const record = await context.redis.commands.getBuffer(key);
    await giveBack();
    await recordAllUsage(context, ALL_SHARDS);
    await failOver(organizationId, async () => {
      if (isRefundLost) await context.redis.commands.set(key, record ?? "");
    });
    await giveBack();
    await giveBack();
    await recordAndSync(organizationId);
    await expectWallet(harness, organizationId, { available: 100, consumed: 0 });
  }
});

test("a charge is refunded after a failover, also if only the ledger has the charge", async () => {
  const { context } = harness;
  for (const isChargeLost of [false, true]) {
    const organizationId = await organizationWith(harness, 100);
    const { key, giveBack } = await chargedRead(organizationId);
    await failOver(organizationId, async () => {
      if (isChargeLost) await context.redis.commands.del(key);
    });
    await giveBack();
    await giveBack();
    await recordAndSync(organizationId);
    await expectWallet(harness, organizationId, { available: 100, consumed: 0 });
  }
});

test("an unknown charge is not refunded", async () => {
  const organizationId = await organizationWith(harness, 100);
  const call = { organizationId, chargeId: randomUUID(), operation: "getCommand", requestId: "request" };
  expect(await refund(harness.context.redis, call)).toMatchObject({ credits: 0 });
  await recordAndSync(organizationId);
  await expectWallet(harness, organizationId, { available: 100, consumed: 0 });
});
