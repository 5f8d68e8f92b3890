import { randomUUID } from "node:crypto";

import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "@kapi/kernel";
import type { RedisConnection } from "@kapi/redis";
import { eventually } from "@kapi/testkit";
import {
  type AdmitReply,
  admit,
  bucketKey,
  metaKey,
  purchase,
  refund,
  revokeKey,
  settle,
  shardOf,
} from "../src/redis/index.ts";
import {
  EPOCH,
  record,
  connectEmpty,
  dropWallet,
  organizationWith,
  request,
  reserve,
  usageOf,
  walletOf,
} from "./support.ts";

let redis: RedisConnection;
let everywhere: (command: string) => Promise<void>;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ redis, everywhere, stop } = await connectEmpty());
});
afterAll(() => stop());

test("a call repeated with the same charge id charges once and gets the same reply", async () => {
  const organizationId = await organizationWith(redis, 100);
  const call = request(organizationId, { price: 7 });
  const replies = await Promise.all(Array.from({ length: 20 }, () => admit(redis, call)));
  expect(new Set(replies.map((reply) => JSON.stringify(reply))).size).toBe(1);
  expect(replies[0]).toMatchObject({ kind: "admitted", charged: 7, wallet: { available: 93, consumed: 7 } });
  expect(await usageOf(redis, organizationId)).toHaveLength(1);
});

test("a reservation repeated with the same charge id reserves once and keeps its record", async () => {
  const organizationId = await organizationWith(redis, 100);
  const call = reserve(organizationId, [record()]);
  const first = await admit(redis, call);
  expect(await admit(redis, call)).toEqual(first);
  expect(first).toMatchObject({ charged: 5, wallet: { available: 95, reserved: 5 }, records: [{ kind: "created" }] });
});

test("a price above the available credits is rejected, and the wallet never falls below zero", async () => {
  const organizationId = await organizationWith(redis, 10);
  const calls = Array.from({ length: 50 }, (_, at) =>
    at % 2 ? request(organizationId, { price: 3 }) : reserve(organizationId, [record({ credits: 3 })]),
  );
  const replies = await Promise.all(calls.map((call) => admit(redis, call)));
  expect(replies.filter((reply) => reply.kind === "admitted")).toHaveLength(3);
  expect(replies.filter((reply) => reply.kind === "unpaid")).toHaveLength(47);
  expect((await walletOf(redis, organizationId)).available).toBe(1);
});

test("an organization without a wallet gets `no_wallet`, not `unpaid`", async () => {
  const organizationId = await organizationWith(redis, 1);
  await dropWallet(redis, organizationId);
  expect(await admit(redis, request(organizationId))).toEqual({ kind: "no_wallet" });
});

test("a revoked key is rejected at once and costs nothing", async () => {
  const organizationId = await organizationWith(redis, 5);
  const keyId = randomUUID();
  await revokeKey(redis, organizationId, keyId);
  expect(await admit(redis, request(organizationId, { callerName: keyId }))).toEqual({ kind: "revoked" });
  expect((await walletOf(redis, organizationId)).available).toBe(5);
});

test("above the rate limit nothing is billed, and the reply has the time to wait", async () => {
  const organizationId = await organizationWith(redis, 100);
  const rateLimit = { perSecond: 0.5, burst: 3 };
  const keyId = randomUUID();
  const replies = [];
  for (let call = 0; call < 5; call += 1)
    replies.push(await admit(redis, request(organizationId, { callerName: keyId, rateLimit })));
  expect(replies.map((reply) => reply.kind)).toEqual(["admitted", "admitted", "admitted", "limited", "limited"]);
  const { retryAfterMs = 0 } = replies[4]?.kind === "limited" ? replies[4] : {};
  expect(retryAfterMs).toBeLessThanOrEqual(2_000);
  expect(retryAfterMs).toBeGreaterThan(1_000);
  expect((await walletOf(redis, organizationId)).available).toBe(97);
});

