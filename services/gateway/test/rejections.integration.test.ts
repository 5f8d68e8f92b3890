import { randomUUID } from "node:crypto";

import { revokeKey } from "@kapi/admission/redis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { accountBody, type Answer, call, create, createdAccount, deposit, getWallet } from "./client.ts";
import { type Organization, type Platform, startPlatform } from "./platform.ts";

let platform: Platform;
let organization: Organization;
let stranger: Organization;
let accountNumber: string;

beforeAll(async () => {
  platform = await startPlatform();
  organization = await platform.organization(10_000);
  stranger = await platform.organization(10_000);
  accountNumber = await createdAccount(platform.url, organization);
});
afterAll(() => platform.stop());

const configuration = (serverId = organization.server.serverId): string => `servers/${serverId}/configuration`;

/** Checks status, code, text, headers and charge of an error response. */
function expectError(answer: Answer<unknown>, status: number, code: string, error: string, charged: number): void {
  expect(answer.body).toMatchObject({ error, code: answer.headers.get("x-error-code") });
  expect(answer.status).toBe(status);
  expect(answer.headers.get("x-error-code")).toBe(code);
  expect(answer.headers.get("x-request-id")).toMatch(/.+/);
  expect(answer.charged).toBe(charged);
  // No wallet is read for an unknown caller, or for a path or method without an operation.
  const known = status !== 401 && code !== "NOT_FOUND" && code !== "METHOD_NOT_ALLOWED";
  expect(answer.headers.has("x-credits-remaining")).toBe(known);
}

describe("an unknown caller", () => {
  it.each([
    ["sends no key", null],
    ["sends a malformed key", "kapi.short.key"],
    ["sends an unknown key", `kapi.${"a".repeat(16)}.${"b".repeat(43)}`],
  ])("who %s gets 401, also if the request has other errors", async (_what, managementKey) => {
    const answer = await call(platform.url, organization, "servers/no-uuid/accounts", {
      managementKey,
      body: "{no json",
    });
    expectError(answer, 401, "AUTHENTICATION_REQUIRED", "Management API authentication required", 0);
  });

  it("whose key was revoked gets 401 within two seconds of the revocation in the directory", async () => {
    const revoked = await platform.organization(100);
    expect((await call(platform.url, revoked, "credits/balance")).status).toBe(200);
    await platform.publish({ ...revoked.key, version: 2, status: "revoked" });
    await expect
      .poll(async () => (await call(platform.url, revoked, "credits/balance")).status, { timeout: 2_000 })
      .toBe(401);
  });

  it("whose key was revoked gets the same 401 as soon as Redis has the revocation, before the directory has it", async () => {
    const revoked = await platform.organization(100);
    await revokeKey(platform.redis, revoked.id, revoked.key.keyId);
    const answer = await call(platform.url, revoked, "credits/balance");
    expectError(answer, 401, "AUTHENTICATION_REQUIRED", "Management API authentication required", 0);
  });
});

describe("a key without permission", () => {
  it("gets 403 that names the missing scope, free of charge, before the server and the request are checked", async () => {
    const limited = await platform.organization(50, { scopes: ["credits:read"] });
    for (const path of ["servers/no-uuid/accounts", configuration(), configuration(randomUUID())]) {
      const answer = await call(platform.url, limited, path);
      expectError(answer, 403, "MISSING_SCOPE", "Missing API scope: accounts:read", 0);
      expect(answer.remaining).toBe(50);
    }
  });

  it("gets 403 for an unknown server and for another organization's server, before 402 and 400", async () => {
    const poor = await platform.organization(0);
    for (const caller of [organization, poor]) {
      for (const serverId of [randomUUID(), stranger.server.serverId]) {
        const answer = await call(platform.url, caller, `servers/${serverId}/accounts`, { body: "{no json" });
        expectError(answer, 403, "MISSING_SERVER_ACCESS", `Missing server access: ${serverId}`, 0);
      }
    }
  });
});

