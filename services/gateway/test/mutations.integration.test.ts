import { randomUUID } from "node:crypto";

import { CommandEnvelope, TOPICS } from "@kapi/contracts";
import { endOffsets } from "@kapi/kafka";
import { commandIdOf, managedAccountIdOf } from "@kapi/kernel";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { accountBody, call, create, createdAccount, deposit, getCommand, getWallet } from "./client.ts";
import { type Organization, type Platform, startPlatform } from "./platform.ts";

let platform: Platform;
let organization: Organization;
let accountNumber: string;

beforeAll(async () => {
  platform = await startPlatform();
  organization = await platform.organization(100_000);
  accountNumber = await createdAccount(platform.url, organization);
});
afterAll(() => platform.stop());

/** Number of published messages of account commands and finance commands. */
async function published(): Promise<bigint> {
  const ends = await Promise.all(
    [TOPICS.commandsAccount, TOPICS.commandsFinance].map((topic) => endOffsets(platform.kafka, topic)),
  );
  let sum = 0n;
  for (const topic of ends) for (const end of topic.values()) sum += end;
  return sum;
}

describe("a creation", () => {
  it("is 202 once, with both passwords; its repeat is 200 with the current command, without passwords", async () => {
    const key = randomUUID();
    const body = accountBody({ nonsense: "ignored" });
    const first = await create(platform.url, organization, key, body);
    expect(first.status).toBe(202);
    expect(CommandEnvelope.strict().parse(first.body)).toEqual(first.body);
    const { command } = first.body;
    expect(command).toMatchObject({
      id: commandIdOf(organization.id, key),
      operation: "account.create",
      status: "queued",
      managedAccountId: managedAccountIdOf(command.id),
      payload: { accountName: "Ada", initialBalance: 1_000, leverage: 100 },
      idempotencyKey: key,
      requestId: body["requestId"],
    });
    expect(command.payload).not.toHaveProperty("nonsense");
    expect(command.payload).not.toHaveProperty("requestId");
    expect(first.body.duplicate).toBe(false);
    expect(first.body.credentials?.tradingPassword).not.toBe(first.body.credentials?.investorPassword);
    expect(first.charged).toBe(10);

    const final = await getCommand(platform.url, organization, command.id, 20);
    expect(final.body.command.status).toBe("succeeded");
    const again = await create(platform.url, organization, key, { ...body, requestId: "another" });
    expect(again.status).toBe(200);
    expect(again.body).toEqual({ command: final.body.command, duplicate: true });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.charged).toBe(1);
  });

  it("sent many times concurrently to two gateways is one command: one 202 with the credentials, the others 200 without", async () => {
    const other = await platform.gateway({});
    const key = randomUUID();
    const body = accountBody();
    const before = await published();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => create(index % 2 === 0 ? platform.url : other, organization, key, body)),
    );
    const firsts = answers.filter((answer) => answer.status === 202);
    expect(firsts).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(39);
    expect(answers.filter((answer) => answer.body.credentials !== undefined)).toEqual(firsts);
    expect(new Set(answers.map((answer) => answer.body.command.id)).size).toBe(1);
    expect(await published()).toBe(before + 1n);
  });

  it("of another organization under the same key is another command", async () => {
    const stranger = await platform.organization(100);
    const key = randomUUID();
    const ours = await create(platform.url, organization, key);
    const theirs = await create(platform.url, stranger, key, accountBody({ accountName: "Eve" }));
    expect([ours.status, theirs.status]).toEqual([202, 202]);
    expect(theirs.body.command.id).not.toBe(ours.body.command.id);
  });

  it("uses a supplied password as the trading password; the password is in no command, and part of the fingerprint", async () => {
    const key = randomUUID();
    const body = accountBody({ password: "correct horse battery" });
    const first = await create(platform.url, organization, key, body);
    expect(first.body.credentials?.tradingPassword).toBe("correct horse battery");
    const stored = await getCommand(platform.url, organization, first.body.command.id);
    expect(JSON.stringify([first.body.command, stored.body])).not.toContain("correct horse");
    expect((await create(platform.url, organization, key, body)).status).toBe(200);
    const other = await create(platform.url, organization, key, { ...body, password: "battery horse correct" });
    expect(other.status).toBe(409);
  });

  it("under a key of a different request is 409 for the read price, and queues nothing", async () => {
    const key = randomUUID();
    expect((await create(platform.url, organization, key)).status).toBe(202);
    const before = await published();
    const answer = await create(platform.url, organization, key, accountBody({ accountName: "Eve" }));
    expect(answer).toMatchObject({ status: 409, charged: 1 });
    expect(answer.headers.get("x-error-code")).toBe("IDEMPOTENCY_KEY_REUSED");
    expect(await published()).toBe(before);
  });

  it("that is 402 reserves no credits", async () => {
    const poor = await platform.organization(12);
    const key = randomUUID();
    const first = await create(platform.url, poor, randomUUID());
    expect(first).toMatchObject({ status: 202, remaining: 2 });
    expect((await create(platform.url, poor, key)).status).toBe(402);
    expect(await getWallet(platform.url, poor)).toMatchObject({ availableCredits: 1, reservedCredits: 10 });
  });

  it("that is repeated is 200 also without credits", async () => {
    const poor = await platform.organization(10);
    const body = accountBody();
    const key = randomUUID();
    expect(await create(platform.url, poor, key, body)).toMatchObject({ status: 202, charged: 10, remaining: 0 });
    expect(await create(platform.url, poor, key, body)).toMatchObject({ status: 200, charged: 0, remaining: 0 });
  });
});

