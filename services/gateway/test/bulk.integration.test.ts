import { randomUUID } from "node:crypto";

import {
  BulkEnvelopesAnswer,
  COMMAND_DEADLINE_MS,
  type CommandEnvelope,
  type ErrorBody,
  TOPICS,
} from "@kapi/contracts";
import { endOffsets } from "@kapi/kafka";
import { commandIdOf } from "@kapi/kernel";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { accountBody, type Answer, call, create, getCommand, getWallet } from "./client.ts";
import { backdateRecord, type Organization, type Platform, startPlatform } from "./platform.ts";

interface Bulk {
  readonly results: CommandEnvelope[];
}

let platform: Platform;
let organization: Organization;

beforeAll(async () => {
  platform = await startPlatform();
  organization = await platform.organization(1_000_000);
});
afterAll(() => platform.stop());

function bulk(
  key: string,
  accounts: unknown,
  caller = organization,
  url = platform.url,
): Promise<Answer<Bulk & ErrorBody>> {
  const path = `servers/${caller.server.serverId}/accounts/bulk`;
  return call(url, caller, path, { body: { accounts }, headers: { "idempotency-key": key } });
}

function bodies(count: number, change: Readonly<Record<string, unknown>> = {}): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, index) => accountBody({ accountName: `Ada ${index}`, ...change }));
}

/** Number of messages in `commands.account`. */
async function published(): Promise<number> {
  const ends = await endOffsets(platform.kafka, TOPICS.commandsAccount);
  return [...ends.values()].reduce((sum, end) => sum + Number(end), 0);
}

const duplicates = (answer: Answer<Bulk>): boolean[] => answer.body.results.map(({ duplicate }) => duplicate);

