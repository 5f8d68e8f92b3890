/**
 * The API of the console's pages: what people see and change of their own organization, and that
 * they see and change nothing of another organization.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";

import { authenticate } from "@kapi/admission";
import { type ConsoleKey, CreatedConsoleKeyAnswer, SCOPES } from "@kapi/contracts";
import { systemClock } from "@kapi/kernel";
import { admit, readWallet } from "@kapi/admission/redis";
import { ApiError } from "@kapi/http";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type ConsoleHarness, type Browser, type ConsoleUser, startConsoleHarness } from "./harness.ts";

let harness: ConsoleHarness;
let person: ConsoleUser;
let browser: Browser;
beforeAll(async () => {
  harness = await startConsoleHarness();
  person = await harness.person({ credits: 100 });
  browser = await harness.signedIn(person);
});
afterAll(() => harness.stop());

/** The signed evidence of a breach. */
const EVIDENCE = readFileSync(new URL("../../../docs/examples/evidence/breach.json", import.meta.url), "utf8");

/**
 * Adds a breach of account 10000001. `evidence` is the evidence, or the error that requests for the
 * evidence get. Returns the id of the breach.
 */
function newBreach(evidence: string | ApiError): string {
  const id = randomUUID();
  harness.standIns.breaches.set(id, { accountNumber: "10000001", evidence });
  return id;
}

function charge(organizationId: string, keyId: string, price: number) {
  return admit(harness.redis, {
    callerName: keyId,
    organizationId,
    chargeId: randomUUID(),
    mode: "consume",
    price,
    readPrice: 1,
    operation: "getCommand",
    requestId: "<script>request</script>",
    rateLimit: null,
    records: [],
  });
}

async function newKey(name: string, expiresAt: string | null = null) {
  const answer = await browser.ask("POST", "/keys", { name, scopes: ["credits:read"], expiresAt });
  expect(answer.status).toBe(201);
  return CreatedConsoleKeyAnswer.parse(answer.body);
}

describe("credits", () => {
  it("show the current wallet, and the usage by line and by day", async () => {
    const { organizationId } = person;
    const before = await browser.ask("GET", "/credits");
    await charge(organizationId, "aaaaaaaaaaaaaaaa", 7);
    const { body } = await browser.ask("GET", "/credits");
    const { availableCredits } = (before.body as { balance: { availableCredits: number } }).balance;
    expect(body).toMatchObject({ balance: { organizationId, availableCredits: availableCredits - 7 } });
    await eventually(async () => {
      const { body: lines } = await browser.ask("GET", "/credits/usage?page=1&limit=5");
      expect(lines).toMatchObject({
        usage: [{ credits: 7, operation: "getCommand", xRequestId: "<script>request</script>" }],
      });
    });
    const { body: byDay } = await browser.ask("GET", "/credits/usage-by-day?days=2");
    const today = { operations: [{ operation: "getCommand", requests: 1, credits: 7 }] };
    expect(byDay).toMatchObject({ days: [{ operations: [] }, today] });
    for (const query of ["days=0", "days=91", "days=many"]) {
      expect((await browser.ask("GET", `/credits/usage-by-day?${query}`)).status).toBe(400);
    }
  });

  it("keep their low-balance threshold after Redis has lost all data", async () => {
    expect((await browser.ask("PUT", "/credits/threshold", { lowBalanceThreshold: 1_000 })).body).toMatchObject({
      balance: { lowBalanceThreshold: 1_000, lowBalance: true },
    });
    await harness.redis.commands.flushall();
    await eventually(async () => {
      expect(await readWallet(harness.redis, person.organizationId)).toMatchObject({
        kind: "wallet",
        wallet: { lowBalanceThreshold: 1_000 },
      });
    });
    // Redis lost the sessions too, so people have to sign in again.
    expect((await browser.ask("GET", "/credits")).status).toBe(401);
    browser = await harness.signedIn(person);
    for (const lowBalanceThreshold of [-1, 1.5, "5", null]) {
      const answer = await browser.ask("PUT", "/credits/threshold", { lowBalanceThreshold });
      expect(answer).toMatchObject({ status: 400, body: { issues: [{ path: ["lowBalanceThreshold"] }] } });
    }
  });
});