describe("a deposit", () => {
  it("sent many times concurrently is queued once: one 202, the others 200 with the same command", async () => {
    const body = { amount: 12.34, requestId: "r" };
    const key = randomUUID();
    const before = await getWallet(platform.url, organization);
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => deposit(platform.url, organization, accountNumber, key, body)),
    );
    expect(answers.filter((answer) => answer.status === 202)).toHaveLength(1);
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(39);
    expect(new Set(answers.map((answer) => answer.body.command.id)).size).toBe(1);
    const after = await getWallet(platform.url, organization);
    const spent = before.availableCredits - after.availableCredits;
    // The reservation, 39 repeats, and the second read of the wallet.
    expect(spent).toBe(5 + 39 + 1);
    expect(answers.reduce((sum, answer) => sum + answer.charged, 0)).toBe(spent - 1);
  });

  it("under a key of a different request is 400, for another amount or another operation", async () => {
    const key = randomUUID();
    const body = { amount: 5, requestId: "r" };
    expect((await deposit(platform.url, organization, accountNumber, key, body)).status).toBe(202);
    const other = await deposit(platform.url, organization, accountNumber, key, { ...body, amount: 6 });
    expect(other).toMatchObject({ status: 400, charged: 1 });
    expect(other.headers.get("x-error-code")).toBe("IDEMPOTENCY_KEY_REUSED");
    const withdrawals = `servers/${organization.server.serverId}/accounts/${accountNumber}/finance/withdrawals`;
    const headers = { "idempotency-key": key };
    expect((await call(platform.url, organization, withdrawals, { body, headers })).status).toBe(400);
  });

  it("keeps every credit accounted for: bought = available + reserved + consumed", async () => {
    const keys = Array.from({ length: 20 }, () => randomUUID());
    const body = { amount: 1, requestId: "r" };
    await Promise.all([...keys, ...keys].map((key) => deposit(platform.url, organization, accountNumber, key, body)));
    const wallet = await getWallet(platform.url, organization);
    expect(wallet.availableCredits + wallet.reservedCredits + wallet.lifetimeConsumed).toBe(wallet.lifetimePurchased);
  });
});

describe("a read", () => {
  it("right after the 202 finds the command, every time", async () => {
    for (let round = 0; round < 30; round += 1) {
      const body = { amount: 1, requestId: "r" };
      const { body: accepted } = await deposit(platform.url, organization, accountNumber, randomUUID(), body);
      const read = await getCommand(platform.url, organization, accepted.command.id);
      expect(read.status).toBe(200);
      expect(read.body.command).toMatchObject({ id: accepted.command.id, createdAt: accepted.command.createdAt });
    }
  });

  it("with wait returns when the command is final, for the read price", async () => {
    const { body } = await create(platform.url, organization, randomUUID());
    const read = await getCommand(platform.url, organization, body.command.id, 20);
    expect(read).toMatchObject({ status: 200, charged: 1, body: { command: { status: "succeeded" } } });
  });

  it("returns configuration, list of accounts and details of an account from the account service", async () => {
    const server = `servers/${organization.server.serverId}`;
    const configuration = await call<{ server: unknown }>(platform.url, organization, `${server}/configuration`);
    expect(configuration.body.server).toMatchObject({ serverId: organization.server.serverId, status: "active" });
    const empty = await platform.organization(10);
    const list = await call(platform.url, empty, `servers/${empty.server.serverId}/accounts`);
    expect(list).toMatchObject({ status: 200, charged: 1, remaining: 9, body: { accounts: [] } });
    expect(list.headers.get("content-type")).toMatch(/^application\/json/);
    const details = await call<{ account: unknown }>(platform.url, organization, `${server}/accounts/${accountNumber}`);
    expect(details.body).toMatchObject({
      account: { accountNumber, status: "active" },
      credentials: { login: accountNumber },
    });
  });
});
