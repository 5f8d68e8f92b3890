/** Replies of Redis that are lost: what it did is not known to the gateway, and nobody pays for it or goes without an answer. */
import { randomUUID } from "node:crypto";

import { commandIdOf } from "@kapi/kernel";
import { claimKey, tagOf } from "@kapi/redis";
import { eventually } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";

import { accountBody, create, getCommand, getWallet } from "./client.ts";
import { LossyProxy } from "./lossy-proxy.ts";
import { type Organization, type Platform, startPlatform } from "./platform.ts";

const ADMISSION = /kapi_admit/;
const MARKING = /kapi_mark/;
const MARKING_AND_REFUND = /kapi_mark|kapi_give_back|kapi_refund/;
const REFUNDED_WITHIN_MS = 60_000;

let platform: Platform;
let organization: Organization;
let proxy: LossyProxy;
let url: string;

beforeAll(async () => {
  platform = await startPlatform();
  organization = await platform.organization(100_000);
  proxy = await LossyProxy.to(platform.environment.redisUrl);
  url = await platform.gateway({ REDIS_URL: proxy.url });
});
afterEach(() => proxy.heal());
afterAll(async () => {
  await platform.stop();
  proxy.close();
});

it("a creation whose marking was carried out is answered with its credentials", async () => {
  proxy.lose(MARKING, 1);
  const answer = await create(url, organization, randomUUID(), accountBody());
  expect(answer).toMatchObject({ status: 202, body: { duplicate: false } });
  expect(answer.body).toHaveProperty("credentials");
});

it("a creation that is answered 500 although it was marked gives its credentials to the retry", async () => {
  const key = randomUUID();
  const body = accountBody();
  proxy.lose(MARKING_AND_REFUND, Number.POSITIVE_INFINITY);
  const failed = await create(url, organization, key, body);
  expect(failed).toMatchObject({ status: 500, charged: 0 });
  const claim = claimKey(tagOf(organization.id), commandIdOf(organization.id, key));
  proxy.heal();
  await eventually(async () => expect(await platform.redis.commands.hget(claim, "answered")).toBe("0"));
  const retry = await create(url, organization, key, body);
  expect(retry).toMatchObject({ status: 202, charged: 10, body: { duplicate: false } });
  expect(retry.body).toHaveProperty("credentials");
  expect(await create(url, organization, key, body)).toMatchObject({ status: 200, body: { duplicate: true } });
});

it("a request is not charged whose admission was carried out, and that was answered 500: reads and commands", async () => {
  const before = await getWallet(platform.url, organization);
  proxy.lose(ADMISSION, 2);
  const read = await getCommand(url, organization, randomUUID());
  expect(read).toMatchObject({ status: 500, charged: 0 });
  const key = randomUUID();
  await eventually(async () => {
    // The first request may find no connection yet.
    const failed = await create(url, organization, key, accountBody());
    expect(failed.status).toBe(500);
    expect(failed.headers.get("x-error-code")).toBe("DEPENDENCY_UNAVAILABLE");
  });
  let looks = 0;
  await eventually(
    async () => {
      looks += 1;
      const { reservedCredits, lifetimeConsumed } = await getWallet(platform.url, organization);
      expect(lifetimeConsumed - before.lifetimeConsumed - looks).toBe(0);
      expect(reservedCredits).toBeLessThanOrEqual(before.reservedCredits);
    },
    { timeoutMs: REFUNDED_WITHIN_MS, intervalMs: 250 },
  );
});
