/**
 * Redis loses all data during requests, and again before every request is repeated under its key.
 * No command runs twice, and every response is correct: durable state is not in Redis.
 */
import { randomUUID } from "node:crypto";

import type { CommandEnvelope, ErrorBody } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import { ADMISSION_LIBRARY } from "@kapi/admission/redis";
import { startRedis, type RedisConnection } from "@kapi/redis";
import { createLogger, type Started } from "@kapi/runtime";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { accountBody } from "./client.ts";

const SERVICES = ["gateway", "account", "finance", "command-status", "organization", "trading-simulator", "metrics"];
const RETRY_DELAY_MS = 200;
/**
 * How long requests are retried. Until the wallets are synced from the ledger, requests return 500
 * with Retry-After.
 */
const RETRIES_MS = 60_000;
const SETTLED_TIMEOUT_MS = 20_000;
const DEPOSITS = 120;
const DEPOSIT = 1.25;

type Demo = Awaited<ReturnType<TestStack["createDemo"]>>;

/** A request that can be sent again with the same idempotency key. */
interface RepeatableRequest {
  readonly key: string;
  /** Path below the server. */
  readonly path: string;
  readonly body: unknown;
}

interface TestResponse {
  readonly status: number;
  readonly body: CommandEnvelope & ErrorBody & { readonly results?: readonly CommandEnvelope[] };
}

let stack: TestStack;
let demo: Demo;
let redis: Started<RedisConnection>;

beforeAll(async () => {
  stack = await startTestStack({ together: true, services: SERVICES });
  demo = await stack.createDemo();
  const logger = createLogger({ service: "test", level: "error" });
  redis = await startRedis({
    url: stack.environment.redisUrl,
    clientName: "test",
    functionLibraries: [ADMISSION_LIBRARY],
    logger,
  });
});
afterAll(async () => {
  await redis.stop();
  await stack.stop();
});

async function call(method: string, path: string, request?: RepeatableRequest): Promise<TestResponse> {
  const answer = await fetch(`${demo.baseUrl}/api/v1/management/${path}`, {
    method,
    headers: {
      authorization: `Management ${demo.managementKey}`,
      ...(request === undefined ? {} : { "content-type": "application/json", "idempotency-key": request.key }),
    },
    body: request === undefined ? null : JSON.stringify(request.body),
  });
  return { status: answer.status, body: (await answer.json()) as TestResponse["body"] };
}

/**
 * Sends the request, and retries it after a 500, as a client should; the key makes the retry safe.
 */
async function ask(request: RepeatableRequest): Promise<TestResponse> {
  const end = Date.now() + RETRIES_MS;
  for (;;) {
    const response = await call("POST", `servers/${demo.serverId}/${request.path}`, request);
    if (response.status < 500 || Date.now() > end) return response;
    await delay(RETRY_DELAY_MS);
  }
}

async function read(path: string): Promise<TestResponse> {
  const end = Date.now() + RETRIES_MS;
  for (;;) {
    const response = await call("GET", path);
    if (response.status < 500 || Date.now() > end) return response;
    await delay(RETRY_DELAY_MS);
  }
}

async function finished(commandId: string): Promise<CommandEnvelope["command"]> {
  return (await read(`commands/${commandId}?wait=30`)).body.command;
}

const creation = (): RepeatableRequest => ({
  key: randomUUID(),
  path: "accounts",
  body: accountBody({ initialBalance: 0 }),
});

describe("when Redis loses everything", () => {
  it("during requests, and again before their repeats: every repeat gets the correct response, and no command runs twice", async () => {
    const bulk: RepeatableRequest = {
      key: "bulk",
      path: "accounts/bulk",
      body: { accounts: [accountBody(), accountBody()] },
    };
    const single = creation();
    const created = await ask(single);
    const account = String((await finished(created.body.command.id)).result?.["accountNumber"]);
    const reset: RepeatableRequest = {
      key: "reset",
      path: `accounts/${account}/password-reset`,
      body: { requestId: "r" },
    };
    const supplied: RepeatableRequest = {
      key: "supplied",
      path: `accounts/${account}/investor-password-reset`,
      body: { requestId: "r", password: "correct horse battery" },
    };
    const firstBulk = await ask(bulk);
    const firstReset = await ask(reset);
    await ask(supplied);
    const deposits = Array.from({ length: DEPOSITS }, (_, index): RepeatableRequest => {
      const body = { amount: DEPOSIT, requestId: `deposit-${index}` };
      return { key: `deposit-${index}`, path: `accounts/${account}/finance/deposits`, body };
    });

    const underWay = deposits.map(async (request, index) => {
      await delay(index * 10);
      return ask(request);
    });
    await delay((DEPOSITS * 10) / 2);
    await redis.value.commands.flushall();
    const firsts = await Promise.all(underWay);
    for (const { status } of firsts) expect([200, 202]).toContain(status);
    for (const { body } of firsts) expect(await finished(body.command.id)).toMatchObject({ status: "succeeded" });
    const balance = async (): Promise<unknown> => {
      const details = await read(`servers/${demo.serverId}/accounts/${account}`);
      return (details.body as unknown as { account: { balance: number } }).account.balance;
    };
    expect(await balance()).toBe(DEPOSITS * DEPOSIT);

    await redis.value.commands.flushall();
    const again = await Promise.all(deposits.map(ask));
    for (const [index, { status, body }] of again.entries()) {
      expect(status).toBe(200);
      expect(body).toMatchObject({
        duplicate: true,
        command: { id: firsts[index]?.body.command.id, status: "succeeded" },
      });
    }
    expect(await balance()).toBe(DEPOSITS * DEPOSIT);
    const repeated = await ask(single);
    expect(repeated).toMatchObject({
      status: 200,
      body: { duplicate: true, command: { id: created.body.command.id } },
    });
    expect(repeated.body).not.toHaveProperty("credentials");
    expect(await ask(reset)).toMatchObject({ status: 200, body: { password: firstReset.body.password } });
    expect(await ask(supplied)).toMatchObject({ status: 200, body: { password: "correct horse battery" } });
    const bulkAgain = await ask(bulk);
    expect(bulkAgain.status).toBe(202);
    expect(bulkAgain.body.results?.map(({ duplicate, command }) => [duplicate, command.id])).toEqual(
      firstBulk.body.results?.map(({ command }) => [true, command.id]),
    );
    const list = await read(`servers/${demo.serverId}/accounts`);
    expect((list.body as unknown as { accounts: unknown[] }).accounts).toHaveLength(3);
  });

  it("a key that was used for a different request is still rejected, and an unused key is accepted", async () => {
    const request = creation();
    const first = await ask(request);
    await finished(first.body.command.id);
    await redis.value.commands.flushall();
    expect((await ask({ ...request, body: accountBody({ accountName: "Eve" }) })).status).toBe(409);
    const bulk: RepeatableRequest = { key: "never used", path: "accounts/bulk", body: { accounts: [accountBody()] } };
    expect((await ask(bulk)).body.results?.[0]?.duplicate).toBe(false);
  });

  it("the wallet adds up: bought = available + reserved + consumed, with no reservation left", async () => {
    const wallet = async (): Promise<Record<string, number>> =>
      ((await read("credits/balance")).body as unknown as { wallet: Record<string, number> }).wallet;
    await expect.poll(async () => (await wallet())["reservedCredits"], { timeout: SETTLED_TIMEOUT_MS }).toBe(0);
    const { availableCredits = 0, reservedCredits = 0, lifetimeConsumed = 0, lifetimePurchased } = await wallet();
    expect(availableCredits + reservedCredits + lifetimeConsumed).toBe(lifetimePurchased);
  });
});