describe("an organization without credits", () => {
  it("gets 402 before 400 and 404, free of charge", async () => {
    const poor = await platform.organization(0);
    const own = poor.server.serverId;
    const answers = [
      await call(platform.url, poor, "servers/no-uuid/configuration"),
      await call(platform.url, poor, `servers/${own}/accounts`, { body: "{no json" }),
      await call(platform.url, poor, "commands/no-uuid"),
      await create(platform.url, poor, randomUUID()),
      await deposit(platform.url, poor, "99999999", randomUUID(), { amount: 1, requestId: "r" }),
    ];
    for (const answer of answers) expectError(answer, 402, "INSUFFICIENT_CREDITS", "Insufficient API credits", 0);
  });

  it("without a wallet gets 404 for the balance and 402 for other operations", async () => {
    const none = await platform.organization(null);
    const balance = await call(platform.url, none, "credits/balance");
    expectError(balance, 404, "WALLET_NOT_FOUND", "Credit wallet not found", 0);
    expect((await call(platform.url, none, configuration(none.server.serverId))).status).toBe(402);
  });
});

it("a key above its rate limit gets 429 before 402, free of charge", async () => {
  const limited = await platform.organization(0);
  await platform.publish({ ...limited.key, version: 2, rateLimit: { perSecond: 0.01, burst: 1 } });
  const ask = (): Promise<Answer<unknown>> => call(platform.url, limited, "credits/balance");
  await expect.poll(async () => (await ask()).status, { timeout: 5_000 }).toBe(429);
  const answer = await ask();
  expectError(answer, 429, "RATE_LIMITED", "Rate limit exceeded", 0);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
});

describe("an invalid request costs the read price and names the error", () => {
  it.each([
    ["malformed JSON", "INVALID_JSON", "application/json", "{no json"],
    ["another content type", "UNSUPPORTED_CONTENT_TYPE", "text/plain", "hello"],
    ["more than 1 MiB", "BODY_TOO_LARGE", "application/json", `"${"x".repeat(1_100_000)}"`],
  ])("%s is 400", async (_what, code, contentType, body) => {
    const before = await getWallet(platform.url, organization);
    const answer = await call(platform.url, organization, `servers/${organization.server.serverId}/accounts`, {
      body,
      headers: { "content-type": contentType, "idempotency-key": randomUUID() },
    });
    expect(answer).toMatchObject({ status: 400, charged: 1, remaining: before.availableCredits - 1 });
    expect(answer.headers.get("x-error-code")).toBe(code);
    expect(Object.keys(answer.body)).toEqual(["error", "code", "requestId"]);
  });

  it.each([
    ["accountName", ""],
    ["accountName", "x".repeat(101)],
    ["accountName", "a\u0000b"],
    ["accountName", "\ud800"],
    ["accountName", undefined],
    ["initialBalance", -0.01],
    ["initialBalance", 10.005],
    ["initialBalance", 1_000_000_001],
    ["initialBalance", "10"],
    ["leverage", 0],
    ["leverage", 1.5],
    ["leverage", 10_001],
    ["password", "short"],
    ["requestId", ""],
  ])("a creation with %s %j is 400 with an issue that names the field", async (field, value) => {
    const answer = await create(platform.url, organization, randomUUID(), accountBody({ [field]: value }));
    expect(answer).toMatchObject({ status: 400, charged: 1, body: { error: "Invalid request" } });
    expect(answer.headers.get("x-error-code")).toBe("VALIDATION_FAILED");
    expect(answer.body.issues?.map((issue) => issue.path[0])).toEqual([field]);
    for (const issue of answer.body.issues ?? []) {
      expect(Object.keys(issue).toSorted()).toEqual(["code", "message", "path"]);
    }
  });

  it.each([0, -1, 0.001, 10.005, 1_000_000_001, "5", null])("a deposit of %j is 400", async (amount) => {
    const answer = await deposit(platform.url, organization, accountNumber, randomUUID(), { amount, requestId: "r" });
    expect(answer).toMatchObject({ status: 400, charged: 1 });
    expect(answer.body.issues?.[0]?.path).toEqual(["amount"]);
  });

  it("names all issues in one response: server, account number, idempotency key and body", async () => {
    const answer = await call(platform.url, organization, "servers/no-uuid/accounts/x/finance/deposits", {
      body: { amount: 1 },
      headers: { "idempotency-key": "x".repeat(101) },
    });
    expect(answer).toMatchObject({ status: 400, charged: 1 });
    expect(answer.body.issues?.map((issue) => issue.path[0])).toEqual([
      "serverId",
      "accountNumber",
      "Idempotency-Key",
      "requestId",
    ]);
  });

  it("a page below 1 is 400; an unknown parameter is ignored", async () => {
    const empty = await platform.organization(10);
    const accounts = `servers/${empty.server.serverId}/accounts`;
    expect(await call(platform.url, empty, `${accounts}?page=0`)).toMatchObject({ status: 400, charged: 1 });
    expect(await call(platform.url, empty, `${accounts}?sort=up`)).toMatchObject({ status: 200, charged: 1 });
  });
});