describe("a management key", () => {
  it("is shown once, reaches all servers, and is revoked in Redis and in the directory", async () => {
    const { key, managementKey } = await newKey("Reporting <b>&amp;</b>");
    expect(key).toMatchObject({ name: "Reporting <b>&amp;</b>", status: "active", serverIds: null, revokedAt: null });
    const secret = managementKey.split(".")[2] ?? "";
    const listed = await browser.ask("GET", "/keys");
    expect((listed.body as { keys: ConsoleKey[] }).keys).toContainEqual({ ...key, lastUse: null });
    expect(listed.text).not.toContain(secret);
    await eventually(() => harness.directory.key(key.keyId) !== undefined);
    const entry = authenticate(harness.directory, systemClock, `Management ${managementKey}`);
    expect(entry).toMatchObject({ organizationId: person.organizationId, scopes: ["credits:read"], serverIds: null });

    const revoked = await browser.ask("DELETE", `/keys/${key.keyId}`);
    expect(revoked).toMatchObject({ status: 200, body: { key: { keyId: key.keyId, status: "revoked" } } });
    expect(await charge(person.organizationId, key.keyId, 1)).toEqual({ kind: "revoked" });
    await eventually(() => harness.directory.key(key.keyId)?.status === "revoked");
    expect(await browser.ask("DELETE", `/keys/${key.keyId}`)).toMatchObject({ status: 200, body: revoked.body });
  });

  it("with wrong scopes, or a wrong name, expiry or network, is rejected, and the issue names the field", async () => {
    const good = { name: "Key", scopes: ["credits:read"], expiresAt: null };
    const bad: [string, object][] = [
      ["scopes", { scopes: ["credits:read", "everything"] }],
      ["scopes", { scopes: [] }],
      ["scopes", { scopes: ["credits:read", "credits:read"] }],
      ["scopes", { scopes: undefined }],
      ["name", { name: "   " }],
      ["name", { name: "x".repeat(101) }],
      ["name", { name: "two\nlines" }],
      ["expiresAt", { expiresAt: "2020-01-01T00:00:00Z" }],
      ["expiresAt", { expiresAt: "soon" }],
      ["allowedNetworks", { allowedNetworks: ["203.0.113.0/33"] }],
      ["allowedNetworks", { allowedNetworks: ["backend.example.com"] }],
      ["allowedNetworks", { allowedNetworks: [] }],
    ];
    for (const [field, change] of bad) {
      const { status, body } = await browser.ask("POST", "/keys", { ...good, ...change });
      expect([status, (body["issues"] as { path: string[] }[])[0]?.path[0]]).toEqual([400, field]);
    }
  });

  it("that is limited to networks has its networks in the list of keys and in the directory", async () => {
    const allowedNetworks = ["203.0.113.0/24", "2001:db8::1"];
    const created = await browser.ask("POST", "/keys", { name: "Office", scopes: ["credits:read"], allowedNetworks });
    const { keyId } = (created.body as { key: ConsoleKey }).key;
    expect(created.body).toMatchObject({ key: { allowedNetworks } });
    await eventually(() => expect(harness.directory.key(keyId)).toMatchObject({ allowedNetworks }));
    const { keys } = (await browser.ask("GET", "/keys")).body as { keys: ConsoleKey[] };
    expect(keys.find((key) => key.keyId === keyId)).toMatchObject({ allowedNetworks });
  });

  it("that has expired is listed as expired; every scope has a description", async () => {
    const soon = new Date(Date.now() + 1_000).toISOString();
    const { key } = await newKey("Short", soon);
    await eventually(async () => {
      const { keys } = (await browser.ask("GET", "/keys")).body as { keys: ConsoleKey[] };
      expect(keys.find(({ keyId }) => keyId === key.keyId)).toMatchObject({ status: "expired", expiresAt: soon });
    });
    const { scopes } = (await browser.ask("GET", "/scopes")).body as {
      scopes: { scope: string; description: string }[];
    };
    expect(scopes.map(({ scope }) => scope)).toEqual(SCOPES);
    expect(scopes.every(({ description }) => description !== "")).toBe(true);
  });
});

