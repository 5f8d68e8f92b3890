/**
 * No generated or supplied password is stored in clear text anywhere (decisions, 5.3): not while
 * its command waits, and not after the trading server has applied it, rejected it, or applied it
 * without an answer. The tests search all stored data, all spans of traces, and all logs at the
 * finest level. Other credentials are stored where needed, but never logged or traced.
 */
import { randomBytes } from "node:crypto";

import { CommandMessage, TOPICS, WebhookSecretAnswer } from "@kapi/contracts";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { ConsoleClient } from "./console-session.ts";
import { type EverythingStored, locationsOf, readEverything, readTopic } from "./everything-stored.ts";
import { type EnvelopeView, OutsideClient } from "./outside-client.ts";
import { startTwoGateways, type TwoGateways } from "./system.ts";
import { startTraceReceiver, type TraceReceiver } from "./trace-receiver.ts";
import { TradingControl } from "./trading-control.ts";

const TEST_TIMEOUT_MS = 120_000;
/** Number of characters; a password must have more. */
const TOO_SHORT = 7;
/** Has every kind of character of a generated password. */
const GENERATED = "Qa7!#$%&*+-=?@_mKz4x";

let receiver: TraceReceiver;
let system: TwoGateways;
let client: OutsideClient;
let control: TradingControl;
/** Each password that a test received, and the unique start of each password that a test sent. */
const passwords: string[] = [];

beforeAll(async () => {
  receiver = await startTraceReceiver();
  system = await startTwoGateways({
    all: {
      LOG_LEVEL: "trace",
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "200",
    },
  });
  [client] = await system.newOrganization();
  control = new TradingControl(client.demo);
});

afterAll(async () => {
  await system.stop();
  await receiver.stop();
});

/**
 * A supplied password. It starts with a unique text that JSON and PostgreSQL do not escape; the
 * tests search for this text.
 */
function supplied(): string {
  const mark = randomBytes(12).toString("hex");
  passwords.push(mark);
  return `${mark} <"ü\\/>?&`;
}

function creation(password?: string): object {
  const body = { accountName: "Secretive", initialBalance: 10, leverage: 100, requestId: "secret" };
  return password === undefined ? body : { ...body, password };
}

/** Sends a mutation twice, and keeps the passwords of both answers. */
async function asked(path: string, body: object, key: string): Promise<EnvelopeView> {
  const first = await client.send("POST", path, body, key);
  expect(first.status).toBe(202);
  const again = await client.send("POST", path, body, key);
  expect(again.status).toBe(200);
  for (const { body } of [first, again]) {
    const { credentials, password } = body;
    if (credentials !== undefined) passwords.push(credentials.tradingPassword, credentials.investorPassword);
    if (password !== undefined) passwords.push(password);
  }
  return first.body;
}

async function bulk(accounts: readonly object[]): Promise<readonly EnvelopeView[]> {
  const answer = await client.call<{ results: readonly EnvelopeView[] }>("POST", client.server("/accounts/bulk"), {
    body: { accounts },
    idempotencyKey: "bulk",
  });
  expect(answer.status).toBe(202);
  for (const { credentials } of answer.body.results) {
    if (credentials !== undefined) passwords.push(credentials.tradingPassword, credentials.investorPassword);
  }
  return answer.body.results;
}

/** Sends requests that contain a password. Each must be rejected. */
async function refused(account: string, usedKey: string): Promise<void> {
  const reset = `/accounts/${account}/password-reset`;
  // The last character cannot occur in ids, which are hexadecimal.
  const short = `${supplied().slice(0, TOO_SHORT - 1)}~`;
  passwords.push(short);
  const requests: [status: number, path: string, body: object, key: string][] = [
    [400, reset, { password: short, requestId: "r" }, "short"],
    [400, reset, { password: supplied().repeat(20), requestId: "r" }, "long"],
    [400, reset, { password: supplied() }, "without request id"],
    [400, reset, { password: [supplied()], requestId: "r" }, "in a list"],
    [400, reset, { password: supplied(), requestId: "r" }, usedKey],
    [404, "/accounts/99999999/password-reset", { password: supplied(), requestId: "r" }, "no account"],
    [400, "/accounts", { ...creation(supplied()), leverage: 3 }, "leverage"],
  ];
  for (const [status, path, body, key] of requests) {
    expect((await client.send("POST", path, body, key)).status, key).toBe(status);
  }
  const brokenOff = await fetch(`${client.demo.baseUrl}/api/v1/management${client.server(reset)}`, {
    method: "POST",
    headers: {
      authorization: `Management ${client.demo.managementKey}`,
      "content-type": "application/json",
      "idempotency-key": "broken off",
    },
    body: `{"requestId": "r", "password": "${supplied().replaceAll(/["\\]/g, "")}`,
  });
  expect(brokenOff.status).toBe(400);
}

