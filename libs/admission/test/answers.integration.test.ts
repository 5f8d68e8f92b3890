/** Who answers a command that was claimed: exactly one request, and its passwords too. */
import { delay } from "@kapi/kernel";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { RedisConnection } from "@kapi/redis";
import { CLAIM_SETTINGS, admit, claimKey, markAnswered, confirmAnswered, refund, shardOf } from "../src/redis/index.ts";
import { answer, claim, connectEmpty, organizationWith, reserve, walletOf, whileOpen, QUICK } from "./support.ts";

/** How long an answer with passwords may be unconfirmed. */
const UNCONFIRMED_MS = 120_000;

let redis: RedisConnection;
let stop: () => Promise<void>;
beforeAll(async () => {
  ({ redis, stop } = await connectEmpty());
});
afterAll(() => stop());

test("no answer is sent for a claim that is older than its time", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = claim();
  const call = reserve(organizationId, [wanted]);
  await admit(redis, call, QUICK);
  expect(await answer(redis, organizationId, [wanted.commandId], call.chargeId, { ...QUICK, claimOpenMs: 0 })).toBe(
    false,
  );
  expect(await answer(redis, organizationId, [wanted.commandId], "another", QUICK)).toBe(false);
  expect(await answer(redis, organizationId, [wanted.commandId], call.chargeId)).toBe(true);
});

test("of several requests marked in one call each is answered by itself, all of its claims or none", async () => {
  const organizationId = await organizationWith(redis, 1_000);
  const bulk = reserve(organizationId, [claim(), claim()]);
  const torn = reserve(organizationId, [claim(), claim(), claim()]);
  const single = reserve(organizationId, [claim()]);
  for (const call of [bulk, torn, single]) await admit(redis, call, QUICK);
  // Another request has taken one of its three over meanwhile.
  const [, taken] = torn.claims;
  if (taken === undefined) throw new Error("torn has three claims");
  await whileOpen(redis, reserve(organizationId, [taken]));
  const marked = await markAnswered(
    redis,
    shardOf(organizationId),
    [bulk, torn, single].map(({ claims, chargeId }) => ({
      commandIds: claims.map(({ commandId }) => commandId),
      claimToken: chargeId,
    })),
  );
  expect(marked).toEqual([true, false, true]);
  const answered = [bulk, torn, single].map(({ claims }) =>
    Promise.all(
      claims.map(({ commandId }) => redis.commands.hget(claimKey(shardOf(organizationId), commandId), "answered")),
    ),
  );
  expect(await Promise.all(answered)).toEqual([["1", "1"], ["0", "0", "0"], ["1"]]);
});

test("a process of the version before marks its claims as it did", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = claim();
  const call = reserve(organizationId, [wanted]);
  await admit(redis, call);
  const keys = [claimKey(shardOf(organizationId), wanted.commandId)];
  expect(await redis.call("kapi_mark_answered", keys, ["another", CLAIM_SETTINGS.claimOpenMs])).toBe(0);
  expect(await redis.call("kapi_mark_answered", keys, [call.chargeId, CLAIM_SETTINGS.claimOpenMs])).toBe(1);
});

test("a request that was marked answered learns so however late it asks again; nobody else does", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = claim();
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first, QUICK);
  expect(await answer(redis, organizationId, [wanted.commandId], first.chargeId, QUICK)).toBe(true);
  await delay(QUICK.claimOpenMs);
  expect(await answer(redis, organizationId, [wanted.commandId], first.chargeId, QUICK)).toBe(true);
  expect(await answer(redis, organizationId, [wanted.commandId], "another", QUICK)).toBe(false);
});

test("the next equal request takes over at once what was published by one that failed, even if it was marked answered", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = claim();
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first);
  expect(await answer(redis, organizationId, [wanted.commandId], first.chargeId)).toBe(true);
  const failed = {
    ...first,
    organizationId,
    claims: [{ commandId: wanted.commandId, mayBePublished: true }],
  };
  expect(await refund(redis, failed)).toMatchObject({ credits: 0 });
  expect(await answer(redis, organizationId, [wanted.commandId], first.chargeId)).toBe(false);
  const retry = reserve(organizationId, [wanted]);
  expect(await admit(redis, retry)).toMatchObject({ charged: 5, claims: [{ kind: "taken_over" }] });
  // The failed request tells once more, late: the claim is the retry's.
  expect(await refund(redis, failed)).toMatchObject({ credits: 0 });
  expect(await answer(redis, organizationId, [wanted.commandId], retry.chargeId)).toBe(true);
  expect(await walletOf(redis, organizationId)).toMatchObject({ available: 95, reserved: 5, consumed: 0 });
});

test("passwords that were not confirmed to be sent are answered by an equal request, once the first can no longer answer", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = claim();
  const commandIds = [wanted.commandId];
  const mark = async (claimToken: string): Promise<boolean | undefined> =>
    (await markAnswered(redis, shardOf(organizationId), [{ commandIds, claimToken, hasPasswords: true }]))[0];
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first);
  expect(await mark(first.chargeId)).toBe(true);
  const retry = reserve(organizationId, [wanted]);
  expect(await admit(redis, retry)).toMatchObject({ claims: [{ kind: "open" }] });
  expect(await whileOpen(redis, retry)).toMatchObject({ claims: [{ kind: "taken_over", message: wanted.message }] });
  // The first request is too late to confirm, and to answer.
  await confirmAnswered(redis, organizationId, { commandIds, claimToken: first.chargeId });
  expect(await mark(first.chargeId)).toBe(false);
  expect(await mark(retry.chargeId)).toBe(true);
  await confirmAnswered(redis, organizationId, { commandIds, claimToken: retry.chargeId });
  expect(await whileOpen(redis, reserve(organizationId, [wanted]))).toMatchObject({ claims: [{ kind: "duplicate" }] });
  expect(await walletOf(redis, organizationId)).toMatchObject({ reserved: 5, consumed: 1 });
});

test("passwords count as sent two minutes after their claim", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = claim();
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first);
  const answered = { commandIds: [wanted.commandId], claimToken: first.chargeId, hasPasswords: true };
  expect(await markAnswered(redis, shardOf(organizationId), [answered])).toEqual([true]);
  const key = claimKey(shardOf(organizationId), wanted.commandId);
  await redis.commands.hincrby(key, "at", -UNCONFIRMED_MS);
  expect(await admit(redis, reserve(organizationId, [wanted]))).toMatchObject({ claims: [{ kind: "duplicate" }] });
});

test("a duplicate stays a duplicate, however late its first request, answered 500, is given back", async () => {
  const organizationId = await organizationWith(redis, 100);
  const wanted = claim();
  const first = reserve(organizationId, [wanted]);
  await admit(redis, first);
  // It is marked, and the reply is lost: the caller is answered 500, and comes again.
  expect(await answer(redis, organizationId, [wanted.commandId], first.chargeId)).toBe(true);
  const duplicate = { claims: [{ kind: "duplicate", message: wanted.message }] };
  expect(await admit(redis, reserve(organizationId, [wanted]))).toMatchObject(duplicate);
  const claims = [{ commandId: wanted.commandId, mayBePublished: true }];
  expect(await refund(redis, { ...first, organizationId, claims })).toMatchObject({ credits: 0 });
  expect(await admit(redis, reserve(organizationId, [wanted]))).toMatchObject(duplicate);
});