describe("a server", () => {
  it("is disabled and made active again, also in the directory; is listed even if the account service does not know the server", async () => {
    const { serverId } = person;
    harness.standIns.accounts.set(serverId, ["10000001", "10000002"]);
    const configuration = { serverName: "Test-Demo", currencySymbol: "$", defaultLeverage: 100 };
    expect((await browser.ask("GET", "/servers")).body).toMatchObject({
      servers: [{ serverId, status: "active", accountCount: 2, configuration }],
    });
    for (const status of ["disabled", "disabled", "active"]) {
      const answer = await browser.ask("PATCH", `/servers/${serverId}`, { status });
      expect(answer).toMatchObject({ status: 200, body: { server: { serverId, status } } });
      await eventually(() => harness.directory.server(serverId)?.status === status);
    }
    // The second `disabled` changed nothing and announced nothing.
    expect(harness.directory.server(serverId)?.version).toBe(3);
    const unknown = { configuration: { serverName: "Test-Demo" }, accountCount: 0 };
    harness.standIns.accounts.delete(serverId);
    expect((await browser.ask("GET", "/servers")).body).toMatchObject({ servers: [unknown] });
  });

  it("keeps its status if the same request has an invalid configuration; the answer names the invalid field", async () => {
    const { serverId } = person;
    const refused = await browser.ask("PATCH", `/servers/${serverId}`, { status: "disabled", defaultLeverage: 77 });
    expect(refused).toMatchObject({ status: 400, body: { issues: [{ path: ["defaultLeverage"] }] } });
    expect((await browser.ask("GET", "/servers")).body).toMatchObject({ servers: [{ status: "active" }] });
    await browser.ask("PATCH", `/servers/${serverId}`, { currency: "NGN", supportedLeverage: [1, 5], other: 1 });
    expect(harness.standIns.changes.at(-1)).toEqual({
      serverId,
      change: { currency: "NGN", supportedLeverage: [1, 5] },
    });
    for (const body of [{}, { status: "removed" }, { supportedLeverage: [] }, { currency: "EUR" }]) {
      expect((await browser.ask("PATCH", `/servers/${serverId}`, body)).status).toBe(400);
    }
  });

  it("shows pages of accounts, the details of an account but not its credentials, and commands", async () => {
    const { serverId, organizationId } = person;
    harness.standIns.accounts.set(serverId, ["10000001"]);
    const base = `/servers/${serverId}`;
    expect((await browser.ask("GET", `${base}/accounts`)).body).toMatchObject({
      accounts: [{ accountNumber: "10000001", stored: null }],
      pagination: { page: 1, limit: 50, total: 1, totalPages: 1, nextCursor: null },
      orderedAt: null,
    });
    const { body: details } = await browser.ask("GET", `${base}/accounts/10000001`);
    expect(details).toMatchObject({ account: { accountNumber: "10000001", accountName: "<b>Account</b>" } });
    expect(Object.keys(details)).toEqual(["account"]);
    const listed = await browser.ask("GET", `${base}/commands?status=failed&accountNumber=10000001`);
    expect(listed.body).toMatchObject({ asked: { organizationId, status: "failed", accountNumber: "10000001" } });
    const command = commandOf(serverId);
    harness.standIns.commands.set(command.id, { organizationId, body: JSON.stringify({ command }) });
    expect((await browser.ask("GET", `${base}/commands/${command.id}`)).body).toEqual({ command });
  });
});

