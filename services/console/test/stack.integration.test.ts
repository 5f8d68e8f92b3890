/**
 * The console beside the management API, with real services: keys and the status of a server take
 * effect in the API.
 */
import { randomUUID } from "node:crypto";

import { ConsoleSession, CSRF_HEADER } from "@kapi/contracts";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

/** Time within which a change in the console reaches every gateway. */
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
  const response = await fetch(`${demo.consoleUrl}api/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: demo.consoleEmail, password: demo.consolePassword }),
  });
  const { csrfToken } = ConsoleSession.parse(await response.json());
  person = { csrfToken, cookie: (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "" };
});
afterAll(() => stack.stop());

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

function inConsole(method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = { cookie: person.cookie, [CSRF_HEADER]: person.csrfToken };
  return ask(`${demo.consoleUrl}api${path}`, method, headers, body);
}

function manage(method: string, path: string, body?: unknown, managementKey = demo.managementKey): Promise<Answer> {
  const headers = { authorization: `Management ${managementKey}`, "idempotency-key": randomUUID() };
  return ask(`${demo.baseUrl}/api/v1/management/${path}`, method, headers, body);
}

it("a key of the console is valid only in the API, until it is revoked; a session is valid only in the console", async () => {
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

it("a server that is disabled in the console rejects creations and fails commands; reads, configuration and the immediate delete work", async () => {
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

async function finalOf({ body }: Answer): Promise<Record<string, unknown>> {
  const { id } = (body as { command: { id: string } }).command;
  return (await manage("GET", `commands/${id}?wait=20`)).body["command"] as Record<string, unknown>;
}

async function resultOf(answer: Answer): Promise<Record<string, unknown>> {
  const command = await finalOf(answer);
  expect(command["status"]).toBe("succeeded");
  return command["result"] as Record<string, unknown>;
}
