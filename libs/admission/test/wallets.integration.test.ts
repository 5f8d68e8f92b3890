import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { RedisConnection } from "@kapi/redis";
import {
  type AdmitRequest,
  type UsageEntry,
  type WalletState,
  admit,
  unsyncedShards,
  metaKey,
  syncShard,
  type SyncedWallet,
  purchase,
  readWallet,
  refund,
  setLowBalanceThreshold,
  settle,
  type Shard,
  shardOf,
  walletKey,
} from "../src/redis/index.ts";
import {
  EPOCH,
  answer,
  record,
  connectEmpty,
  syncAll,
  organizationWith,
  request,
  reserve,
  usageOf,
  walletOf,
} from "./support.ts";

const START_CREDITS = 200;

let redis: RedisConnection;
let everywhere: (command: string) => Promise<void>;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ redis, everywhere, stop } = await connectEmpty());
});
afterAll(() => stop());

type Step =
  | { readonly do: "read"; readonly price: number }
  | { readonly do: "reserve"; readonly items: readonly number[]; readonly credits: number }
  | { readonly do: "settle"; readonly item: number; readonly credits: number; readonly action: "consume" | "release" }
  | { readonly do: "refund"; readonly price: number }
  | { readonly do: "buy"; readonly credits: number };

const item = fc.integer({ min: 0, max: 15 });
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("read"), price: fc.integer({ min: 0, max: 40 }) }),
  fc.record({
    do: fc.constant("reserve"),
    items: fc.uniqueArray(item, { minLength: 1, maxLength: 5 }),
    credits: fc.constant(7),
  }),
  fc.record({
    do: fc.constant("settle"),
    item,
    credits: fc.constant(7),
    action: fc.constantFrom("consume", "release"),
  }),
  fc.record({ do: fc.constant("refund"), price: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ do: fc.constant("buy"), credits: fc.integer({ min: 0, max: 30 }) }),
);

/** Whether purchased = available + reserved + consumed, and no sum is below zero. */
function isSound(wallet: WalletState): boolean {
  const { available, reserved, consumed, purchased } = wallet;
  return available + reserved + consumed === purchased && Math.min(available, reserved, consumed) >= 0;
}

class WalletModel {
  readonly wallets: WalletState[] = [];
  readonly settled = new Map<string, "consume" | "release">();
  bought = START_CREDITS;
  readonly organizationId: string;
  readonly items = Array.from({ length: 16 }, () => randomUUID());

  constructor(organizationId: string) {
    this.organizationId = organizationId;
  }

  async run(step: Step): Promise<void> {
    const { organizationId } = this;
    switch (step.do) {
      case "read":
        return this.admit(request(organizationId, { price: step.price }));
      case "reserve": {
        const records = step.items.map((at) => record({ commandId: this.items[at] ?? "", credits: step.credits }));
        const call = reserve(organizationId, records);
        await this.admit(call);
        await answer(
          redis,
          organizationId,
          records.map((wanted) => wanted.commandId),
          call.chargeId,
        );
        return;
      }
      case "settle":
        return this.settle(this.items[step.item] ?? "", step.credits, step.action);
      case "refund": {
        const call = request(organizationId, { price: step.price });
        await this.admit(call);
        await refund(redis, { organizationId, chargeId: call.chargeId, operation: "x", requestId: "x" });
        return;
      }
      case "buy": {
        this.bought += step.credits;
        const wallet = { walletId: randomUUID(), lowBalanceThreshold: 0, createdAtMs: 1, epoch: EPOCH };
        await purchase(redis, { organizationId, purchaseId: randomUUID(), credits: step.credits, ...wallet });
      }
    }
  }

  private async admit(call: AdmitRequest): Promise<void> {
    const reply = await admit(redis, call);
    if (reply.kind === "admitted") this.wallets.push(reply.wallet);
  }

  /**
   * Settles only reserved charges, and each always in the same way: a command has one final event.
   */
  private async settle(chargeId: string, credits: number, action: "consume" | "release"): Promise<void> {
    const { organizationId } = this;
    const isReserved = (await usageOf(redis, organizationId)).some((entry) => entry.chargeId === chargeId);
    if (!isReserved) return;
    const known = this.settled.get(chargeId) ?? action;
    this.settled.set(chargeId, known);
    await settle(redis, [{ organizationId, chargeId, credits, action: known, epoch: EPOCH }]);
  }
}