describe("a breach", () => {
  it("is listed and can be read by its id; an unknown id gets 404; the risk rules of the account can be read", async () => {
    const base = `/servers/${person.serverId}/accounts/10000001`;
    const breachId = newBreach(EVIDENCE);
    const { serverId } = person;
    expect((await browser.ask("GET", `${base}/risk-rules`)).body).toEqual({
      riskRules: { serverId, accountNumber: "10000001" },
    });
    const listed = await browser.ask("GET", `${base}/breaches?page=2&limit=10&ruleId=daily`);
    expect(listed.body).toMatchObject({ asked: { page: 2, limit: 10, ruleId: "daily" } });
    expect(listed.body["breaches"]).toContainEqual({ id: breachId });
    expect(await browser.ask("GET", `${base}/breaches?page=first`)).toMatchObject({
      status: 400,
      body: { issues: [{ path: ["page"] }] },
    });
    expect((await browser.ask("GET", `${base}/breaches/${breachId}`)).body).toEqual({
      breach: { id: breachId, accountNumber: "10000001" },
    });
    const elsewhere = `/servers/${serverId}/accounts/10000002/breaches/${breachId}`;
    for (const unknown of [`${base}/breaches/${randomUUID()}`, `${base}/breaches/none`, elsewhere]) {
      expect(await browser.ask("GET", unknown)).toMatchObject({ status: 404, body: { code: "BREACH_NOT_FOUND" } });
    }
  });

  it("has evidence, byte for byte as it was signed", async () => {
    const breachId = newBreach(EVIDENCE);
    const path = `/servers/${person.serverId}/accounts/10000001/breaches/${breachId}/evidence`;
    const { status, text, headers } = await browser.ask("GET", path);
    expect([status, text === EVIDENCE, headers.get("content-type")]).toEqual([
      200,
      true,
      "application/json; charset=utf-8",
    ]);
  });

  it("whose evidence is pending gets 409 with the time to ask again; a breach without evidence gets 404", async () => {
    const base = `/servers/${person.serverId}/accounts/10000001/breaches`;
    const pending = newBreach(new ApiError("EVIDENCE_PENDING", { headers: { "retry-after": "15" } }));
    const answer = await browser.ask("GET", `${base}/${pending}/evidence`);
    expect(answer).toMatchObject({ status: 409, body: { code: "EVIDENCE_PENDING" } });
    expect(answer.headers.get("retry-after")).toBe("15");
    const none = newBreach(new ApiError("EVIDENCE_NOT_FOUND"));
    expect(await browser.ask("GET", `${base}/${none}/evidence`)).toMatchObject({
      status: 404,
      body: { code: "EVIDENCE_NOT_FOUND" },
    });
  });
});

const RISK_ACTION = { idempotencyKey: randomUUID(), expectedVersion: 1 };

