/**
 * Redis and Kafka lose replies, reject requests or are down. Every request gets a response, and no
 * organization pays for a command that was not queued.
 */
import { randomUUID } from "node:crypto";

import type { Wallet } from "@kapi/contracts";
import { commandIdOf, delay } from "@kapi/kernel";
import { recordKey, shardOf, walletKey } from "@kapi/admission/redis";
import { eventually, type TcpProxy } from "@kapi/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { accountBody, type Answer, call, create, getCommand, getWallet } from "./client.ts";
import { proxyOfKafka } from "./kafka-proxy.ts";
import { LossyProxy } from "./lossy-proxy.ts";
import { type Organization, type Platform, startPlatform } from "./platform.ts";

/** Patterns of requests to Redis: the called function, and for some refunds also the operation. */
const ADMISSION = /kapi_admit/;
const COMPLETION = /kapi_mark/;
const COMPLETION_AND_REFUND = /kapi_mark|kapi_give_back|kapi_refund/;
const REFUND_OF_READ = /kapi_give_back[^]*getCommand/;
const REFUND_OF_DELETION = /kapi_give_back[^]*deleteTradingAccountImmediately/;
const REFUNDED_WITHIN_MS = 45_000;
/** If one dependency is down, mutations are answered within this time (decisions, 1.5). */
const ANSWER_WITHIN_MS = 5_000;
/** Longer than a Kafka client retries by itself, about 10 s. */
const KAFKA_OUTAGE_MS = 13_000;
const NOWHERE = "http://127.0.0.1:1";

let platform: Platform;
let organization: Organization;
let proxy: LossyProxy;
/** A gateway whose Redis is behind `proxy`. */
let url: string;
let kafka: TcpProxy;
let stopKafkaProxy: () => Promise<void>;
/** A gateway whose Kafka is behind `kafka`. */
let kafkaUrl: string;

beforeAll(async () => {
  platform = await startPlatform();
  organization = await platform.organization(100_000);
  proxy = await LossyProxy.to(platform.environment.redisUrl);
  url = await platform.gateway({ REDIS_URL: proxy.url });
  ({ proxy: kafka, stop: stopKafkaProxy } = await proxyOfKafka(platform.environment.kafkaBrokers));
  kafkaUrl = await platform.gateway({ KAFKA_BROKERS: kafka.address });
});
afterEach(async () => {
  proxy.heal();
  await kafka.pass();
});
afterAll(async () => {
  await platform.stop();
  proxy.close();
  await stopKafkaProxy();
});

/** Whether the response is 500 DEPENDENCY_UNAVAILABLE with Retry-After, free of charge. */
function isUnavailable({ status, charged, headers }: Answer<unknown>): boolean {
  const code = headers.get("x-error-code");
  return status === 500 && charged === 0 && headers.get("retry-after") === "1" && code === "DEPENDENCY_UNAVAILABLE";
}

/** The change of the wallet since `before`. Reads the wallet, which costs one credit. */
async function changeOfWallet(before: Wallet): Promise<{ available: number; reserved: number; consumed: number }> {
  const now = await getWallet(platform.url, organization);
  return {
    available: now.availableCredits - before.availableCredits,
    reserved: now.reservedCredits - before.reservedCredits,
    consumed: now.lifetimeConsumed - before.lifetimeConsumed,
  };
}

/** Waits until only the reads of the wallet by this function are charged since `before`. */
async function untilRefunded(before: Wallet): Promise<void> {
  let reads = 0;
  await eventually(
    async () => {
      reads += 1;
      expect(await changeOfWallet(before)).toEqual({ available: -reads, reserved: 0, consumed: reads });
    },
    { timeoutMs: REFUNDED_WITHIN_MS, intervalMs: 250 },
  );
}

/**
 * Waits until the gateway has given up the idempotency record of a failed creation whose message
 * was perhaps published. From then on, an equal request can reclaim the record.
 */
async function untilReclaimable(key: string): Promise<void> {
  const record = recordKey(shardOf(organization.id), commandIdOf(organization.id, key));
  await eventually(async () => expect(await platform.redis.commands.hget(record, "at")).toBe("0"));
}