/** The spans that the processes have sent until now. */
function spans(): readonly { readonly where: string; readonly bytes: Buffer }[] {
  return receiver.bodies.map((bytes) => ({ where: "spans", bytes }));
}

/** Waits until the processes have sent spans with each of these ids. */
async function spansOf(ids: readonly string[]): Promise<void> {
  await eventually(() => {
    expect(ids.filter((id) => locationsOf([id], spans()).length === 0)).toEqual([]);
  });
}

function locationsIn({ topics, redis, postgres, files }: EverythingStored): string[] {
  return locationsOf(passwords, [...topics, ...redis, ...postgres, ...files, ...spans()]);
}

/** Checks the search itself: in each kind of store it must find an id that is stored there. */
function expectSearched({ topics, redis, postgres, files }: EverythingStored, commandId: string): void {
  expect(locationsOf([commandId], topics)).not.toEqual([]);
  expect(locationsOf([commandId], redis)).not.toEqual([]);
  expect(locationsOf([commandId], postgres)).not.toEqual([]);
  const logs = files.filter(({ where }) => where.endsWith(".log")).map(({ where }) => where);
  for (const service of system.stack.processes.keys()) {
    expect(
      logs.some((file) => file.endsWith(`/${service}.log`)),
      service,
    ).toBe(true);
  }
  expect(locationsOf([client.demo.organizationId], files)).not.toEqual([]);
}

describe("a search for a text", () => {
  it.each([
    ["in plain text", (text: string) => Buffer.from(`before ${text} after`)],
    ["in JSON", (text: string) => Buffer.from(JSON.stringify({ before: 1, text }))],
    ["in the base64 of a longer text", (text: string) => Buffer.from(Buffer.from(`b ${text} a`).toString("base64"))],
    ["in base64url at another offset", (text: string) => Buffer.from(Buffer.from(`be ${text}`).toString("base64url"))],
    ["in base64 at a third offset", (text: string) => Buffer.from(Buffer.from(`bef ${text}.`).toString("base64"))],
    ["in hexadecimal digits", (text: string) => Buffer.from(Buffer.from(`b${text}`).toString("hex"))],
    ["in an address", (text: string) => Buffer.from(`?password=${encodeURIComponent(text)}`)],
  ])("finds it %s", (_how, hide) => {
    expect(locationsOf(["another", GENERATED], [{ where: "here", bytes: hide(GENERATED) }])).toEqual(["here"]);
    expect(locationsOf(["another"], [{ where: "here", bytes: hide(GENERATED) }])).toEqual([]);
  });
});

describe("a password", () => {
  it(
    "is in no topic, Redis key, table, span, log or other file, whether generated or supplied",
    { timeout: TEST_TIMEOUT_MS },
    async () => {
      const [one = "", two = "", three = ""] = await Promise.all([1, 2, 3].map(() => client.openAccount()));
      // Until the faults are cleared, the trading server does not answer, and the commands wait in
      // the account service's inbox.
      await control.inject({ kind: "unreachable", operation: "set_password", count: null });
      await control.inject({ kind: "unreachable", operation: "create", count: null });
      const reset = (number: string, kind: string, password?: string): Promise<EnvelopeView> =>
        asked(`/accounts/${number}/${kind}`, { password, requestId: "r" }, `${number} ${kind}`);
      const traders: [account: string, access: string, EnvelopeView][] = [
        [one, "trading", await reset(one, "password-reset")],
        [one, "investor", await reset(one, "investor-password-reset", supplied())],
        [two, "trading", await reset(two, "password-reset", supplied())],
        [two, "investor", await reset(two, "investor-password-reset")],
      ];
      const toBeRefused = await reset(three, "password-reset", supplied());
      const creations = [
        await asked("/accounts", creation(), "generated"),
        await asked("/accounts", creation(supplied()), "supplied"),
        ...(await bulk([creation(supplied()), creation(), creation(supplied())])),
      ];
      await refused(one, `${one} password-reset`);
      const all = [...traders.map(([, , envelope]) => envelope), toBeRefused, ...creations];
      const waiting = await readEverything(system.stack);
      for (const { command } of all) expectSearched(waiting, command.id);
      expect(locationsIn(waiting)).toEqual([]);

      await control.clearFaults();
      // The trading server drops one answer and rejects one change.
      await control.inject({ kind: "drop_answer", operation: "set_password", accountNumber: one, count: 1 });
      await control.inject({ kind: "refuse", operation: "set_password", accountNumber: three, count: 1 });
      expect((await client.finished(toBeRefused.command.id)).status).toBe("failed");
      const done = all.filter((envelope) => envelope !== toBeRefused);
      const ended = await Promise.all(done.map(({ command }) => client.succeeded(command.id)));
      for (const [number, access, { password = "" }] of traders) {
        expect(await control.login(number, password)).toBe(access);
      }
      for (const [index, { credentials }] of done.entries()) {
        if (credentials === undefined) continue;
        const number = String(ended[index]?.result?.["accountNumber"]);
        expect(await control.login(number, credentials.tradingPassword)).toBe("trading");
        expect(await control.login(number, credentials.investorPassword)).toBe("investor");
      }
      await spansOf(all.map(({ command }) => command.id));
      const everything = await readEverything(system.stack);
      expectSearched(everything, toBeRefused.command.id);
      // The search included the table with the password hashes.
      expect(everything.postgres.filter(({ where }) => where === "table trading_server.accounts")).not.toEqual([]);
      expect(locationsIn(everything)).toEqual([]);
    },
  );

  it(
    "that was supplied is not in Redis or PostgreSQL, not even sealed, after it was applied or rejected",
    { timeout: TEST_TIMEOUT_MS },
    async () => {
      const messages = await readTopic(system.stack, TOPICS.commandsAccount);
      const sealed = messages.flatMap(({ value }) => {
        const { sealedPassword } = CommandMessage.parse(JSON.parse(value.toString()));
        return sealedPassword === null ? [] : [sealedPassword.ciphertext];
      });
      expect(new Set(sealed).size).toBe(6);
      await eventually(async () => {
        const { redis, postgres } = await readEverything(system.stack);
        expect(locationsOf(sealed, [...redis, ...postgres])).toEqual([]);
      });
    },
  );
});

