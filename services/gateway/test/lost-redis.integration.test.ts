/**
 * Redis loses everything while requests are under way; then every key is sent again. What Redis
 * kept was the fast path alone: nothing happens twice, and every answer is right.
 */
import { randomUUID } from "node:crypto";

import type { CommandEnvelope, ErrorBody } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import { ADMISSION_LIBRARY } from "@kapi/admission/redis";
import { createRedis, type RedisConnection } from "@kapi/redis";
import { createLogger, type Started } from "@kapi/runtime";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { accountBody } from "./client.ts";

const SERVICES = ["gateway", "account", "finance", "command-status", "organization", "trading-simulator", "metrics"];
const RETRY_DELAY_MS = 200;
/** Until the wallets are set from the ledger again, requests are told to come again. */
const RETRIES_MS = 60_000;
const CLOSED_TIMEOUT_MS = 20_000;
const DEPOSITS = 120;
const DEPOSIT = 1.25;

type Demo = Awaited<ReturnType<TestStack["makeDemo"]>>;

/** One request of a caller's, which it may repeat. */
interface Wish {
  readonly key: string;
  /** Below the server. */
  readonly path: string;
  readonly body: unknown;
}

interface Given {
  readonly status: number;
  readonly body: CommandEnvelope & ErrorBody & { readonly results?: readonly CommandEnvelope[] };
}

let stack: TestStack;
let demo: Demo;
let redis: Started<RedisConnection>;

beforeAll(async () => {
  stack = await startTestStack({ services: SERVICES });
  demo = await stack.makeDemo();
  const logger = createLogger({ service: "test", level: "error" });
  redis = await createRedis({
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

async function call(method: string, path: string, wish?: Wish): Promise<Given> {
  const answer = await fetch(`${demo.baseUrl}/api/v1/management/${path}`, {
    method,
    headers: {
      authorization: `Management ${demo.managementKey}`,
      ...(wish === undefined ? {} : { "content-type": "application/json", "idempotency-key": wish.key }),
    },
    body: wish === undefined ? null : JSON.stringify(wish.body),
  });
  return { status: answer.status, body: (await answer.json()) as Given["body"] };
}

/** Asks until the answer is not "come again", as a client should; the key makes it safe. */
async function ask(wish: Wish): Promise<Given> {
  const end = Date.now() + RETRIES_MS;
  for (;;) {
    const given = await call("POST", `servers/${demo.serverId}/${wish.path}`, wish);
    if (given.status < 500 || Date.now() > end) return given;
    await delay(RETRY_DELAY_MS);
  }
}

async function read(path: string): Promise<Given> {
  const end = Date.now() + RETRIES_MS;
  for (;;) {
    const given = await call("GET", path);
    if (given.status < 500 || Date.now() > end) return given;
    await delay(RETRY_DELAY_MS);
  }
}

async function finished(commandId: string): Promise<CommandEnvelope["command"]> {
  return (await read(`commands/${commandId}?wait=30`)).body.command;
}

const creation = (): Wish => ({ key: randomUUID(), path: "accounts", body: accountBody({ initialBalance: 0 }) });

describe("when Redis loses everything", () => {
  it("in the middle of requests, every key sent again gets its right answer, and nothing happens twice", async () => {
    const bulk: Wish = { key: "bulk", path: "accounts/bulk", body: { accounts: [accountBody(), accountBody()] } };
    const single = creation();
    const created = await ask(single);
    const account = String((await finished(created.body.command.id)).result?.["accountNumber"]);
    const reset: Wish = { key: "reset", path: `accounts/${account}/password-reset`, body: { requestId: "r" } };
    const supplied: Wish = {
      key: "supplied",
      path: `accounts/${account}/investor-password-reset`,
      body: { requestId: "r", password: "correct horse battery" },
    };
    const firstBulk = await ask(bulk);
    const firstReset = await ask(reset);
    await ask(supplied);
    const deposits = Array.from({ length: DEPOSITS }, (_, index): Wish => {
      const body = { amount: DEPOSIT, requestId: `deposit-${index}` };
      return { key: `deposit-${index}`, path: `accounts/${account}/finance/deposits`, body };
    });

    const underWay = deposits.map(async (wish, index) => {
      await delay(index * 10);
      return ask(wish);
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

  it("a key that was used for another request is still refused, and one that was never used is still free", async () => {
    const wish = creation();
    const first = await ask(wish);
    await finished(first.body.command.id);
    await redis.value.commands.flushall();
    expect((await ask({ ...wish, body: accountBody({ accountName: "Eve" }) })).status).toBe(409);
    const bulk: Wish = { key: "never used", path: "accounts/bulk", body: { accounts: [accountBody()] } };
    expect((await ask(bulk)).body.results?.[0]?.duplicate).toBe(false);
  });

  it("the wallet adds up: bought = available + reserved + consumed, and nothing stays reserved", async () => {
    const wallet = async (): Promise<Record<string, number>> =>
      ((await read("credits/balance")).body as unknown as { wallet: Record<string, number> }).wallet;
    await expect.poll(async () => (await wallet())["reservedCredits"], { timeout: CLOSED_TIMEOUT_MS }).toBe(0);
    const { availableCredits = 0, reservedCredits = 0, lifetimeConsumed = 0, lifetimePurchased } = await wallet();
    expect(availableCredits + reservedCredits + lifetimeConsumed).toBe(lifetimePurchased);
  });
});
