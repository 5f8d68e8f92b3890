import { randomUUID } from "node:crypto";
import path from "node:path";

import { SCOPES } from "@kapi/contracts";
import { createKafka, startProducer, topicSizes, writePartitionGrowth } from "@kapi/kafka";
import { toIso } from "@kapi/kernel";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { createLogger } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

import { runOperatorCommandLine } from "../src/program.ts";

const HOUR_MS = 3_600_000;
const NOW_MS = Date.now();

let stack: TestStack;
let environment: Record<string, string>;

beforeAll(async () => {
  stack = await startTestStack({ services: ["organization", "console", "command-status"] });
  environment = {
    ORGANIZATION_URL: stack.url("organization"),
    CONSOLE_URL: stack.url("console"),
    OPERATOR_TOKEN: stack.secrets.serviceTokens.operator,
  };
});
afterAll(() => stack.stop());

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command of the operator; arguments must not contain spaces. */
async function kapi(typed: string, given: { env?: Record<string, string>; line?: string } = {}): Promise<Ran> {
  let [out, err] = ["", ""];
  const code = await runOperatorCommandLine(["admin", ...typed.split(" ")], {
    environment: given.env ?? environment,
    out: (text) => (out += text),
    err: (text) => (err += text),
    ask: () => Promise.resolve(""),
    readLine: () => Promise.resolve(given.line ?? ""),
    isTerminal: false,
    columns: 120,
    nowMs: () => NOW_MS,
    signal: new AbortController().signal,
  });
  return { code, out, err };
}

/** Runs a command that must succeed, and parses its JSON output. */
async function jsonOf<T>(typed: string, line = ""): Promise<T> {
  const ran = await kapi(`${typed} --json`, { line });
  expect(ran).toMatchObject({ code: 0, err: "" });
  return JSON.parse(ran.out) as T;
}

async function newOrganization(credits = 100): Promise<string> {
  const typed = `organization create --name Acme --credits ${credits} --low-balance 5`;
  return (await jsonOf<{ organizationId: string }>(typed)).organizationId;
}

test("a created organization is in the list, and its wallet has the credits and the low-balance threshold of the command", async () => {
  const organization = await newOrganization();
  const list = await jsonOf<{ organizationId: string; name: string }[]>("organization list");
  expect(list).toContainEqual(expect.objectContaining({ organizationId: organization, name: "Acme" }));
  const shown = await kapi(`credits show --organization ${organization}`);
  expect(shown.code).toBe(0);
  expect(shown.out).toMatch(/^available +100$/m);
  expect(shown.out).toMatch(/^low balance +no \(at 5\)$/m);
});

test("a list of several pages has every organization", async () => {
  const made = await Promise.all(Array.from({ length: 101 }, () => newOrganization(0)));
  const list = await jsonOf<{ organizationId: string }[]>("organization list");
  expect(list.map(({ organizationId }) => organizationId)).toEqual(expect.arrayContaining(made));
});

test("credits of one purchase id are added once", async () => {
  const organization = await newOrganization();
  const purchase = randomUUID();
  const add = `credits add --organization ${organization} --credits 40 --purchase ${purchase}`;
  expect(await jsonOf(add)).toEqual({ purchaseId: purchase, isNew: true });
  expect(await jsonOf(add)).toEqual({ purchaseId: purchase, isNew: false });
  expect((await kapi(add)).out).toContain("0 (the purchase was added before)");
  const wallet = await jsonOf<{ lifetimePurchased: number }>(`credits show --organization ${organization}`);
  expect(wallet).toMatchObject({ availableCredits: 140, lifetimePurchased: 140 });
});

test("a failed `credits add` names the purchase id, so that a repeat of the command adds the credits only once", async () => {
  const add = `credits add --organization ${randomUUID()} --credits 40`;
  const { code, err } = await kapi(add, { env: { ORGANIZATION_URL: "http://127.0.0.1:1" } });
  expect(code).toBe(3);
  expect(err).toMatch(/Repeat the command with --purchase [0-9a-f-]{36}:/);
});

test("a generated password is shown once, a given password never; two users cannot have the same e-mail address", async () => {
  const organization = await newOrganization();
  const email = `${randomUUID()}@example.com`;
  const create = (address: string): string =>
    `user create --organization ${organization} --email ${address} --name Ada`;
  const made = await jsonOf<{ userId: string; password: string }>(create(email));
  expect(made.password.length).toBeGreaterThanOrEqual(16);
  const typed = await jsonOf(
    `${create(`${randomUUID()}@example.com`)} --password-stdin`,
    "correct horse battery staple",
  );
  expect(typed).not.toHaveProperty("password");
  const list = await jsonOf<{ email: string }[]>(`user list --organization ${organization}`);
  expect(list).toHaveLength(2);
  expect(JSON.stringify(list)).not.toContain(made.password);
  expect(await kapi(create(email))).toMatchObject({ code: 1, out: "" });
});