describe("a bulk of new accounts", () => {
  it("is 202 with one envelope per item, in order, each with its own command, key and passwords; 10 credits each", async () => {
    const key = randomUUID();
    const accounts = bodies(3);
    accounts[1] = accountBody({ password: "supplied password" });
    const answer = await bulk(key, accounts);
    expect(answer).toMatchObject({ status: 202, charged: 30 });
    expect(answer.headers.get("idempotent-replayed")).toBeNull();
    expect(BulkEnvelopesAnswer.parse(answer.body)).toEqual(answer.body);
    for (const [index, { command, duplicate, credentials }] of answer.body.results.entries()) {
      expect(command.id).toBe(commandIdOf(organization.id, `${key}:${index}`));
      expect(command).toMatchObject({
        idempotencyKey: `${key}:${index}`,
        status: "queued",
        operation: "account.create",
      });
      expect(command.requestId).toBe(accounts[index]?.["requestId"]);
      expect(duplicate).toBe(false);
      expect(credentials?.investorPassword).toMatch(/.{20}/);
      const final = await getCommand(platform.url, organization, command.id, 20);
      expect(final.body.command.status).toBe("succeeded");
    }
    expect(answer.body.results[1]?.credentials?.tradingPassword).toBe("supplied password");
    const passwords = answer.body.results.flatMap(({ credentials }) => Object.values(credentials ?? {}));
    expect(new Set(passwords).size).toBe(6);
  });

  it("accepts 1 to 100 items and a key of at most 100 characters: else 400, and nothing is queued", async () => {
    const key = "k".repeat(100);
    const before = await published();
    expect(await bulk(key, bodies(101))).toMatchObject({ status: 400, charged: 1 });
    expect(await bulk(key, [])).toMatchObject({ status: 400, charged: 1 });
    expect(await bulk(`${key}k`, bodies(1))).toMatchObject({ status: 400, charged: 1 });
    expect(await published()).toBe(before);
    const answer = await bulk(key, bodies(100));
    expect(answer).toMatchObject({ status: 202, charged: 1_000 });
    expect(answer.body.results).toHaveLength(100);
    expect(await published()).toBe(before + 100);
  });

  it("with one invalid item is 400 for the read price and names the item; nothing is queued and the key stays free", async () => {
    const key = randomUUID();
    const accounts = bodies(3);
    const before = await published();
    const refused = await bulk(key, [accounts[0], { ...accounts[1], accountName: "a\u0000b" }, accounts[2]]);
    expect(refused).toMatchObject({ status: 400, charged: 1 });
    expect(refused.body.issues?.map(({ path }) => path)).toEqual([["accounts", 1, "accountName"]]);
    expect(await published()).toBe(before);
    expect(duplicates(await bulk(key, accounts))).toEqual([false, false, false]);
  });

  it("names each item with an unsupported leverage, also beside other issues", async () => {
    const key = randomUUID();
    const accounts = bodies(4);
    const unsupported = { leverage: 7 };
    const text = "The server does not support this leverage";
    const issueOf = (index: number) => ({
      path: ["accounts", index, "leverage"],
      code: "leverage_not_supported",
      message: text,
    });
    const before = await published();
    const refused = await bulk(key, [
      accounts[0],
      { ...accounts[1], ...unsupported },
      accounts[2],
      { ...accounts[3], ...unsupported },
    ]);
    expect(refused).toMatchObject({ status: 400, charged: 1, body: { error: text } });
    expect(refused.headers.get("x-error-code")).toBe("LEVERAGE_NOT_SUPPORTED");
    expect(refused.body.issues).toEqual([issueOf(1), issueOf(3)]);
    const both = await bulk(key, [{ ...accounts[0], accountName: "" }, { ...accounts[1], ...unsupported }, null]);
    expect(both).toMatchObject({ status: 400, charged: 1 });
    expect(both.headers.get("x-error-code")).toBe("VALIDATION_FAILED");
    expect(both.body.issues?.map(({ path }) => path)).toEqual([
      ["accounts", 0, "accountName"],
      ["accounts", 2],
      issueOf(1).path,
    ]);
    await create(platform.url, organization, `${key}:2`, accountBody({ accountName: "Eve" }));
    // A rejected bulk names a reused key as soon as command-status has the key's command.
    await eventually(async () => {
      const reused = await bulk(key, [accounts[0], { ...accounts[1], ...unsupported }, accounts[2]]);
      expect(reused.headers.get("x-error-code")).toBe("LEVERAGE_NOT_SUPPORTED");
      expect(reused.body.issues).toMatchObject([issueOf(1), { path: ["accounts", 2], code: "idempotency_key_reused" }]);
    });
    expect(await published()).toBe(before + 1);
  });

  it("that costs more than the available credits is 402 and queues nothing", async () => {
    const poor = await platform.organization(25);
    const before = await published();
    expect(await bulk(randomUUID(), bodies(3), poor)).toMatchObject({ status: 402, charged: 0, remaining: 25 });
    expect(await published()).toBe(before);
    expect(await bulk(randomUUID(), bodies(2), poor)).toMatchObject({ status: 202, remaining: 5 });
  });
});

