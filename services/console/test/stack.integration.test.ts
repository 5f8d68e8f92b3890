/**
 * The console beside the management API, with real services: keys, the status of a server, and
 * actions on accounts take effect in the API.
 */
import { randomUUID } from "node:crypto";

import { ConsoleSession, CSRF_HEADER } from "@kapi/contracts";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** Maximum time until a change in the console reaches every gateway. */
const EFFECT_MS = 2_000;
const SERVICES = [
  "gateway",
  "console",
  "organization",
  "command-status",
  "account",
  "finance",
  "metrics",
  "trading-simulator",
];

type Demo = Awaited<ReturnType<TestStack["createDemo"]>>;
interface Answer {
  readonly status: number;
  readonly code: string | null;
  readonly body: Record<string, unknown>;
}

let stack: TestStack;
let demo: Demo;
let person: { cookie: string; csrfToken: string };
beforeAll(async () => {
  stack = await startTestStack({
    together: true,
    services: SERVICES,
    env: { "trading-simulator": { TICK_INTERVAL_MS: "0" } },
  });
  demo = await stack.createDemo();
  person = await signIn({ email: demo.consoleEmail, password: demo.consolePassword });
});
afterAll(() => stack.stop());

async function signIn(credentials: { email: string; password: string }): Promise<typeof person> {
  const response = await fetch(`${demo.consoleUrl}api/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(credentials),
  });
  const { csrfToken } = ConsoleSession.parse(await response.json());
  return { csrfToken, cookie: (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "" };
}

/** Creates a person with this role in the demo's organization. */
async function newPerson(role: string): Promise<{ email: string; password: string }> {
  const credentials = { email: `${role}@example.com`, password: "correct horse battery" };
  const path = `/internal/organizations/${demo.organizationId}/users`;
  const operator = { "x-service-token": stack.secrets.serviceTokens.operator };
  const created = await ask(stack.url("console") + path, "POST", operator, { ...credentials, name: role, role });
  expect(created.status).toBe(201);
  return credentials;
}

async function ask(url: string, method: string, headers: Record<string, string>, body?: unknown): Promise<Answer> {
  const content = body === undefined ? {} : { "content-type": "application/json" };
  const response = await fetch(url, {
    method,
    headers: { ...content, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    code: response.headers.get("x-error-code"),
    body: (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>,
  };
}

function inConsole(method: string, path: string, body?: unknown, session = person): Promise<Answer> {
  const headers = { cookie: session.cookie, [CSRF_HEADER]: session.csrfToken };
  return ask(`${demo.consoleUrl}api${path}`, method, headers, body);
}

function manage(method: string, path: string, body?: unknown, managementKey = demo.managementKey): Promise<Answer> {
  const headers = { authorization: `Management ${managementKey}`, "idempotency-key": randomUUID() };
  return ask(`${demo.baseUrl}/api/v1/management/${path}`, method, headers, body);
}

it("a key that is created in the console is valid in the API until the key is revoked, and never in the console; a session is valid only in the console", async () => {
  const made = await inConsole("POST", "/keys", { name: "Mine", scopes: ["credits:read"], expiresAt: null });
  const { managementKey, key } = made.body as { managementKey: string; key: { keyId: string } };
  const balance = (): Promise<Answer> => manage("GET", "credits/balance", undefined, managementKey);
  await eventually(async () => (await balance()).status === 200);
  expect((await manage("GET", `servers/${demo.serverId}/accounts`, undefined, managementKey)).status).toBe(403);
  const asKey = { authorization: `Management ${managementKey}` };
  expect((await ask(`${demo.consoleUrl}api/credits`, "GET", asKey)).status).toBe(401);
  const withCookie = await ask(`${demo.baseUrl}/api/v1/management/credits/balance`, "GET", { cookie: person.cookie });
  expect(withCookie.status).toBe(401);
  await inConsole("DELETE", `/keys/${key.keyId}`);
  expect((await balance()).status).toBe(401);
});

it("for a server that is disabled in the console, creations are rejected and other commands fail; reads, changes of the configuration and immediate deletions work", async () => {
  const server = `servers/${demo.serverId}`;
  const creation = { accountName: "Account", initialBalance: 100, leverage: 100, requestId: "request" };
  const created = await manage("POST", `${server}/accounts`, creation);
  const account = await resultOf(created);
  const path = `${server}/accounts/${String(account["accountNumber"])}`;
  expect((await inConsole("GET", "/servers")).body).toMatchObject({
    servers: [{ serverId: demo.serverId, status: "active", accountCount: 1 }],
  });

  await inConsole("PATCH", `/servers/${demo.serverId}`, { status: "disabled" });
  const refused = { status: 409, code: "SERVER_DISABLED" };
  const create = (): Promise<Answer> => manage("POST", `${server}/accounts`, creation);
  await eventually(async () => expect(await create()).toMatchObject(refused), { timeoutMs: EFFECT_MS });
  expect(await manage("POST", `${server}/accounts/bulk`, { accounts: [creation] })).toMatchObject(refused);
  await eventually(async () => {
    const { body } = await manage("GET", `${server}/configuration`);
    expect(body).toMatchObject({ server: { status: "disabled" } });
  });
  for (const [command, body] of [
    [`${path}/disable`, { requestId: "request" }],
    [`${path}/finance/deposits`, { amount: 1, requestId: "request" }],
  ] as const) {
    expect(await finalOf(await manage("POST", command, body))).toMatchObject({
      status: "failed",
      errorCode: "SERVER_DISABLED",
    });
  }
  expect((await manage("GET", path)).status).toBe(200);
  expect((await manage("PATCH", `${server}/configuration`, { defaultLeverage: 50 })).status).toBe(200);
  expect((await manage("DELETE", path)).status).toBe(200);

  await inConsole("PATCH", `/servers/${demo.serverId}`, { status: "active" });
  await eventually(async () => expect((await create()).status).toBe(202), { timeoutMs: EFFECT_MS });
});

describe("an action on an account", () => {
  let account: string;
  beforeAll(async () => {
    const creation = { accountName: "Account", initialBalance: 100, leverage: 100, requestId: "request" };
    const created = await resultOf(await manage("POST", `servers/${demo.serverId}/accounts`, creation));
    account = `servers/${demo.serverId}/accounts/${String(created["accountNumber"])}`;
  });
  const act = (action: string, body: object, session = person): Promise<Answer> =>
    inConsole("POST", `/${account}/actions/${action}`, body, session);

  it("is carried out once per idempotency key; its command names a user, and the console shows the command", async () => {
    const deposit = { idempotencyKey: randomUUID(), amount: 50 };
    const answers = await Promise.all([act("deposit", deposit), act("deposit", deposit)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 202]);
    const [{ body }] = answers;
    const { id, createdBy } = (body as { command: { id: string; createdBy: { type: string } } }).command;
    expect(createdBy).toMatchObject({ type: "user" });
    await eventually(async () => {
      const { body: read } = await inConsole("GET", `/servers/${demo.serverId}/commands/${id}`);
      expect(read).toMatchObject({ command: { status: "succeeded", createdBy } });
    });
    await eventually(async () => {
      const { body: list } = await manage("GET", `${account}/transactions`);
      const { transactions } = list as { transactions: { amount: number }[] };
      expect(transactions.filter(({ amount }) => amount === 50)).toMatchObject([{ createdBy, commandId: id }]);
    });
  });

  it("gets the errors of the API if it is invalid, and 403 if the person's role lacks the permission", async () => {
    const idempotencyKey = randomUUID();
    const invalid = await act("deposit", { idempotencyKey, amount: -1 });
    expect(invalid).toMatchObject({ status: 400, body: { issues: [{ path: ["amount"] }] } });
    const unknown = await inConsole("POST", `/servers/${demo.serverId}/accounts/99999999/actions/disable`, {
      idempotencyKey,
    });
    expect(unknown).toMatchObject({ status: 404, code: "ACCOUNT_NOT_FOUND" });
    const foreign = await inConsole("POST", `/servers/${randomUUID()}/accounts/10000001/actions/disable`, {
      idempotencyKey,
    });
    expect(foreign).toMatchObject({ status: 404, code: "SERVER_NOT_FOUND" });
    const operator = await signIn(await newPerson("operator"));
    expect(await act("deposit", { idempotencyKey, amount: 1 }, operator)).toMatchObject({
      status: 403,
      code: "MISSING_PERMISSION",
    });
    expect((await act("disable", { idempotencyKey }, operator)).status).toBe(202);
  });
});

async function finalOf({ body }: Answer): Promise<Record<string, unknown>> {
  const { id } = (body as { command: { id: string } }).command;
  return (await manage("GET", `commands/${id}?wait=20`)).body["command"] as Record<string, unknown>;
}

async function resultOf(answer: Answer): Promise<Record<string, unknown>> {
  const command = await finalOf(answer);
  expect(command["status"]).toBe("succeeded");
  return command["result"] as Record<string, unknown>;
}
