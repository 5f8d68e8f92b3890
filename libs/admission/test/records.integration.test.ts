import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "@kapi/kernel";
import type { RedisConnection } from "@kapi/redis";
import {
  RECORD_TTL_MS,
  FINAL_RECORD_TTL_MS,
  admit,
  recordKey,
  recordedMessage,
  forget,
  refund,
  settle,
  settledKey,
  shardOf,
} from "../src/redis/index.ts";
import {
  EPOCH,
  answer,
  record,
  connectEmpty,
  organizationWith,
  request,
  reserve,
  usageOf,
  walletOf,
  whileOpen,
  DEADLINE_MS,
  QUICK,
} from "./support.ts";

let redis: RedisConnection;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ redis, stop } = await connectEmpty());
});
afterAll(() => stop());

test("an equal request gets `open` and pays nothing while the record is open, and is a duplicate after the record is completed", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  const first = reserve(organizationId, [wanted]);
  const second = reserve(organizationId, [wanted], { rateLimit: { perSecond: 0.001, burst: 1 } });
  await admit(redis, first);
  const waiting = await admit(redis, second);
  expect(waiting).toMatchObject({ kind: "admitted", charged: 0, records: [{ kind: "open" }] });
  expect(await answer(redis, organizationId, [wanted.commandId], first.chargeId)).toBe(true);
  const answered = await admit(redis, second);
  expect(answered).toMatchObject({ charged: 1, records: [{ kind: "duplicate", message: wanted.message }] });
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 94, reserved: 5, consumed: 1 });
});

test("one of many equal requests reclaims a record that stayed open, gets the message of the first request and pays nothing more", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first, QUICK);
  const equals = Array.from({ length: 5 }, () => reserve(organizationId, [{ ...wanted, message: "{}" }]));
  const firstPoll = await Promise.race(equals.map((equal) => whileOpen(redis, equal)));
  expect(firstPoll).toMatchObject({ charged: 5, records: [{ kind: "reclaimed", message: wanted.message }] });
  expect(await answer(redis, organizationId, [wanted.commandId], first.chargeId, QUICK)).toBe(false);
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 95, reserved: 5, consumed: 0 });
  expect(await usageOf(redis, organizationId)).toHaveLength(1);
});

test("an open record from before the clock of Redis was set back is reclaimed", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first);
  const key = recordKey(shardOf(organizationId), wanted.commandId);
  await redis.commands.hset(key, "at", systemClock.nowMs() + 3_600_000);
  const next = await admit(redis, reserve(organizationId, [wanted]));
  expect(next).toMatchObject({ charged: 5, records: [{ kind: "reclaimed", message: wanted.message }] });
  expect(await answer(redis, organizationId, [wanted.commandId], first.chargeId)).toBe(false);
});

test("exactly one of many concurrent equal requests creates the record", async () => {
  const organizationId = await organizationWith(redis, 1_000);
  const wanted = record();
  const calls = Array.from({ length: 30 }, () => reserve(organizationId, [wanted]));
  const replies = await Promise.all(calls.map((call) => admit(redis, call)));
  const kinds = replies.map((reply) => (reply.kind === "admitted" ? reply.records[0]?.kind : reply.kind));
  expect(kinds.filter((kind) => kind === "created")).toHaveLength(1);
  expect(kinds.filter((kind) => kind === "open")).toHaveLength(29);
  expect((await walletOf(redis, organizationId)).reserved).toBe(5);
});

test("a different request under a used key creates no record and pays the read price", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  await admit(redis, reserve(organizationId, [wanted]));
  const other = reserve(organizationId, [{ ...wanted, fingerprint: "other" }, record()]);
  const reply = await admit(redis, other);
  expect(reply).toMatchObject({ charged: 1, records: [{ kind: "mismatch" }, { kind: "skipped" }] });
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 94, reserved: 5, consumed: 1 });
});

test("the price of a bulk is that of its new records", async () => {
  const organizationId = await organizationWith(redis, 100);
  const [known, used, fresh] = [record(), record(), record({ credits: 10 })];
  const first = reserve(organizationId, [used]);
  await admit(redis, first);
  await answer(redis, organizationId, [used.commandId], first.chargeId);
  const reply = await admit(redis, reserve(organizationId, [known, used, fresh], { knownDuplicates: [true] }));
  expect(reply).toMatchObject({
    charged: 10,
    records: [{ kind: "duplicate", message: null }, { kind: "duplicate" }, { kind: "created" }],
  });
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 85, reserved: 15 });
});

test("a bulk of a hundred that cannot be paid completely creates no record", async () => {
  const organizationId = await organizationWith(redis, 999);
  const items = Array.from({ length: 100 }, () => record({ credits: 10 }));
  expect(await admit(redis, reserve(organizationId, items))).toEqual({ kind: "unpaid" });
  expect(await admit(redis, reserve(organizationId, items.slice(1)))).toMatchObject({ charged: 990 });
  expect(await usageOf(redis, organizationId)).toHaveLength(99);
});