/** A random credential that is not valid. */
function forged(): string {
  return randomBytes(32).toString("base64url");
}

describe("credentials", () => {
  it("are in no log and no span, valid or wrong: keys, sessions, tokens and webhook secrets", async () => {
    const { stack } = system;
    const demo = await stack.createDemo();
    const own = new OutsideClient(demo);
    const person = await ConsoleClient.signIn(demo);
    const seen = randomBytes(12).toString("hex");
    const [password, key, bearer, token, inUrl, inBody, cookie] = Array.from({ length: 7 }, forged);
    const url = `http://127.0.0.1:9/hook/${inUrl}?token=${inUrl}`;
    const added = await person.ask("POST", "/webhooks", { url, description: "Nobody answers" });
    const { endpoint, secret } = WebhookSecretAnswer.parse(added.body);
    await own.call("POST", `/webhooks/${endpoint.id}/test`, { body: {} });

    const send = async (address: string, headers: Record<string, string>, body?: string): Promise<void> => {
      const method = body === undefined ? "GET" : "POST";
      const json = body === undefined ? headers : { "content-type": "application/json", ...headers };
      const answer = await fetch(address, { method, headers: { "x-request-id": seen, ...json }, body: body ?? null });
      expect(answer.status, address).toBeGreaterThanOrEqual(400);
    };
    const balance = `${demo.baseUrl}/api/v1/management/credits/balance`;
    const [id = ""] = demo.managementKey.split(".").slice(1);
    await send(`${balance}?authorization=${token}`, { authorization: `Management kapi.${id}.${key?.slice(0, 43)}` });
    await send(balance, { authorization: `Bearer ${bearer}`, cookie: `session=${cookie}` });
    await send(
      `${demo.baseUrl}/api/v1/management/webhooks`,
      { authorization: demo.managementKey },
      `{"secret":"${inBody}`,
    );
    await send(`${stack.url("account")}/internal/accounts/existing`, { "x-service-token": `gateway.${token}` }, "{}");
    await send(`${demo.consoleUrl}api/session`, { cookie: `session=${cookie}` });
    await send(
      `${demo.consoleUrl}api/session`,
      {},
      JSON.stringify({ email: demo.consoleEmail, password, newPassword: password }),
    );
    await expect(own.withKey(`kapi.${id}.${key?.slice(0, 43)}`).live()).rejects.toThrow("401");

    const { installation: _noSecret, serviceTokens, ...ofStack } = stack.secrets;
    const rings = Object.values(ofStack).map((ring) => ring.slice(ring.indexOf(":") + 1));
    const [, , right = ""] = demo.managementKey.split(".");
    const mine = [right, secret, demo.consolePassword, ...person.proofs];
    const secrets = [
      ...rings,
      ...Object.values(serviceTokens),
      ...mine,
      password,
      key,
      bearer,
      token,
      inUrl,
      inBody,
      cookie,
    ].map(String);
    await spansOf([seen]);
    const { files } = await readEverything(stack);
    const logs = files.filter(({ where }) => where.endsWith(".log"));
    for (const service of ["gateway", "console"]) {
      const ofService = logs.filter(({ where }) => where.endsWith(`/${service}.log`));
      expect(locationsOf([seen], ofService), service).not.toEqual([]);
    }
    expect(locationsOf(secrets, [...logs, ...spans()])).toEqual([]);
  });
});