describe("a bulk whose keys were used before", () => {
  it("by an equal bulk is 202 for the read price: every item is a duplicate with the current command, without credentials", async () => {
    const key = randomUUID();
    const accounts = bodies(2);
    const first = await bulk(key, accounts);
    for (const { command } of first.body.results) await getCommand(platform.url, organization, command.id, 20);
    const again = await bulk(key, accounts);
    expect(again).toMatchObject({ status: 202, charged: 1 });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(duplicates(again)).toEqual([true, true]);
    for (const [index, envelope] of again.body.results.entries()) {
      expect(Object.keys(envelope).toSorted()).toEqual(["command", "duplicate"]);
      expect(envelope.command).toMatchObject({ id: first.body.results[index]?.command.id, status: "succeeded" });
    }
  });

  it("by an equal bulk is 202 also without credits", async () => {
    const poor = await platform.organization(20);
    const accounts = bodies(2);
    expect(await bulk("key", accounts, poor)).toMatchObject({ status: 202, charged: 20, remaining: 0 });
    expect(await bulk("key", accounts, poor)).toMatchObject({ status: 202, charged: 0, remaining: 0 });
  });

  it("in part, by a shorter bulk or a single creation, queues and charges only the new items", async () => {
    const key = randomUUID();
    const accounts = bodies(4);
    expect(duplicates(await bulk(key, accounts.slice(0, 2)))).toEqual([false, false]);
    expect((await create(platform.url, organization, `${key}:3`, accounts[3])).status).toBe(202);
    const before = await published();
    const answer = await bulk(key, accounts);
    expect(answer).toMatchObject({ status: 202, charged: 10 });
    expect(duplicates(answer)).toEqual([true, true, false, true]);
    expect(answer.body.results.map(({ credentials }) => credentials !== undefined)).toEqual([
      false,
      false,
      true,
      false,
    ]);
    expect(answer.headers.get("idempotent-replayed")).toBeNull();
    expect(await published()).toBe(before + 1);
    expect((await create(platform.url, organization, `${key}:2`, accounts[2])).status).toBe(200);
  });

  it("in one item, by a different request, is 409 and queues nothing, before and after that request is final", async () => {
    const key = randomUUID();
    const accounts = bodies(3);
    const other = await create(platform.url, organization, `${key}:1`, accountBody({ accountName: "Eve" }));
    const before = await published();
    for (let round = 0; round < 2; round += 1) {
      const answer = await bulk(key, accounts);
      expect(answer).toMatchObject({ status: 409, charged: 1 });
      expect(answer.headers.get("x-error-code")).toBe("IDEMPOTENCY_KEY_REUSED");
      const error = "Idempotency-Key was already used for a different request: accounts[1]";
      expect(answer.body).toMatchObject({ error });
      await getCommand(platform.url, organization, other.body.command.id, 20);
    }
    expect(await published()).toBe(before);
    expect((await create(platform.url, organization, `${key}:0`, accounts[0])).status).toBe(202);
  });

  it("by another organization queues its items", async () => {
    const stranger = await platform.organization(100);
    const key = randomUUID();
    await bulk(key, bodies(1));
    expect(duplicates(await bulk(key, bodies(1, { accountName: "Eve" }), stranger))).toEqual([false]);
  });
});

describe("concurrent bulks under one key", () => {
  it("that are equal create each account once: all are 202, one queues and pays for the accounts, the others pay a read", async () => {
    const key = randomUUID();
    const accounts = bodies(10);
    const beforePublished = await published();
    const before = await getWallet(platform.url, organization);
    const answers = await Promise.all(Array.from({ length: 20 }, () => bulk(key, accounts)));
    expect(answers.every(({ status }) => status === 202)).toBe(true);
    const firsts = answers.filter((answer) => !duplicates(answer).includes(true));
    expect(firsts).toHaveLength(1);
    expect(answers.filter((answer) => !duplicates(answer).includes(false))).toHaveLength(19);
    const ids = answers.flatMap(({ body }) => body.results.map(({ command }) => command.id));
    expect(new Set(ids).size).toBe(10);
    expect(await published()).toBe(beforePublished + 10);
    const after = await getWallet(platform.url, organization);
    expect(before.availableCredits - after.availableCredits).toBe(100 + 19 + 1);
  });

  it("that differ in one item are different requests: one is queued, the other is 409", async () => {
    const beforePublished = await published();
    for (let round = 0; round < 10; round += 1) {
      const key = randomUUID();
      const accounts = bodies(3);
      const answers = await Promise.all([
        bulk(key, accounts),
        bulk(key, [...accounts.slice(0, 2), accountBody({ accountName: "Eve" })]),
      ]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 409]);
      expect(answers.find(({ status }) => status === 409)?.charged).toBe(1);
    }
    expect(await published()).toBe(beforePublished + 10 * 3);
  });

  it("that overlap in part do not deadlock and create each account once", async () => {
    const key = randomUUID();
    const accounts = bodies(12);
    const beforePublished = await published();
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, index) => bulk(key, accounts.slice(0, 1 + (index % 12)))),
    );
    expect(answers.every(({ status }) => status === 202)).toBe(true);
    const fresh = answers.flatMap(({ body }) => body.results.filter(({ duplicate }) => !duplicate));
    expect(fresh).toHaveLength(12);
    expect(new Set(fresh.map(({ command }) => command.id)).size).toBe(12);
    expect(await published()).toBe(beforePublished + 12);
  });
});