test("a duplicate is never rejected for lack of credits: if the price cannot be paid, it is not charged", async () => {
  const organizationId = await organizationWith(redis, 5);
  const wanted = record();
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first);
  await answer(redis, organizationId, [wanted.commandId], first.chargeId);
  const reply = await admit(redis, reserve(organizationId, [wanted]));
  expect(reply).toMatchObject({ kind: "admitted", charged: 0, records: [{ kind: "duplicate" }] });
  expect(await admit(redis, request(organizationId))).toEqual({ kind: "unpaid" });
});

test("an open record takes precedence over the command in command-status: an equal request gets `open`", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  await admit(redis, reserve(organizationId, [wanted]), QUICK);
  const retry = reserve(organizationId, [wanted], { knownDuplicates: [true] });
  expect(await admit(redis, retry, QUICK)).toMatchObject({ records: [{ kind: "open" }] });
  expect(await whileOpen(redis, retry)).toMatchObject({ records: [{ kind: "reclaimed" }] });
});

test("a record is kept for a day; after its command is final, the record has no message and is kept for an hour", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first);
  await answer(redis, organizationId, [wanted.commandId], first.chargeId);
  const key = recordKey(shardOf(organizationId), wanted.commandId);
  const command = { organizationId, commandId: wanted.commandId };
  const ttl = await redis.commands.pttl(key);
  expect(ttl).toBeGreaterThan(RECORD_TTL_MS - DEADLINE_MS);
  expect(await recordedMessage(redis, organizationId, wanted.commandId)).toBe(wanted.message);
  const late = reserve(organizationId, [wanted]);
  expect(await admit(redis, late)).toMatchObject({ records: [{ kind: "duplicate", message: wanted.message }] });
  await forget(redis, [command]);
  expect(await redis.commands.pttl(key)).toBeLessThanOrEqual(FINAL_RECORD_TTL_MS);
  expect(await admit(redis, late)).toMatchObject({ charged: 1, records: [{ kind: "duplicate", message: null }] });
  expect(await recordedMessage(redis, organizationId, wanted.commandId)).toBeNull();
  const reply = await admit(redis, reserve(organizationId, [wanted]));
  expect(reply).toMatchObject({ records: [{ kind: "duplicate", message: null }] });
});

test("a retry reserves nothing for a command whose first reservation was released and whose second was consumed", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  const giveBack = (call: ReturnType<typeof reserve>, mayBePublished: boolean) =>
    refund(redis, { ...call, organizationId, records: [{ commandId: wanted.commandId, mayBePublished }] });
  const unpublished = reserve(organizationId, [wanted]);
  await admit(redis, unpublished);
  await giveBack(unpublished, false);
  const published = reserve(organizationId, [wanted]);
  const reply = await admit(redis, published);
  const [outcome] = reply.kind === "admitted" ? reply.records : [];
  const chargeId = (outcome?.kind === "created" && outcome.chargeId) || "";
  await settle(redis, [{ organizationId, credits: 5, epoch: EPOCH, chargeId, action: "consume" }]);
  // command-status does not have the command yet.
  await giveBack(published, true);
  const retry = await admit(redis, reserve(organizationId, [wanted]));
  expect(retry).toMatchObject({ records: [{ kind: "reclaimed", chargeId }] });
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 95, reserved: 0, consumed: 5 });
});

test("the reservation of an unpublished command is released at once, and the next equal request creates the record again", async () => {
  const organizationId = await organizationWith(redis, 100);
  const [one, other, known] = [record(), record(), record()];
  const first = reserve(organizationId, [one, other, known], { knownDuplicates: [false, false, true] });
  await admit(redis, first);
  const records = [one, other, known].map(({ commandId }) => ({
    commandId,
    mayBePublished: commandId === other.commandId,
  }));
  expect(await refund(redis, { ...first, organizationId, records })).toMatchObject({ credits: 5 });
  expect(await refund(redis, { ...first, organizationId, records })).toMatchObject({ credits: 0 });
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 95, reserved: 5, consumed: 0 });
  const entries = (await usageOf(redis, organizationId)).map(({ kind, chargeId }) => [kind, chargeId]);
  expect(entries).toEqual([
    ["reserve", one.commandId],
    ["reserve", other.commandId],
    ["release", one.commandId],
  ]);
  const retry = await admit(redis, reserve(organizationId, [one, other]));
  expect(retry).toMatchObject({ records: [{ kind: "created" }, { kind: "reclaimed" }] });
});