test("a bucket fills from the moment at which the clock of Redis was set back", async () => {
  const organizationId = await organizationWith(redis, 100);
  const callerName = randomUUID();
  const call = (): Promise<AdmitReply> =>
    admit(redis, request(organizationId, { callerName, rateLimit: { perSecond: 10, burst: 1 } }));
  const inAnHourMs = systemClock.nowMs() + 3_600_000;
  const emptied = { tokens: 0, at: inAnHourMs, kept: inAnHourMs + 60_000 };
  await redis.commands.hset(bucketKey(shardOf(organizationId), callerName), emptied);
  expect(await call()).toMatchObject({ kind: "limited" });
  // The next token comes after 100 ms.
  await eventually(async () => expect(await call()).toMatchObject({ kind: "admitted" }), { timeoutMs: 5_000 });
});

test("a shard synced under another replication id answers as unsynced", async () => {
  const organizationId = await organizationWith(redis, 100);
  const meta = metaKey(shardOf(organizationId));
  const replicationId = (await redis.commands.hget(meta, "replication")) ?? "";
  await redis.commands.hset(meta, "replication", "0123456789abcdef");
  const settlement = { organizationId, chargeId: randomUUID(), credits: 1, action: "consume", epoch: EPOCH } as const;
  try {
    expect(await admit(redis, request(organizationId))).toEqual({ kind: "unsynced" });
    expect(await settle(redis, [settlement])).toEqual(["unsynced"]);
  } finally {
    await redis.commands.hset(meta, "replication", replicationId);
  }
  expect(await admit(redis, request(organizationId))).toMatchObject({ kind: "admitted" });
});

test("if its usage stream is full, the shard answers as unsynced and loses no entry", async () => {
  const organizationId = await organizationWith(redis, 100);
  const settings = { recordOpenMs: 5_000, usageStreamLimit: 2 };
  const entries = (): Promise<number> => usageOf(redis, organizationId).then((found) => found.length);
  await redis.commands.xtrim(`{b${String(shardOf(organizationId)).padStart(2, "0")}}:usage`, "MAXLEN", 0);
  expect(await admit(redis, request(organizationId), settings)).toMatchObject({ kind: "admitted" });
  const bulk = reserve(organizationId, [record(), record()]);
  expect(await admit(redis, bulk, settings)).toEqual({ kind: "unsynced" });
  expect(await admit(redis, request(organizationId), settings)).toMatchObject({ kind: "admitted" });
  expect(await admit(redis, request(organizationId), settings)).toEqual({ kind: "unsynced" });
  expect(await entries()).toBe(2);
  expect((await walletOf(redis, organizationId)).available).toBe(98);
  // Deletes the entries, as the organization service does: then the stream has room again.
  await redis.commands.xtrim(`{b${String(shardOf(organizationId)).padStart(2, "0")}}:usage`, "MAXLEN", 0);
  expect(await admit(redis, request(organizationId), settings)).toMatchObject({ kind: "admitted" });
});

test("a rate-limit bucket expires after the time that an empty bucket needs to fill, but less than two minutes later", async () => {
  const organizationId = await organizationWith(redis, 100);
  const keyId = randomUUID();
  const bucket = bucketKey(shardOf(organizationId), keyId);
  const slow = { perSecond: 0.01, burst: 3 };
  for (const rateLimit of [{ perSecond: 10, burst: 10 }, slow, slow]) {
    await admit(redis, request(organizationId, { callerName: keyId, rateLimit }));
    const untilFullMs = (rateLimit.burst * 1_000) / rateLimit.perSecond;
    const keptMs = await redis.commands.pttl(bucket);
    expect(keptMs).toBeGreaterThan(untilFullMs);
    expect(keptMs).toBeLessThan(untilFullMs + 120_000);
  }
});

test("a consumed charge is refunded once, with a refund entry", async () => {
  const organizationId = await organizationWith(redis, 100);
  const call = request(organizationId, { price: 4 });
  await admit(redis, call);
  const { chargeId, callerName, operation, requestId } = call;
  const again = { organizationId, chargeId, callerName, operation, requestId };
  expect(await refund(redis, again)).toMatchObject({ credits: 4, wallet: { available: 100, consumed: 0 } });
  expect(await refund(redis, again)).toMatchObject({ credits: 0 });
  expect((await usageOf(redis, organizationId)).map((entry) => [entry.kind, entry.createdBy])).toEqual([
    ["consume", { type: "key", id: callerName }],
    ["refund", { type: "key", id: callerName }],
  ]);
});