/** The sums that the ledger would derive from the entries. */
function derived(model: WalletModel, entries: readonly UsageEntry[]): Record<string, number> {
  const sum = (kind: string): number =>
    entries.filter((entry) => entry.kind === kind).reduce((total, entry) => total + entry.credits, 0);
  const settledAs = (action: string): number =>
    entries
      .filter((entry) => entry.kind === "reserve" && model.settled.get(entry.chargeId) === action)
      .reduce((total, entry) => total + entry.credits, 0);
  const consumed = sum("consume") - sum("refund") + settledAs("consume");
  const reserved = sum("reserve") - settledAs("consume") - settledAs("release");
  return { purchased: model.bought, consumed, reserved, available: model.bought - consumed - reserved };
}

test("under any concurrent calls, purchased = available + reserved + consumed, no sum is below zero, and the entries give the same sums", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 60 }), async (sequence) => {
      const model = new WalletModel(await organizationWith(redis, START_CREDITS));
      await Promise.all(sequence.map((step) => model.run(step)));
      const wallet = await walletOf(redis, model.organizationId);
      expect([...model.wallets, wallet].filter((seen) => !isSound(seen))).toEqual([]);
      expect(wallet).toMatchObject(derived(model, await usageOf(redis, model.organizationId)));
    }),
    { numRuns: 60 },
  );
});

test("after a flush of Redis a shard is unsynced, and a sync sets its wallets and reservations again", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  await admit(redis, reserve(organizationId, [wanted]));
  const before = await walletOf(redis, organizationId);
  const shard = shardOf(organizationId);

  await everywhere("FLUSHALL");
  expect(await unsyncedShards(redis, [shard])).toEqual([shard]);
  expect(await admit(redis, request(organizationId))).toEqual({ kind: "unsynced" });

  const reservations = [{ chargeId: wanted.commandId, credits: 5 }];
  expect(await syncShard(redis, shard, EPOCH + 1, [{ ...before, reservations }])).toBe("synced");
  expect(await syncShard(redis, shard, EPOCH + 2, [])).toBe("already");
  await syncAll(redis);
  expect(await walletOf(redis, organizationId)).toEqual(before);

  const again = await admit(redis, reserve(organizationId, [wanted]));
  expect(again).toMatchObject({ charged: 0, records: [{ kind: "created" }], wallet: { reserved: 5 } });
  await settle(redis, [
    { organizationId, chargeId: wanted.commandId, credits: 5, action: "consume", epoch: EPOCH + 1 },
  ]);
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 95, reserved: 0, consumed: 5 });
});