describe("a gateway killed in the middle of a bulk", () => {
  it.each(["gateway.claimed", "gateway.published", "gateway.answered"])(
    "at %s: the retry gets every command and its credentials",
    async (point) => {
      const doomed = await platform.gatewayProcess({ FAULT_POINT: point });
      const key = randomUUID();
      const accounts = bodies(5);
      const before = await getWallet(platform.url, organization);
      await expect(bulk(key, accounts, organization, doomed.url)).rejects.toThrow("fetch failed");
      expect(await doomed.ended).toBe("SIGKILL");
      // The retry has one more item: the item is queued together with those of the first request.
      const retry = await bulk(key, [...accounts, accountBody()]);
      expect(retry.status).toBe(202);
      expect(duplicates(retry)).toEqual([...accounts.map(() => false), false]);
      for (const { command, credentials } of retry.body.results) {
        expect(credentials).toBeDefined();
        const final = await getCommand(platform.url, organization, command.id, 20);
        expect(final.body.command).toMatchObject({ status: "succeeded", attempts: 1 });
      }
      const after = await getWallet(platform.url, organization);
      // Six creations, six reads, and the second read of the wallet; the five items of the first
      // bulk were reserved once.
      expect(before.availableCredits - after.availableCredits).toBe(60 + 6 + 1);
    },
  );

  it("has its records reclaimed by exactly one of many equal retries, and the commands have the times of that retry", async () => {
    const doomed = await platform.gatewayProcess({ FAULT_POINT: "gateway.claimed" });
    const key = randomUUID();
    const accounts = bodies(4);
    await expect(bulk(key, accounts, organization, doomed.url)).rejects.toThrow("fetch failed");
    for (const index of accounts.keys()) {
      const commandId = commandIdOf(organization.id, `${key}:${index}`);
      await backdateRecord(platform, organization.id, commandId, 2 * COMMAND_DEADLINE_MS);
    }
    const retries = await Promise.all(Array.from({ length: 8 }, () => bulk(key, accounts)));
    const taken = retries.filter((retry) => !duplicates(retry).includes(true));
    expect(taken).toHaveLength(1);
    expect(retries.filter((retry) => !duplicates(retry).includes(false))).toHaveLength(7);
    for (const { command } of taken[0]?.body.results ?? []) {
      const { id, createdAt, deadlineAt } = command;
      const final = await getCommand(platform.url, organization, id, 20);
      expect(final.body.command).toMatchObject({ status: "succeeded", createdAt, deadlineAt });
      expect(Date.parse(deadlineAt ?? "")).toBeGreaterThan(Date.now());
    }
  });
});

it("a bulk on a disabled server is 409 for the read price; a repeat of an earlier bulk is still 202", async () => {
  const owner = await platform.organization(1_000);
  const accounts = bodies(2);
  expect((await bulk("before", accounts, owner)).status).toBe(202);
  await platform.publish({ ...owner.server, version: 2, status: "disabled" });
  await expect
    .poll(async () => (await bulk(randomUUID(), bodies(1), owner)).headers.get("x-error-code"), { timeout: 5_000 })
    .toBe("SERVER_DISABLED");
  expect(await bulk(randomUUID(), bodies(2), owner)).toMatchObject({ status: 409, charged: 1 });
  expect(duplicates(await bulk("before", accounts, owner))).toEqual([true, true]);
  expect(await bulk("before", bodies(3), owner)).toMatchObject({ status: 409 });
});
