/**
 * Redis forgets an idempotency key one hour after its command is final, and 24 hours after the
 * request at the latest (decisions, 2.5). Wallets stay. A request that is repeated later has no
 * second effect and is answered as a duplicate, by every gateway. The tests omit the queued
 * deletion, flatten, close-only, risk rules and templates.
 */
import { randomUUID } from "node:crypto";

import { eventually } from "@kapi/testkit";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { Answer, EnvelopeView, OutsideClient } from "./outside-client.ts";
import { startTwoGateways, type TwoGateways } from "./system.ts";
import { TradingControl } from "./trading-control.ts";

/** The Redis keys of an idempotency key and its request, without the wallets. */
const FORGOTTEN = ["*:claim:*", "*:charge:*", "*:settled:*"];
const READ_PRICE = 1;
const MUTATION_PRICE = 5;

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body: object;
  readonly key: string;
}

let system: TwoGateways;
let first: OutsideClient;
let second: OutsideClient;
let redis: Redis;

beforeAll(async () => {
  system = await startTwoGateways();
  [first, second] = await system.newOrganization();
  redis = new Redis(system.stack.environment.redisUrl);
});

afterAll(async () => {
  redis.disconnect();
  await system.stop();
});

async function forgetKeys(): Promise<void> {
  const keys = await Promise.all(FORGOTTEN.map((pattern) => redis.keys(pattern)));
  expect(keys[0]).not.toEqual([]);
  await redis.del(...keys.flat());
}

const send = (client: OutsideClient, { method, path, body, key }: Request): Promise<Answer<EnvelopeView>> =>
  client.send(method, path, body, key);

const charged = (answer: Answer<unknown>): number => Number(answer.headers.get("x-credits-charged"));

function request(method: string, path: string, body: object = {}): Request {
  return { method, path, body: { requestId: "forgotten", ...body }, key: randomUUID() };
}

/** One request of each tested operation with an idempotency key, except bulk creation. */
function oneOfEach(account: string): Request[] {
  const at = `/accounts/${account}`;
  return [
    request("POST", "/accounts", { accountName: "Forgotten", initialBalance: 5, leverage: 100 }),
    request("PATCH", at, { accountName: "Renamed" }),
    request("POST", `${at}/finance/deposits`, { amount: 100 }),
    request("POST", `${at}/finance/withdrawals`, { amount: 30 }),
    request("POST", `${at}/password-reset`),
    request("POST", `${at}/investor-password-reset`, { password: "a supplied password" }),
    request("POST", `${at}/exports/history`, { limit: 10 }),
    request("POST", `${at}/disable`),
    request("POST", `${at}/enable`),
    request("POST", `${at}/archive`),
  ];
}

/** The state that a second effect would change. */
async function stateOf(account: string): Promise<unknown> {
  const read = async <T>(path: string): Promise<T> => (await second.call<T>("GET", second.server(path))).body;
  const { accounts } = await read<{ accounts: readonly { accountNumber: string; version: number }[] }>("/accounts");
  const { balanceMinor, sequence } = await new TradingControl(second.demo).account(account);
  return {
    transactions: await read(`/accounts/${account}/transactions`),
    accounts: accounts.map(({ accountNumber, version }) => [accountNumber, version]),
    commands: await read("/commands"),
    balanceMinor,
    sequence,
  };
}