test("after a reservation was released, an equal request reserves again under another charge id, or is rejected if the wallet cannot pay", async () => {
  const organizationId = await organizationWith(redis, 5);
  const wanted = record();
  const records = [{ commandId: wanted.commandId, mayBePublished: false }];
  const chargeIds: (string | null)[] = [];
  for (let tries = 0; tries < 3; tries += 1) {
    const call = reserve(organizationId, [wanted]);
    const reply = await admit(redis, call);
    expect(reply).toMatchObject({ charged: 5, records: [{ kind: "created" }] });
    expect(await admit(redis, call)).toEqual(reply);
    expect(await walletOf(redis, organizationId)).toMatchObject({ available: 0, reserved: 5 });
    const [outcome] = reply.kind === "admitted" ? reply.records : [];
    if (outcome?.kind === "created") chargeIds.push(outcome.chargeId);
    expect(await refund(redis, { ...call, organizationId, records })).toMatchObject({ credits: 5 });
    expect(await recordedMessage(redis, organizationId, wanted.commandId)).toBeNull();
  }
  const [first, second, third] = chargeIds;
  expect(first).toBeNull();
  expect(new Set([wanted.commandId, second, third]).size).toBe(3);
  const entries = (await usageOf(redis, organizationId)).map((entry) => [entry.kind, entry.chargeId, entry.commandId]);
  expect(entries).toEqual(
    [wanted.commandId, second, third].flatMap((chargeId) => [
      ["reserve", chargeId, wanted.commandId],
      ["release", chargeId, wanted.commandId],
    ]),
  );
  await admit(redis, request(organizationId));
  expect(await admit(redis, reserve(organizationId, [wanted]))).toEqual({ kind: "unpaid" });
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 4, reserved: 0, consumed: 1 });
});

test("a request that reclaims a record reserves its credits again if they were released, but not if they were consumed or command-status has the command", async () => {
  const organizationId = await organizationWith(redis, 10);
  const [orphan, known, consumed, lost] = [record(), record(), record(), record()] as const;
  const settlement = { organizationId, credits: 5, epoch: EPOCH };
  for (const [wanted, action] of [
    [orphan, "release"],
    [known, "release"],
    [consumed, "consume"],
    [lost, "release"],
  ] as const) {
    await admit(redis, reserve(organizationId, [wanted]), QUICK);
    await settle(redis, [{ ...settlement, chargeId: wanted.commandId, action }]);
  }
  // Redis keeps the action of a settlement for a shorter time than the record.
  await redis.commands.del(settledKey(shardOf(organizationId), lost.commandId));
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 5, reserved: 0, consumed: 5 });
  const ofKnown = await whileOpen(redis, reserve(organizationId, [known], { knownDuplicates: [true] }));
  expect(ofKnown).toMatchObject({ charged: 5, records: [{ kind: "reclaimed", chargeId: null }] });
  const ofConsumed = await whileOpen(redis, reserve(organizationId, [consumed]));
  expect(ofConsumed).toMatchObject({ charged: 5, records: [{ kind: "reclaimed", chargeId: null }] });
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 5, reserved: 0, consumed: 5 });

  const both = reserve(organizationId, [orphan, lost]);
  expect(await whileOpen(redis, both)).toEqual({ kind: "unpaid" });
  const retry = reserve(organizationId, [orphan]);
  const reply = await whileOpen(redis, retry);
  expect(reply).toMatchObject({ charged: 5, records: [{ kind: "reclaimed", message: orphan.message }] });
  const [outcome] = reply.kind === "admitted" ? reply.records : [];
  const chargeId = (outcome?.kind === "reclaimed" && outcome.chargeId) || "";
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 0, reserved: 5, consumed: 5 });
  // The next request reclaims the record with the same reservation.
  const next = await whileOpen(redis, reserve(organizationId, [orphan]));
  expect(next).toMatchObject({ charged: 5, records: [{ kind: "reclaimed", chargeId }] });
  await settle(redis, [{ ...settlement, chargeId, action: "consume" }]);
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 0, reserved: 0, consumed: 10 });
  expect(await whileOpen(redis, reserve(organizationId, [lost]))).toEqual({ kind: "unpaid" });
});

test("if Redis lost a record and the next equal request is not published, the reservation of the first request stays", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  await admit(redis, reserve(organizationId, [wanted]));
  await redis.commands.del(recordKey(shardOf(organizationId), wanted.commandId));
  const later = reserve(organizationId, [wanted]);
  await admit(redis, later);
  const records = [{ commandId: wanted.commandId, mayBePublished: false }];
  expect(await refund(redis, { ...later, organizationId, records })).toMatchObject({ credits: 0 });
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 95, reserved: 5, consumed: 0 });
});

test("an admission that reaches Redis after its refund charges nothing", async () => {
  const organizationId = await organizationWith(redis, 100);
  const [consuming, wanted] = [request(organizationId), record()];
  const reserving = reserve(organizationId, [wanted]);
  expect(await refund(redis, { ...consuming, organizationId, records: [] })).toMatchObject({ credits: 0 });
  const records = [{ commandId: wanted.commandId, mayBePublished: false }];
  expect(await refund(redis, { ...reserving, organizationId, records })).toMatchObject({ credits: 0 });
  expect(await admit(redis, consuming)).toEqual({ kind: "refunded" });
  expect(await admit(redis, reserving)).toEqual({ kind: "refunded" });
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 100, reserved: 0, consumed: 0 });
});