describe("an unknown resource", () => {
  it("is 404 for the read price: an account, a command, a malformed command id, another organization's command", async () => {
    const theirs = await create(platform.url, stranger, randomUUID());
    const own = `servers/${organization.server.serverId}/accounts`;
    const answers: [Answer<unknown>, string, string][] = [
      [await call(platform.url, organization, `${own}/99999999`), "ACCOUNT_NOT_FOUND", "Trading account not found"],
      [
        await deposit(platform.url, organization, "99999999", randomUUID(), { amount: 1, requestId: "r" }),
        "ACCOUNT_NOT_FOUND",
        "Trading account not found",
      ],
      [await call(platform.url, organization, `commands/${randomUUID()}`), "COMMAND_NOT_FOUND", "Command not found"],
      [await call(platform.url, organization, "commands/no-uuid"), "COMMAND_NOT_FOUND", "Command not found"],
      [
        await call(platform.url, organization, `commands/${theirs.body.command.id}`),
        "COMMAND_NOT_FOUND",
        "Command not found",
      ],
    ];
    for (const [answer, code, error] of answers) expectError(answer, 404, code, error, 1);
  });

  it("is 404 free of charge for an unknown route", async () => {
    expectError(await call(platform.url, organization, "nothing/here"), 404, "NOT_FOUND", "Not found", 0);
  });

  it("is 405 free of charge for a method that a route does not have", async () => {
    const answer = await call(platform.url, organization, "credits/balance", { method: "DELETE" });
    expectError(answer, 405, "METHOD_NOT_ALLOWED", "Method not allowed", 0);
  });

  it("is 404 for a removed server if the operation lists 404, else 403", async () => {
    const left = await platform.organization(100);
    await platform.publish({ ...left.server, version: 2, status: "removed" });
    const path = `servers/${left.server.serverId}`;
    await expect
      .poll(async () => (await call(platform.url, left, `${path}/configuration`)).status, { timeout: 5_000 })
      .toBe(403);
    expect(await call(platform.url, left, `${path}/accounts/10000001`)).toMatchObject({ status: 404, charged: 1 });
    expect(await create(platform.url, left, randomUUID())).toMatchObject({ status: 404, charged: 1 });
  });
});

describe("a creation that the state of the server rejects", () => {
  it("is 400 for a leverage that the server does not support", async () => {
    const answer = await create(platform.url, organization, randomUUID(), accountBody({ leverage: 7 }));
    expectError(answer, 400, "LEVERAGE_NOT_SUPPORTED", "The server does not support this leverage", 1);
  });

  it("is 409 on a disabled server, but 400 with a wrong leverage; the repeat of an accepted creation is still a duplicate", async () => {
    const owner = await platform.organization(1_000);
    const body = accountBody();
    const first = await create(platform.url, owner, "key-1", body);
    expect(first.status).toBe(202);
    await platform.publish({ ...owner.server, version: 2, status: "disabled" });
    await expect
      .poll(async () => (await create(platform.url, owner, randomUUID())).status, { timeout: 5_000 })
      .toBe(409);
    const refused = await create(platform.url, owner, "key-2", accountBody({ leverage: 7 }));
    expect(refused).toMatchObject({ status: 400, charged: 1 });
    const again = await create(platform.url, owner, "key-1", body);
    expect(again).toMatchObject({ status: 200, body: { duplicate: true, command: { id: first.body.command.id } } });
  });
});