test("a sync in several calls sets all wallets and reservations, makes the shard ready only with the last call, and yields to a later sync", async () => {
  const [organizationId, calls] = [randomUUID(), { count: 0, longest: 0 }];
  const counting: RedisConnection = {
    ...redis,
    call: (name, keys, args) => {
      calls.count += 1;
      calls.longest = Math.max(calls.longest, keys.length);
      return redis.call(name, keys, args);
    },
  };
  const shard = shardOf(organizationId);
  const reservations = Array.from({ length: 25 }, () => ({ chargeId: randomUUID(), credits: 2 }));
  const wallet = syncedWallet(organizationId, { available: 30, reserved: 50, reservations });
  const others = sameShard(shard, 12).map((id) => syncedWallet(id, { available: 7 }));
  await everywhere("FLUSHALL");

  // A sync that stopped in the middle does not block the next sync.
  let stopped = 0;
  const stopping: RedisConnection = {
    ...redis,
    call: async (name, keys, args) => {
      if (stopped === 0) await redis.call(name, keys, args);
      stopped += 1;
      if (stopped === 2) throw new Error("the process ended");
      return "filled";
    },
  };
  await expect(syncShard(stopping, shard, EPOCH, [wallet], 10)).rejects.toThrow("ended");
  expect(await unsyncedShards(redis, [shard])).toEqual([shard]);
  expect(await admit(redis, request(organizationId))).toEqual({ kind: "unsynced" });
  // After the first call of this sync, a sync with a later epoch runs to its end.
  let laterReply: string | undefined;
  const overtaking: RedisConnection = {
    ...redis,
    call: async (name, keys, args) => {
      const reply = await redis.call(name, keys, args);
      if (args[0] === EPOCH + 1) laterReply ??= await syncShard(redis, shard, EPOCH + 2, [wallet, ...others], 10);
      return reply;
    },
  };
  const stale = syncedWallet(organizationId, { available: 999, reservations });
  expect(await syncShard(overtaking, shard, EPOCH + 1, [stale, ...others], 10)).toBe("already");
  expect(laterReply).toBe("synced");
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 30, reserved: 50 });

  await everywhere("FLUSHALL");
  expect(await syncShard(counting, shard, EPOCH + 3, [...others, wallet], 10)).toBe("synced");
  expect(calls.count).toBeGreaterThanOrEqual(4);
  expect(calls.longest).toBeLessThanOrEqual(21);
  for (const each of others) expect(await walletOf(redis, each.organizationId)).toMatchObject({ available: 7 });
  const [action, epoch] = ["release" as const, EPOCH + 3];
  await settle(
    redis,
    reservations.map(({ chargeId }) => ({ chargeId, organizationId, credits: 2, epoch, action })),
  );
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 80, reserved: 0 });
  await everywhere("FLUSHALL");
  await syncAll(redis);
});

test("after a sync has completed, a sync with the same or a lower epoch sets nothing, also if the shard is unsynced again", async () => {
  const [organizationId, chargeId] = [randomUUID(), randomUUID()];
  const shard = shardOf(organizationId);
  const wallet = (available: number): SyncedWallet =>
    syncedWallet(organizationId, {
      available,
      reservations: Array.from({ length: 25 }, () => ({ chargeId, credits: 0 })),
    });
  // Simulates a failover: the replication id changes, and the data stays.
  const failOver = async (): Promise<void> => {
    await redis.commands.hset(metaKey(shard), "replication", "0".repeat(40));
  };
  for (const maxEntries of [1_000, 10]) {
    await everywhere("FLUSHALL");
    await syncShard(redis, shard, EPOCH, []);
    await failOver();
    expect(await syncShard(redis, shard, EPOCH + 2, [wallet(30)])).toBe("synced");
    await failOver();
    expect(await syncShard(redis, shard, EPOCH + 1, [wallet(999)], maxEntries)).toBe("overtaken");
    expect(await syncShard(redis, shard, EPOCH + 2, [wallet(999)], maxEntries)).toBe("overtaken");
    expect(await unsyncedShards(redis, [shard])).toEqual([shard]);
    expect(await redis.commands.hget(walletKey(shard, organizationId), "available")).toBe("30");

    // After the first call of this sync, a sync with a later epoch completes, and the shard becomes
    // unsynced again.
    let calls = 0;
    const stalling: RedisConnection = {
      ...redis,
      call: async (name, keys, args) => {
        if (calls === 1) {
          expect(await syncShard(redis, shard, EPOCH + 4, [wallet(40)])).toBe("synced");
          await failOver();
        }
        calls += 1;
        return redis.call(name, keys, args);
      },
    };
    expect(await syncShard(stalling, shard, EPOCH + 3, [wallet(999)], 10)).toBe("overtaken");
    expect(await redis.commands.hget(walletKey(shard, organizationId), "available")).toBe("40");
    expect(await syncShard(redis, shard, EPOCH + 5, [wallet(50)], maxEntries)).toBe("synced");
    expect(await walletOf(redis, organizationId)).toMatchObject({ available: 50 });
  }
  await everywhere("FLUSHALL");
  await syncAll(redis);
});