it("if the reply to the completion of a record is lost, the creation is still 202 with credentials, and reserves credits once", async () => {
  const before = await getWallet(platform.url, organization);
  proxy.lose(COMPLETION, 1);
  const answer = await create(url, organization, randomUUID(), accountBody());
  expect(answer).toMatchObject({ status: 202, body: { duplicate: false } });
  expect(answer.body).toHaveProperty("credentials");
  // The second read of the wallet consumes one credit.
  expect(await changeOfWallet(before)).toEqual({ available: -10 - 1, reserved: 10, consumed: 1 });
});

it("if a creation is 500 although its record was completed, the retry gets the credentials, and credits are reserved once", async () => {
  const key = randomUUID();
  const body = accountBody();
  const before = await getWallet(platform.url, organization);
  proxy.lose(COMPLETION_AND_REFUND, Number.POSITIVE_INFINITY);
  const failed = await create(url, organization, key, body);
  expect(failed).toMatchObject({ status: 500, charged: 0 });
  proxy.heal();
  await untilReclaimable(key);
  // The command is published, so its credits stay reserved until its final state.
  expect(await changeOfWallet(before)).toEqual({ available: -10 - 1, reserved: 10, consumed: 1 });
  const retry = await create(url, organization, key, body);
  expect(retry).toMatchObject({ status: 202, charged: 10, body: { duplicate: false } });
  expect(retry.body).toHaveProperty("credentials");
  expect(await create(url, organization, key, body)).toMatchObject({ status: 200, body: { duplicate: true } });
  // Two reads of the wallet, and the last repeat.
  expect(await changeOfWallet(before)).toEqual({ available: -10 - 3, reserved: 10, consumed: 3 });
});

it("if Redis' disk is full at the refund of a read, the read is refunded later; meanwhile requests are 500 and free", async () => {
  const withoutStatus = await platform.gateway({ REDIS_URL: proxy.url, COMMAND_STATUS_URL: NOWHERE });
  const before = await getWallet(platform.url, organization);
  proxy.before(REFUND_OF_READ, () => platform.environment.redis.refuseWrites());
  const read = await getCommand(withoutStatus, organization, randomUUID());
  expect(read).toMatchObject({ status: 500, charged: 0 });
  const wallet = walletKey(shardOf(organization.id), organization.id);
  expect(await platform.redis.commands.hget(wallet, "available")).toBe(String(before.availableCredits - 1));
  const [key, body] = [randomUUID(), accountBody()];
  const refused = await Promise.all([
    create(url, organization, key, body),
    getCommand(url, organization, randomUUID()),
  ]);
  for (const answer of refused) expect(answer).toSatisfy(isUnavailable);
  await platform.environment.redis.takeWrites();
  await untilRefunded(before);
  expect(await create(url, organization, key, body)).toMatchObject({ status: 202, charged: 10 });
});

it("if Redis' disk is full at the completion of a creation, the retry gets the credentials, and credits are reserved once", async () => {
  const [key, body] = [randomUUID(), accountBody()];
  const before = await getWallet(platform.url, organization);
  proxy.before(COMPLETION, () => platform.environment.redis.refuseWrites());
  expect(await create(url, organization, key, body)).toMatchObject({ status: 500, charged: 0 });
  await platform.environment.redis.takeWrites();
  await untilReclaimable(key);
  expect(await changeOfWallet(before)).toEqual({ available: -10 - 1, reserved: 10, consumed: 1 });
  const retry = await create(url, organization, key, body);
  expect(retry).toMatchObject({ status: 202, charged: 10, body: { duplicate: false } });
  expect(retry.body).toHaveProperty("credentials");
  expect(await changeOfWallet(before)).toEqual({ available: -10 - 2, reserved: 10, consumed: 2 });
});

it("if the reply to the admission is lost, a read or a command is 500 and not charged", async () => {
  const before = await getWallet(platform.url, organization);
  proxy.lose(ADMISSION, 2);
  const read = await getCommand(url, organization, randomUUID());
  expect(read).toMatchObject({ status: 500, charged: 0 });
  const key = randomUUID();
  await eventually(async () => {
    // If the gateway has not reconnected yet, this creation fails without a call of Redis.
    const failed = await create(url, organization, key, accountBody());
    expect(failed.status).toBe(500);
    expect(failed.headers.get("x-error-code")).toBe("DEPENDENCY_UNAVAILABLE");
    expect(proxy.left).toBe(0);
  });
  let reads = 0;
  await eventually(
    async () => {
      reads += 1;
      const { reservedCredits, lifetimeConsumed } = await getWallet(platform.url, organization);
      expect(lifetimeConsumed - before.lifetimeConsumed - reads).toBe(0);
      expect(reservedCredits).toBeLessThanOrEqual(before.reservedCredits);
    },
    { timeoutMs: REFUNDED_WITHIN_MS, intervalMs: 250 },
  );
});