test("after the operator resets a password, only the new password signs in", async () => {
  const email = `${randomUUID()}@example.com`;
  const create = `user create --organization ${await newOrganization()} --email ${email} --name Ada`;
  const { userId, password: old } = await jsonOf<{ userId: string; password: string }>(create);
  const reset = await jsonOf<{ password: string }>(`user reset-password ${userId}`);
  expect(await signIn(email, old)).toBe(401);
  expect(await signIn(email, reset.password)).toBe(200);
  const chosen = "correct horse battery staple";
  const typed = await kapi(`user reset-password ${userId} --password-stdin`, { line: chosen });
  expect(typed).toMatchObject({ code: 0, err: "" });
  expect(typed.out).not.toContain(chosen);
  expect(await signIn(email, reset.password)).toBe(401);
  expect(await signIn(email, chosen)).toBe(200);
  expect(await kapi(`user reset-password ${randomUUID()}`)).toMatchObject({ code: 1, out: "" });
});

/** The status of a sign-in to the console. */
async function signIn(email: string, password: string): Promise<number> {
  const response = await fetch(`${stack.consoleUrl}api/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  return response.status;
}

test("a server is listed without its token; a key can have limits (servers, expiry, rate), is shown once, can be revoked", async () => {
  const organization = await newOrganization();
  const at = `--organization ${organization}`;
  const server = await jsonOf<{ serverId: string }>(
    `server create ${at} --url http://127.0.0.1:7001 --name Acme-Demo --company Acme --leverage 1,50,100 --default-leverage 50 --token-stdin`,
    "the-token-of-this-server-alone",
  );
  const listed = await jsonOf(`server list ${at}`);
  expect(listed).toMatchObject([
    { serverId: server.serverId, status: "active", configuration: { supportedLeverage: [1, 50, 100] } },
  ]);
  expect(JSON.stringify(listed)).not.toMatch(/token/i);
  const everywhere = await jsonOf<{ serverId: string }[]>("server list");
  expect(everywhere.find(({ serverId }) => serverId === server.serverId)).toMatchObject({
    organizationId: organization,
    tradingServerUrl: "http://127.0.0.1:7001",
  });
  expect(JSON.stringify(everywhere)).not.toMatch(/token/i);
  expect((await kapi("server list")).out).toContain(organization);
  const limits = `--server ${server.serverId} --expires 12h --rate-limit 10:50`;
  const made = await jsonOf<{ keyId: string; managementKey: string }>(
    `key create ${at} --scope accounts:read,metrics:read ${limits}`,
  );
  expect(made.managementKey).toMatch(/^kapi\.[a-z2-7]{16}\./);
  const everything = await jsonOf<{ keyId: string }>(`key create ${at} --all-scopes --name All`);
  const keys = await jsonOf<{ keyId: string }[]>(`key list ${at}`);
  expect(keys).toHaveLength(2);
  expect(keys.find(({ keyId }) => keyId === made.keyId)).toMatchObject({
    scopes: ["accounts:read", "metrics:read"],
    serverIds: [server.serverId],
    expiresAt: new Date(NOW_MS + 12 * HOUR_MS).toISOString(),
    rateLimit: { perSecond: 10, burst: 50 },
    status: "active",
  });
  expect(keys.find(({ keyId }) => keyId === everything.keyId)).toMatchObject({ scopes: SCOPES, serverIds: null });
  expect(JSON.stringify(keys)).not.toContain(made.managementKey.split(".")[2]);

  const shown = (await kapi(`key create ${at} --all-scopes`)).out;
  expect(shown).toMatch(/^key id +[a-z2-7]{16}$[^]*^management key \(shown once\) +kapi\.[a-z2-7]{16}\./m);

  expect(await kapi(`key revoke ${made.keyId}`)).toEqual({ code: 0, out: `${made.keyId} is revoked.\n`, err: "" });
  expect((await kapi(`key list ${at}`)).out).toMatch(new RegExp(`^${made.keyId} .* revoked `, "m"));
});

test("the audit log is listed by organization, up to the requested number of entries, from several pages", async () => {
  const organization = await newOrganization();
  const at = `--organization ${organization}`;
  const made = await Promise.all(
    Array.from({ length: 90 }, (_, n) => jsonOf<{ keyId: string }>(`key create ${at} --all-scopes --name Key-${n}`)),
  );
  await Promise.all(made.slice(0, 13).map(({ keyId }) => kapi(`key revoke ${keyId}`)));
  await kapi(`key create ${at} --all-scopes --name Last`);
  const entries = await eventually(async () => {
    const found = await jsonOf<{ id: string; action: string; actor: object }[]>(`audit list ${at} --limit 500`);
    return found.length >= 105 && found;
  });
  expect(entries.map(({ action }) => action).toReversed()).toEqual([
    "organization.created",
    ...Array.from({ length: 90 }, () => "key.created"),
    ...Array.from({ length: 13 }, () => "key.revoked"),
    "key.created",
  ]);
  expect(entries[0]).toMatchObject({ actor: { type: "operator" }, organizationId: organization });
  expect(await jsonOf(`audit list ${at}`)).toEqual(entries.slice(0, 100));
  expect(await jsonOf(`audit list ${at} --before ${entries[102]?.id ?? ""}`)).toEqual(entries.slice(103));
  const shown = await kapi(`audit list ${at} --limit 1`);
  expect(shown.out).toMatch(/^ID +AT +ORGANIZATION +ACTION +BY +ADDRESS +SUBJECT +DETAILS$/m);
  expect(shown.out).toMatch(new RegExp(`^\\d+ .* ${organization} +key\\.created +operator +\\S+ +key \\S+ +\\{`, "m"));
  expect((await jsonOf<object[]>("audit list --limit 3")).length).toBe(3);
});