test("an older sync cannot begin while a later sync is running", async () => {
  const [organizationId, chargeId] = [randomUUID(), randomUUID()];
  const shard = shardOf(organizationId);
  const wallet = syncedWallet(organizationId, {
    available: 30,
    reservations: Array.from({ length: 25 }, () => ({ chargeId, credits: 2 })),
  });
  await everywhere("FLUSHALL");
  let older: string | undefined;
  const redisOfLater: RedisConnection = {
    ...redis,
    call: async (name, keys, args) => {
      const reply = await redis.call(name, keys, args);
      older ??= await syncShard(redis, shard, EPOCH + 1, [syncedWallet(organizationId, { available: 999 })]);
      return reply;
    },
  };
  expect(await syncShard(redisOfLater, shard, EPOCH + 2, [wallet], 10)).toBe("synced");
  expect(older).toBe("overtaken");
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 30 });
  await everywhere("FLUSHALL");
  await syncAll(redis);
});

test("a shard that the previous release synced on this run of Redis stays ready, and gets the replication id", async () => {
  const organizationId = await organizationWith(redis, 100);
  const shard = shardOf(organizationId);
  await redis.commands.hdel(metaKey(shard), "replication");
  expect(await admit(redis, request(organizationId))).toMatchObject({ kind: "admitted" });
  expect(await unsyncedShards(redis, [shard])).toEqual([]);
  expect(await redis.commands.hget(metaKey(shard), "replication")).toMatch(/^[0-9a-f]{40}$/);
  await redis.commands.hset(metaKey(shard), "replication", "0".repeat(40));
  expect(await admit(redis, request(organizationId))).toEqual({ kind: "unsynced" });
  expect(await unsyncedShards(redis, [shard])).toEqual([shard]);
  await syncAll(redis);
});

test("reading shard states loads the library of this release, even if a process of the previous release has loaded the older library", async () => {
  const organizationId = await organizationWith(redis, 100);
  const shard = shardOf(organizationId);
  // A shard as release 0.1.0 synced it, and a library with only one function of that release.
  await redis.commands.hdel(metaKey(shard), "replication");
  const older = "#!lua name=kapi\\nredis.register_function('kapi_tag_state', function() return 1 end)";
  await everywhere(`FUNCTION LOAD REPLACE "${older}"`);
  expect(await unsyncedShards(redis, [shard])).toEqual([]);
  expect(await redis.commands.hget(metaKey(shard), "replication")).toMatch(/^[0-9a-f]{40}$/);
  await syncAll(redis);
});

function syncedWallet(organizationId: string, changes: Partial<SyncedWallet>): SyncedWallet {
  const sums = { available: 0, reserved: 0, consumed: 0, purchased: 0, lowBalanceThreshold: 0 };
  const times = { createdAtMs: 1_800_000_000_000, updatedAtMs: 1_800_000_000_000 };
  return { id: randomUUID(), organizationId, ...sums, ...times, reservations: [], ...changes };
}

function sameShard(shard: Shard, count: number): string[] {
  const found: string[] = [];
  while (found.length < count) {
    const id = randomUUID();
    if (shardOf(id) === shard) found.push(id);
  }
  return found;
}

test("reading a wallet and setting its low-balance threshold cost nothing; both fail while the shard is unsynced", async () => {
  // A test before this one may have left a shard unsynced, under a later epoch.
  await everywhere("FLUSHALL");
  await syncAll(redis);
  const organizationId = await organizationWith(redis, 50);
  const wallet = { organizationId, available: 50, lowBalanceThreshold: 0 };
  expect(await readWallet(redis, organizationId)).toMatchObject({ kind: "wallet", wallet });
  const changed = { kind: "wallet", wallet: { ...wallet, lowBalanceThreshold: 60 } };
  expect(await setLowBalanceThreshold(redis, organizationId, 60)).toMatchObject(changed);
  expect(await readWallet(redis, organizationId)).toMatchObject(changed);
  expect(await usageOf(redis, organizationId)).toEqual([]);
  const nobody = randomUUID();
  expect(await setLowBalanceThreshold(redis, nobody, 60)).toEqual({ kind: "no_wallet" });
  expect(await redis.commands.exists(walletKey(shardOf(nobody), nobody))).toBe(0);
  await everywhere("FLUSHALL");
  expect(await readWallet(redis, organizationId)).toEqual({ kind: "unsynced" });
  expect(await setLowBalanceThreshold(redis, organizationId, 70)).toEqual({ kind: "unsynced" });
  await syncAll(redis);
});