it("if the reply to the charge of the read price is lost, a rejected change gets the owner's error, free of charge", async () => {
  const before = await getWallet(platform.url, organization);
  // The change is refunded, then the read price is charged.
  proxy.before(REFUND_OF_DELETION, async () => proxy.lose(ADMISSION, 1));
  const path = `servers/${organization.server.serverId}/accounts/99999999`;
  const rejected = await call(url, organization, path, { method: "DELETE" });
  expect(rejected).toMatchObject({ status: 400, charged: 0 });
  expect(rejected.headers.get("x-error-code")).toBe("ACCOUNT_NOT_FOUND");
  await untilRefunded(before);
});

describe("Kafka that is unavailable", () => {
  it("and refuses connections: mutations are 500 within 5 s, and nothing stays reserved", async () => {
    const [key, body] = [randomUUID(), accountBody()];
    const before = await getWallet(platform.url, organization);
    await kafka.refuse();
    const beganAt = Date.now();
    const answers = await Promise.all([
      create(kafkaUrl, organization, key, body),
      call(kafkaUrl, organization, `servers/${organization.server.serverId}/accounts/bulk`, {
        body: { accounts: [accountBody(), accountBody()] },
        headers: { "idempotency-key": randomUUID() },
      }),
    ]);
    expect(Date.now() - beganAt).toBeLessThan(ANSWER_WITHIN_MS);
    for (const answer of answers) expect(answer).toSatisfy(isUnavailable);
    expect(await changeOfWallet(before)).toEqual({ available: -1, reserved: 0, consumed: 1 });
    await kafka.pass();
    const retry = await createUntilAccepted(key, body);
    expect(retry).toMatchObject({ charged: 10, body: { duplicate: false } });
    expect(retry.body).toHaveProperty("credentials");
    const final = await getCommand(platform.url, organization, retry.body.command.id, 20);
    expect(final.body.command.status).toBe("succeeded");
    // Two reads of the wallet, and the read of the command.
    expect(await changeOfWallet(before)).toEqual({ available: -10 - 3, reserved: 10, consumed: 3 });
  });

  it("and loses its replies: the reservation stays, and the retry gets the 202", async () => {
    const [key, body] = [randomUUID(), accountBody()];
    const before = await getWallet(platform.url, organization);
    await kafka.dropReplies();
    const beganAt = Date.now();
    expect(await create(kafkaUrl, organization, key, body)).toSatisfy(isUnavailable);
    expect(Date.now() - beganAt).toBeLessThan(ANSWER_WITHIN_MS);
    expect(await changeOfWallet(before)).toEqual({ available: -10 - 1, reserved: 10, consumed: 1 });
    await kafka.pass();
    const retry = await createUntilAccepted(key, body);
    expect(retry).toMatchObject({ charged: 10, body: { duplicate: false } });
    expect(retry.body).toHaveProperty("credentials");
    const final = await getCommand(platform.url, organization, retry.body.command.id, 20);
    expect(final.body.command).toMatchObject({ status: "succeeded", attempts: 1 });
    // Two reads of the wallet, and the read of the command.
    expect(await changeOfWallet(before)).toEqual({ available: -10 - 3, reserved: 10, consumed: 3 });
  });

  // This test is last, because a gateway that fails to start stops the platform.
  it("while a gateway starts: the gateway waits, and serves when Kafka is available", async () => {
    await kafka.refuse();
    const starting = platform.gateway({ KAFKA_BROKERS: kafka.address });
    starting.catch(() => undefined);
    expect(await Promise.race([starting, delay(KAFKA_OUTAGE_MS).then(() => "waits")])).toBe("waits");
    await kafka.pass();
    const accepted = await create(await starting, organization, randomUUID());
    expect(accepted.status).toBe(202);
  });
});

/** Repeats a creation until Kafka is available, and returns its 202. */
function createUntilAccepted(key: string, body: unknown): ReturnType<typeof create> {
  return eventually(async () => {
    const answer = await create(kafkaUrl, organization, key, body);
    expect(answer.status).toBe(202);
    return answer;
  });
}
