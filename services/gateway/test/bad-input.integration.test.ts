import { randomUUID } from "node:crypto";

import type { CommandEnvelope, ErrorBody } from "@kapi/contracts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type Answer, call, createdAccount, getWallet } from "./client.ts";
import { type Organization, type Platform, startPlatform } from "./platform.ts";

const DEEP = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;
const TWO_MEGABYTES = `{"requestId":"${"x".repeat(2 * 1_048_576)}"}`;

let platform: Platform;
let organization: Organization;
let accountNumber: string;

beforeAll(async () => {
  platform = await startPlatform();
  organization = await platform.organization(1_000_000);
  accountNumber = await createdAccount(platform.url, organization);
});
afterAll(() => platform.stop());

/** Sends the text unchanged: no serializer writes some of these bodies. */
function send(path: string, body: string, method = "POST"): Promise<Answer<CommandEnvelope & ErrorBody>> {
  const headers = { "idempotency-key": randomUUID() };
  return call(platform.url, organization, `servers/${organization.server.serverId}${path}`, { method, body, headers });
}

const BODIES = [
  ["PATCH", "/configuration"],
  ["POST", "/accounts"],
  ["POST", "/accounts/bulk"],
  ["PATCH", "/accounts/:account"],
  ["POST", "/accounts/:account/enable"],
  ["POST", "/accounts/:account/disable"],
  ["POST", "/accounts/:account/archive"],
  ["POST", "/accounts/:account/delete"],
  ["POST", "/accounts/:account/password-reset"],
  ["POST", "/accounts/:account/investor-password-reset"],
  ["POST", "/accounts/:account/exports/history"],
  ["POST", "/accounts/:account/finance/deposits"],
  ["POST", "/accounts/:account/finance/withdrawals"],
] as const;

describe.each(BODIES)("%s %s", (method, path) => {
  const at = (): string => path.replace(":account", accountNumber);

  it.each([
    ["nesting 10,000 deep", DEEP, "VALIDATION_FAILED"],
    ["nesting 10,000 deep in requestId", `{"requestId":${DEEP}}`, "VALIDATION_FAILED"],
    ["a prototype", '{"__proto__":{"requestId":"r"}}', "VALIDATION_FAILED"],
    ["null", "null", "VALIDATION_FAILED"],
    ["text", '"text"', "VALIDATION_FAILED"],
    ["no JSON", '{"requestId":', "INVALID_JSON"],
    ["nothing", "", "VALIDATION_FAILED"],
    ["2 MB", TWO_MEGABYTES, "BODY_TOO_LARGE"],
  ])("is 400 for the read price, with %s as its body", async (_what, body, code) => {
    const answer = await send(at(), body, method);
    expect(answer).toMatchObject({ status: 400, charged: 1 });
    expect(answer.headers.get("x-error-code")).toBe(code);
    const issues = code === "VALIDATION_FAILED" ? ["issues"] : [];
    expect(Object.keys(answer.body)).toEqual(["error", "code", "requestId", ...issues]);
  });
});

describe("a number", () => {
  it.each([
    "1e308",
    "-1e308",
    "1e999",
    "-0",
    "0",
    "0.001",
    "1000000000.01",
    "1.005",
    "1.0000001",
    '"1"',
    "[1]",
    "null",
    "true",
  ])("%s as an amount is 400 with an issue at `amount`", async (amount) => {
    const answer = await send(`/accounts/${accountNumber}/finance/deposits`, `{"requestId":"r","amount":${amount}}`);
    expect(answer).toMatchObject({ status: 400, charged: 1 });
    expect(new Set(answer.body.issues?.map(({ path }) => path[0]))).toEqual(new Set(["amount"]));
  });

  it.each([
    ["-0", 202, 0],
    ["0", 202, 0],
    ["1e9", 202, 1_000_000_000],
    ["0.1e1", 202, 1],
    ["1e308", 400, null],
    ["-0.01", 400, null],
  ])("%s as an initial balance is answered with status %i", async (initialBalance, status, kept) => {
    const body = `{"requestId":"r","accountName":"Ada","leverage":100,"initialBalance":${initialBalance}}`;
    const answer = await send("/accounts", body);
    expect(answer.status).toBe(status);
    if (kept !== null) expect(JSON.stringify(answer.body.command.payload?.["initialBalance"])).toBe(String(kept));
  });
});

describe("an amount that a caller computed with binary fractions", () => {
  const sent = (at: string, key: string, body: object): Promise<Answer<CommandEnvelope>> => {
    const options = { body, headers: { "idempotency-key": key } };
    return call(platform.url, organization, `servers/${organization.server.serverId}${at}`, options);
  };

  it("is replaced by the amount in whole cents, for a deposit, a withdrawal and an initial balance; a repeat with that amount is a duplicate", async () => {
    for (const [at, field, body] of [
      [`/accounts/${accountNumber}/finance/deposits`, "amount", { requestId: "r" }],
      [`/accounts/${accountNumber}/finance/withdrawals`, "amount", { requestId: "r" }],
      ["/accounts", "initialBalance", { requestId: "r", accountName: "Ada", leverage: 100 }],
    ] as const) {
      const key = randomUUID();
      const first = await sent(at, key, { ...body, [field]: 0.1 + 0.2 });
      expect([at, first.status, first.body.command.payload?.[field]]).toEqual([at, 202, 0.3]);
      const repeated = await sent(at, key, { ...body, [field]: 0.3 });
      expect([at, repeated.status, repeated.body.duplicate]).toEqual([at, 200, true]);
      expect(repeated.body.command.id).toBe(first.body.command.id);
    }
  });
});

it("the issue of a missing Idempotency-Key says that it is a header", async () => {
  const path = `servers/${organization.server.serverId}/accounts/${accountNumber}/finance/deposits`;
  const answer = await call(platform.url, organization, path, { body: { amount: 1, requestId: "r" } });
  const issue = { path: ["Idempotency-Key"], code: "invalid_type", message: "must be sent as a header" };
  expect([answer.status, answer.body.issues]).toEqual([400, [issue]]);
});

describe("an invalid query parameter", () => {
  it.each([
    ["/commands?requestId=a%00b", "requestId"],
    ["/commands?from=yesterday", "from"],
    ["/commands?from=9999-12-31T23:59:59-01:00", "from"],
    ["/commands?to=0000-01-01T00:00:00Z", "to"],
    ["/commands?page=1&page=2", "page"],
    ["/account-metrics?limit=1e2", "limit"],
    ["/account-metrics?limit=-1", "limit"],
    ["/accounts?search=%00", "search"],
  ])("is 400, and the issue names the parameter: %s, %s", async (path, field) => {
    const answer = await call(platform.url, organization, `servers/${organization.server.serverId}${path}`);
    expect(answer).toMatchObject({ status: 400, charged: 1 });
    expect(answer.body.issues?.map((issue) => issue.path[0])).toEqual([field]);
  });
});

it("after all invalid requests, the gateway still answers, and every credit is accounted for", async () => {
  const wallet = await getWallet(platform.url, organization);
  expect(wallet.availableCredits + wallet.reservedCredits + wallet.lifetimeConsumed).toBe(wallet.lifetimePurchased);
});