describe("a repeated request whose idempotency key Redis forgot", () => {
  it("is answered as a duplicate by any gateway after its command is final, and has no effect", async () => {
    const account = await first.openAccount(1_000);
    const requests = oneOfEach(account);
    const answers: Answer<EnvelopeView>[] = [];
    for (const request of requests) {
      const answer = await send(first, request);
      expect(answer, request.path).toMatchObject({ status: 202, body: { duplicate: false } });
      await first.succeeded(answer.body.command.id);
      answers.push(answer);
    }
    const accounts = [1, 2].map((initialBalance) => ({
      accountName: "B",
      initialBalance,
      leverage: 1,
      requestId: "b",
    }));
    const bulk = request("POST", "/accounts/bulk", { accounts });
    const sendBulk = (client: OutsideClient): Promise<Answer<{ results: EnvelopeView[] }>> =>
      client.call("POST", client.server(bulk.path), { body: bulk.body, idempotencyKey: bulk.key });
    const { results } = (await sendBulk(first)).body;
    await Promise.all(results.map(({ command }) => first.succeeded(command.id)));
    const before = await stateOf(account);

    await forgetKeys();
    for (const client of [second, first]) {
      for (const [index, request] of requests.entries()) {
        const again = await send(client, request);
        const { command, password } = answers[index]?.body ?? {};
        expect(again, request.path).toMatchObject({
          status: 200,
          body: { duplicate: true, command: { id: command?.id, status: "succeeded" } },
        });
        expect(again.body.password).toBe(password);
        expect(again.body).not.toHaveProperty("credentials");
        expect(charged(again)).toBe(READ_PRICE);
      }
      const bulkAgain = await sendBulk(client);
      expect(bulkAgain.status).toBe(202);
      expect(bulkAgain.body.results.map(({ duplicate, command }) => [duplicate, command.id])).toEqual(
        results.map(({ command }) => [true, command.id]),
      );
    }
    expect(await stateOf(account)).toEqual(before);
  });

  it("is answered as a duplicate while its command still waits, and the command is executed once", async () => {
    const account = await first.openAccount(1_000);
    const control = new TradingControl(first.demo);
    await control.inject({ kind: "unreachable", operation: "deposit", accountNumber: account, count: null });
    const deposit = request("POST", `/accounts/${account}/finance/deposits`, { amount: 100 });
    const accepted = await send(first, deposit);
    expect(accepted.status).toBe(202);
    await eventually(async () => {
      const listed = await second.call("GET", second.server(`/commands?idempotencyKey=${deposit.key}`));
      expect(listed.body).toMatchObject({ pagination: { total: 1 } });
    });
    await forgetKeys();
    const again = await Promise.all([send(second, deposit), send(first, deposit), send(second, deposit)]);
    for (const answer of again) {
      expect(answer).toMatchObject({ status: 200, body: { command: { id: accepted.body.command.id } } });
      expect(["queued", "leased"]).toContain(answer.body.command.status);
    }
    await control.clearFaults();
    await first.succeeded(accepted.body.command.id);
    expect((await second.account(account)).balance).toBe(1_100);
  });

  it("is rejected if it differs from the first request, and nothing is queued", async () => {
    const account = await first.openAccount(1_000);
    const deposit = request("POST", `/accounts/${account}/finance/deposits`, { amount: 100 });
    const accepted = await send(first, deposit);
    expect(charged(accepted)).toBe(MUTATION_PRICE);
    await first.succeeded(accepted.body.command.id);
    await forgetKeys();
    const before = await stateOf(account);
    const other = await send(second, { ...deposit, body: { amount: 101, requestId: "forgotten" } });
    expect(other.status).toBe(400);
    expect(other.headers.get("x-error-code")).toBe("IDEMPOTENCY_KEY_REUSED");
    expect(charged(other)).toBe(READ_PRICE);
    expect(await stateOf(account)).toEqual(before);
  });

  it("is answered as a duplicate after the details of its command were dropped, and the command is found", async () => {
    const account = await first.openAccount(1_000);
    const deposit = request("POST", `/accounts/${account}/finance/deposits`, { amount: 100 });
    const { id } = (await send(first, deposit)).body.command;
    await dropDetailsOf(id);
    await forgetKeys();

    const short = { id, operation: "finance.deposit", status: "succeeded", attempts: 1, result: null };
    const again = await send(second, deposit);
    expect(again).toMatchObject({ status: 200, body: { duplicate: true, command: short } });
    expect(again.body.command).not.toHaveProperty("payload");
    const other = await send(second, { ...deposit, body: { amount: 101, requestId: "forgotten" } });
    expect(other.status).toBe(400);
    expect(other.headers.get("x-error-code")).toBe("IDEMPOTENCY_KEY_REUSED");
    const found = await second.call<{ command: object }>("GET", `/commands/${id}`);
    expect(found).toMatchObject({ status: 200, body: { command: { ...short, idempotencyKey: deposit.key } } });
    expect((await second.account(account)).balance).toBe(1_100);
  });
});

/**
 * Waits until this command is final and its message is stored, because the final event may be
 * stored before the message. Then drops the details of all commands of this month. The tests have
 * not read the command, so no process has it in memory.
 */
async function dropDetailsOf(commandId: string): Promise<void> {
  const options = "-c search_path=command_status";
  const database = new pg.Client({ connectionString: system.stack.environment.postgresUrl, options });
  await database.connect();
  const one = async (text: string): Promise<unknown> => (await database.query<{ one: unknown }>(text)).rows[0]?.one;
  database.on("error", () => undefined);
  await eventually(async () => {
    const stored = `select status || ' ' || messages as one from commands_by_month where command_id = '${commandId}'`;
    expect(await one(stored)).toBe("succeeded 1");
  });
  const month = "current_command_month()";
  await one(`select keep_command_outcomes(${month}, 0, 1000000) as one`);
  await eventually(async () => expect(await one(`select drop_command_month(${month}) as one`)).toBe("dropped"));
  await database.end();
}
