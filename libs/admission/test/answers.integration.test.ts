/** Tests which of several equal requests gets the 202 with the passwords of the command. */
import { delay } from "@kapi/kernel";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { RedisConnection } from "@kapi/redis";
import {
  ADMISSION_SETTINGS,
  admit,
  recordKey,
  markCompleted,
  confirmCompleted,
  refund,
  shardOf,
} from "../src/redis/index.ts";
import { answer, record, connectEmpty, organizationWith, reserve, walletOf, whileOpen, QUICK } from "./support.ts";

/** Time for which an answer with passwords may be unconfirmed. */
const UNCONFIRMED_MS = 120_000;

let redis: RedisConnection;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ redis, stop } = await connectEmpty());
});
afterAll(() => stop());

test("a request can mark its own record completed, but only before the record is `recordOpenMs` old; another request cannot mark this record", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  const call = reserve(organizationId, [wanted]);
  await admit(redis, call, QUICK);
  expect(await answer(redis, organizationId, [wanted.commandId], call.chargeId, { ...QUICK, recordOpenMs: 0 })).toBe(
    false,
  );
  expect(await answer(redis, organizationId, [wanted.commandId], "another", QUICK)).toBe(false);
  expect(await answer(redis, organizationId, [wanted.commandId], call.chargeId)).toBe(true);
});

test("if one call marks the records of several requests, it marks for each request either all records or none", async () => {
  const organizationId = await organizationWith(redis, 1_000);
  const bulk = reserve(organizationId, [record(), record()]);
  const torn = reserve(organizationId, [record(), record(), record()]);
  const single = reserve(organizationId, [record()]);
  for (const call of [bulk, torn, single]) await admit(redis, call, QUICK);
  // Another request reclaims one of the three records of `torn`.
  const [, reclaimed] = torn.records;
  if (reclaimed === undefined) throw new Error("torn has no second record");
  await whileOpen(redis, reserve(organizationId, [reclaimed]));
  const marked = await markCompleted(
    redis,
    shardOf(organizationId),
    [bulk, torn, single].map(({ records, chargeId }) => ({
      commandIds: records.map(({ commandId }) => commandId),
      recordToken: chargeId,
    })),
  );
  expect(marked).toEqual([true, false, true]);
  const answered = [bulk, torn, single].map(({ records }) =>
    Promise.all(
      records.map(({ commandId }) => redis.commands.hget(recordKey(shardOf(organizationId), commandId), "answered")),
    ),
  );
  expect(await Promise.all(answered)).toEqual([["1", "1"], ["0", "0", "0"], ["1"]]);
});

test("a process of the previous release can mark the records of its own requests completed", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  const call = reserve(organizationId, [wanted]);
  await admit(redis, call);
  const keys = [recordKey(shardOf(organizationId), wanted.commandId)];
  expect(await redis.call("kapi_mark_answered", keys, ["another", ADMISSION_SETTINGS.recordOpenMs])).toBe(0);
  expect(await redis.call("kapi_mark_answered", keys, [call.chargeId, ADMISSION_SETTINGS.recordOpenMs])).toBe(1);
});

test("repeated marking by the same request returns true, also after `recordOpenMs`; marking by another request returns false", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first, QUICK);
  expect(await answer(redis, organizationId, [wanted.commandId], first.chargeId, QUICK)).toBe(true);
  await delay(QUICK.recordOpenMs);
  expect(await answer(redis, organizationId, [wanted.commandId], first.chargeId, QUICK)).toBe(true);
  expect(await answer(redis, organizationId, [wanted.commandId], "another", QUICK)).toBe(false);
});

test("if the message of a failed request may be in Kafka, the next equal request reclaims the record at once, even if the record is completed", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first);
  expect(await answer(redis, organizationId, [wanted.commandId], first.chargeId)).toBe(true);
  const failed = {
    ...first,
    organizationId,
    records: [{ commandId: wanted.commandId, mayBePublished: true }],
  };
  expect(await refund(redis, failed)).toMatchObject({ credits: 0 });
  expect(await answer(redis, organizationId, [wanted.commandId], first.chargeId)).toBe(false);
  const retry = reserve(organizationId, [wanted]);
  expect(await admit(redis, retry)).toMatchObject({ charged: 5, records: [{ kind: "reclaimed" }] });
  // The failed request repeats its refund late: the record belongs to the retry.
  expect(await refund(redis, failed)).toMatchObject({ credits: 0 });
  expect(await answer(redis, organizationId, [wanted.commandId], retry.chargeId)).toBe(true);
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 95, reserved: 5, consumed: 0 });
});

test("an equal request reclaims a record whose answer with passwords is unconfirmed, but not while the first request can still answer", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  const commandIds = [wanted.commandId];
  const mark = async (recordToken: string): Promise<boolean | undefined> =>
    (await markCompleted(redis, shardOf(organizationId), [{ commandIds, recordToken, hasPasswords: true }]))[0];
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first);
  expect(await mark(first.chargeId)).toBe(true);
  const retry = reserve(organizationId, [wanted]);
  expect(await admit(redis, retry)).toMatchObject({ records: [{ kind: "open" }] });
  expect(await whileOpen(redis, retry)).toMatchObject({ records: [{ kind: "reclaimed", message: wanted.message }] });
  // The first request is too late to confirm, and to answer.
  await confirmCompleted(redis, organizationId, { commandIds, recordToken: first.chargeId });
  expect(await mark(first.chargeId)).toBe(false);
  expect(await mark(retry.chargeId)).toBe(true);
  await confirmCompleted(redis, organizationId, { commandIds, recordToken: retry.chargeId });
  expect(await whileOpen(redis, reserve(organizationId, [wanted]))).toMatchObject({ records: [{ kind: "duplicate" }] });
  expect(await walletOf(redis, organizationId)).toMatchObject({ reserved: 5, consumed: 1 });
});

test("two minutes after a record was created, its unconfirmed answer counts as sent: an equal request is a duplicate", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first);
  const answered = { commandIds: [wanted.commandId], recordToken: first.chargeId, hasPasswords: true };
  expect(await markCompleted(redis, shardOf(organizationId), [answered])).toEqual([true]);
  const key = recordKey(shardOf(organizationId), wanted.commandId);
  await redis.commands.hincrby(key, "at", -UNCONFIRMED_MS);
  expect(await admit(redis, reserve(organizationId, [wanted]))).toMatchObject({ records: [{ kind: "duplicate" }] });
});

test("a duplicate stays a duplicate, also if the first request, answered 500, is refunded later", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = record();
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first);
  // The record is marked, but the reply of Redis is lost: the caller gets 500, and retries.
  expect(await answer(redis, organizationId, [wanted.commandId], first.chargeId)).toBe(true);
  const duplicate = { records: [{ kind: "duplicate", message: wanted.message }] };
  expect(await admit(redis, reserve(organizationId, [wanted]))).toMatchObject(duplicate);
  const records = [{ commandId: wanted.commandId, mayBePublished: true }];
  expect(await refund(redis, { ...first, organizationId, records })).toMatchObject({ credits: 0 });
  expect(await admit(redis, reserve(organizationId, [wanted]))).toMatchObject(duplicate);
});