test("a refund that names no idempotency records releases no reservation", async () => {
  const organizationId = await organizationWith(redis, 100);
  const call = reserve(organizationId, [record()]);
  await admit(redis, call);
  const again = { organizationId, chargeId: call.chargeId, operation: call.operation, requestId: call.requestId };
  expect(await refund(redis, again)).toMatchObject({ credits: 0 });
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 95, reserved: 5 });
});

test("a reservation is settled once: consumed, or available again", async () => {
  const organizationId = await organizationWith(redis, 100);
  const [kept, released] = [record(), record()];
  await admit(redis, reserve(organizationId, [kept, released]));
  const both = [
    { organizationId, chargeId: kept.commandId, credits: 5, action: "consume", epoch: EPOCH },
    { organizationId, chargeId: released.commandId, credits: 5, action: "release", epoch: EPOCH },
  ] as const;
  expect(await settle(redis, [...both, ...both])).toEqual(["done", "done", "done", "done"]);
  expect(await walletOf(redis, organizationId)).toMatchObject({
    available: 95,
    reserved: 0,
    consumed: 5,
    purchased: 100,
  });
});

test("if Redis lost a reservation, its consumption is taken from the available credits, and its release changes nothing", async () => {
  const organizationId = await organizationWith(redis, 100);
  const lost = { organizationId, credits: 5, epoch: EPOCH };
  await settle(redis, [
    { ...lost, chargeId: randomUUID(), action: "consume" },
    { ...lost, chargeId: randomUUID(), action: "release" },
  ]);
  expect(await walletOf(redis, organizationId)).toMatchObject({
    available: 95,
    reserved: 0,
    consumed: 5,
    purchased: 100,
  });
});

test("requests that cost nothing are admitted although a lost reservation brought the wallet below zero", async () => {
  const organizationId = await organizationWith(redis, 5);
  const wanted = record();
  await admit(redis, reserve(organizationId, [wanted]));
  await settle(redis, [{ organizationId, chargeId: randomUUID(), credits: 3, action: "consume", epoch: EPOCH }]);
  expect((await walletOf(redis, organizationId)).available).toBe(-3);
  const takeOver = reserve(organizationId, [wanted]);
  const atOnce = { recordOpenMs: 0, usageStreamLimit: 1_000 };
  expect(await admit(redis, takeOver, atOnce)).toMatchObject({ kind: "admitted", records: [{ kind: "reclaimed" }] });
  expect(await admit(redis, request(organizationId))).toEqual({ kind: "unpaid" });
});

test("a change that the last sync included in the wallet is not applied again, but a reservation that Redis still has is released", async () => {
  const organizationId = await organizationWith(redis, 100);
  const call = reserve(organizationId, [record()]);
  await admit(redis, call);
  const chargeId = call.records[0]?.commandId ?? "";
  const older = { organizationId, chargeId, credits: 5, action: "consume", epoch: EPOCH - 1 } as const;
  expect(await settle(redis, [older, older])).toEqual(["included", "included"]);
  const wallet = { walletId: randomUUID(), lowBalanceThreshold: 0, createdAtMs: 1 };
  const bought = { organizationId, purchaseId: randomUUID(), credits: 9, ...wallet };
  expect(await purchase(redis, { ...bought, epoch: EPOCH - 1 })).toBe("included");
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 100, reserved: 0, purchased: 100 });
  expect(await purchase(redis, { ...bought, epoch: EPOCH })).toBe("done");
  expect(await purchase(redis, { ...bought, epoch: EPOCH })).toBe("done");
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 109, purchased: 109 });
});

test("a library that Redis has lost is loaded again, and the call succeeds", async () => {
  const organizationId = await organizationWith(redis, 2);
  await everywhere("FUNCTION DELETE kapi");
  expect(await admit(redis, request(organizationId))).toMatchObject({ kind: "admitted", charged: 1 });
});