test("a rejected command prints the reason and exits with 1", async () => {
  const unknown = randomUUID();
  const missing = await kapi(`credits show --organization ${unknown}`);
  expect(missing).toMatchObject({ code: 1, out: "" });
  expect(missing.err).toContain("(404)");
  const organization = await newOrganization();
  const badScope = await kapi(`key create --organization ${organization} --scope everything`);
  expect(badScope.code).toBe(1);
  expect(badScope.err).toMatch(/^ {2}scopes\.0: /m);
  const past = await kapi(`key create --organization ${organization} --all-scopes --expires 2020-01-01T00:00:00Z`);
  expect(past.code).toBe(1);
  expect(past.err).toContain("expiresAt");
  expect((await kapi("key revoke nosuchkey")).code).toBe(1);
});

test.each([
  ["organization create", "--name"],
  ["credits add --organization x --credits -3", "whole number"],
  ["key create --organization x", "--scope"],
  ["audit list --limit 10001", "whole number"],
  ["key create --organization x --all-scopes --rate-limit fast", "requests per second"],
  ["organisation list", "Did you mean organization?"],
  ["organization", "create"],
])("an invalid command line exits with 2 and prints the problem: %s", async (typed, said) => {
  const ran = await kapi(typed);
  expect(ran).toMatchObject({ code: 2, out: "" });
  expect(ran.err).toContain(said);
});

test("a command exits with 3 if a service cannot be reached, or no kapi runs in the checkout", async () => {
  const nowhere = await kapi("organization list", {
    env: { ...environment, ORGANIZATION_URL: "http://127.0.0.1:1" },
  });
  expect(nowhere).toMatchObject({ code: 3, out: "" });
  expect(nowhere.err).toContain("http://127.0.0.1:1");
  const withoutConsole = {
    ORGANIZATION_URL: "http://127.0.0.1:1",
    OPERATOR_TOKEN: "operator",
    KAPI_STATE_DIR: "/none",
  };
  const audit = await kapi("audit list", { env: withoutConsole });
  expect(audit).toMatchObject({ code: 3, out: "" });
  expect(audit.err).toContain("CONSOLE_URL");
  const nothing = await kapi("organization list", { env: { KAPI_STATE_DIR: "/nonexistent" } });
  expect(nothing).toMatchObject({ code: 3, out: "" });
  expect(nothing.err).toContain("npm start");
});

test("`partitions grow` exits with 2 for a wrong number of partitions, and with 1 if another growth must be finished first", async () => {
  const { kafkaBrokers, topicPrefix } = stack.environment;
  const logger = createLogger({ service: "test", level: "silent" });
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), topicPrefix, clientId: "test", logger });
  const env = { KAFKA_BROKERS: kafkaBrokers, KAFKA_TOPIC_PREFIX: topicPrefix };
  const from = (await topicSizes(kafka))[0]?.partitions ?? 0;
  const noMultiple = await kapi(`partitions grow --to ${from + 1}`, { env });
  expect(noMultiple).toMatchObject({ code: 2, out: "" });
  expect(noMultiple.err).toContain(`must be a multiple of ${from}, and is ${from + 1}.`);
  const producer = await startProducer(kafka);
  const write = (phase: "announced" | "done", partitions: number) =>
    writePartitionGrowth(producer.value, { phase, partitions, at: toIso(Date.now()), grownAt: null, growing: false });
  try {
    await write("announced", 2 * from);
    const another = await kapi(`partitions grow --to ${3 * from}`, { env });
    expect(another).toMatchObject({ code: 1, out: "" });
    expect(another.err).toContain(`finish it first, with --to ${2 * from}.`);
  } finally {
    await write("done", from);
    await producer.stop();
  }
});

test("without addresses in the environment, a command uses the kapi that runs from the checkout", async () => {
  const state = path.dirname(path.dirname(stack.process("organization").logFile));
  for (const typed of ["organization list --json", "audit list --json"])
    expect(await kapi(typed, { env: { KAPI_STATE_DIR: state } })).toMatchObject({ code: 0, err: "" });
});

test("help lists the commands and the options of a command, without calling a service", async () => {
  const all = await kapi("--help", { env: {} });
  expect(all.code).toBe(0);
  for (const name of ["organization", "user", "server", "key", "credits", "audit", "OPERATOR_TOKEN"])
    expect(all.out).toContain(name);
  const one = await kapi("key create --help", { env: {} });
  expect(one.code).toBe(0);
  for (const option of ["--scope", "--server", "--expires", "--rate-limit", "--json"])
    expect(one.out).toContain(option);
});