describe("another organization", () => {
  it("can see and change nothing of this organization: 404; requests about this organization's server reach only the organization service", async () => {
    const { key } = await newKey("Mine");
    const { serverId, organizationId } = person;
    harness.standIns.accounts.set(serverId, ["10000001"]);
    const command = commandOf(serverId);
    harness.standIns.commands.set(command.id, { organizationId, body: JSON.stringify({ command }) });
    const breachId = newBreach(EVIDENCE);
    const stranger = await harness.person();
    const other = await harness.signedIn(stranger);
    harness.standIns.asked.length = 0;
    const server = `/servers/${serverId}`;
    const routes: [string, string, unknown?][] = [
      ["DELETE", `/keys/${key.keyId}`],
      ["PATCH", server, { status: "disabled" }],
      ["PATCH", server, { currency: "NGN" }],
      ["GET", `${server}/accounts`],
      ["GET", `${server}/accounts.csv`],
      ["GET", `${server}/accounts/10000001`],
      ["GET", `${server}/accounts/10000001/live`],
      ["GET", `${server}/commands`],
      ["GET", `${server}/commands/${command.id}`],
      ["GET", `${server}/accounts/10000001/risk-rules`],
      ["POST", `${server}/accounts/10000001/actions/delete-risk-rules`, RISK_ACTION],
      ["GET", `${server}/risk-templates`],
      ["GET", `${server}/risk-templates/standard/accounts`],
      ["POST", `${server}/risk-templates/standard/actions/delete-template`, { ...RISK_ACTION, accountRules: "keep" }],
      ["GET", `${server}/accounts/10000001/breaches`],
      ["GET", `${server}/accounts/10000001/breaches/${breachId}`],
      ["GET", `${server}/accounts/10000001/breaches/${breachId}/evidence`],
    ];
    for (const [method, path, body] of routes) {
      expect([path, (await other.ask(method, path, body)).status]).toEqual([path, 404]);
    }
    expect(harness.standIns.asked.filter((path) => path.includes(serverId))).toEqual([]);
    expect(harness.directory.server(serverId)?.status).toBe("active");
    // The stranger does not find this organization's command under the stranger's server. Even a
    // command of the stranger is not found there, because the command is of another server.
    const theirs = `/servers/${stranger.serverId}/commands/${command.id}`;
    expect((await other.ask("GET", theirs)).status).toBe(404);
    harness.standIns.commands.set(command.id, {
      organizationId: stranger.organizationId,
      body: JSON.stringify({ command }),
    });
    expect((await other.ask("GET", theirs)).status).toBe(404);
    const everything = ["/credits", "/credits/usage", "/keys", "/servers"].map((path) => other.ask("GET", path));
    const seen = (await Promise.all(everything)).map(({ text }) => text).join();
    for (const mine of [organizationId, key.keyId, serverId]) expect(seen).not.toContain(mine);
    const { keys } = (await browser.ask("GET", "/keys")).body as { keys: ConsoleKey[] };
    expect(keys.find(({ keyId }) => keyId === key.keyId)?.status).toBe("active");
    const actors = `/actors?actors=key/${key.keyId},user/${person.userId},user/nobody`;
    expect((await other.ask("GET", actors)).body).toEqual({ names: {} });
    const names = { [`key/${key.keyId}`]: key.name, [`user/${person.userId}`]: "Person" };
    expect((await browser.ask("GET", actors)).body).toEqual({ names });
  });
});

it("a browser without a session gets 401 from the routes of sessions, credits, keys and servers", async () => {
  const nobody = harness.browser();
  const { serverId } = person;
  const routes: [string, string][] = [
    ["GET", "/session"],
    ["DELETE", "/session"],
    ["PUT", "/session/password"],
    ["GET", "/credits"],
    ["PUT", "/credits/threshold"],
    ["GET", "/credits/usage"],
    ["GET", "/credits/usage-by-day"],
    ["GET", "/keys"],
    ["POST", "/keys"],
    ["DELETE", "/keys/some"],
    ["GET", "/scopes"],
    ["GET", "/servers"],
    ["PATCH", `/servers/${serverId}`],
    ["GET", `/servers/${serverId}/accounts`],
    ["GET", `/servers/${serverId}/accounts.csv`],
    ["GET", `/servers/${serverId}/accounts/10000001`],
    ["GET", `/servers/${serverId}/accounts/10000001/live`],
    ["GET", `/servers/${serverId}/commands`],
    ["GET", `/servers/${serverId}/commands/${randomUUID()}`],
    ["GET", `/servers/${serverId}/accounts/10000001/risk-rules`],
    ["GET", `/servers/${serverId}/accounts/10000001/breaches`],
    ["GET", `/servers/${serverId}/accounts/10000001/breaches/${randomUUID()}`],
    ["GET", `/servers/${serverId}/accounts/10000001/breaches/${randomUUID()}/evidence`],
  ];
  for (const [method, path] of routes) {
    expect([path, (await nobody.ask(method, path, method === "GET" ? undefined : {})).status]).toEqual([path, 401]);
  }
});

function commandOf(serverId: string) {
  const at = "2026-01-01T00:00:00.000Z";
  return {
    id: randomUUID(),
    operation: "finance.deposit",
    status: "succeeded",
    managedAccountId: null,
    attempts: 1,
    payload: { description: "<script>alert(1)</script>" },
    result: {},
    errorCode: null,
    errorMessage: null,
    idempotencyKey: "key",
    createdAt: at,
    completedAt: at,
    requestId: "request",
    serverId,
    accountNumber: "10000001",
    updatedAt: at,
    deadlineAt: at,
  };
}
