import { hash, randomUUID } from "node:crypto";

import { type Command, CommandEnvelope, type AnyCommandMessage, type ErrorBody, ERRORS, TOPICS } from "@kapi/contracts";
import { endOffsets } from "@kapi/kafka";
import { admit } from "@kapi/admission/redis";
import { commandMessage, eventually, keyEntry } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type Answer, call, createdAccount, getCommand, getWallet } from "./client.ts";
import { type Organization, type Platform, startPlatform } from "./platform.ts";

interface Queued {
  readonly operation: string;
  readonly method?: string;
  /** Path below the account. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly price: number;
}

const QUEUED: readonly Queued[] = [
  { operation: "account.update", method: "PATCH", path: "", body: { accountName: "Eve", leverage: 200 }, price: 5 },
  { operation: "account.enable", path: "/enable", body: {}, price: 5 },
  { operation: "account.disable", path: "/disable", body: {}, price: 5 },
  { operation: "account.archive", path: "/archive", body: {}, price: 5 },
  { operation: "account.delete", path: "/delete", body: {}, price: 5 },
  { operation: "account.password_reset", path: "/password-reset", body: {}, price: 5 },
  { operation: "account.investor_password_reset", path: "/investor-password-reset", body: {}, price: 5 },
  {
    operation: "account.history_export",
    path: "/exports/history",
    body: { from: "2026-01-01T01:00:00+01:00", limit: 10 },
    price: 20,
  },
  { operation: "finance.deposit", path: "/finance/deposits", body: { amount: 1 }, price: 5 },
  { operation: "finance.withdraw", path: "/finance/withdrawals", body: { amount: 1 }, price: 5 },
];
/** Operations whose commands need services that do not run in this test. */
const NEEDS_MORE_SERVICES = new Set([
  "account.delete",
  "account.history_export",
  "finance.deposit",
  "finance.withdraw",
]);
const DAY_MS = 86_400_000;
const RESETS = QUEUED.filter(({ operation }) => operation.endsWith("password_reset"));

let platform: Platform;
let organization: Organization;
let accountNumber: string;
/** The organization with another management key. */
let colleague: Organization;
/** The organization with a management key that is limited to a server that does not exist. */
let limited: Organization;

beforeAll(async () => {
  platform = await startPlatform();
  organization = await platform.organization(1_000_000);
  accountNumber = await createdAccount(platform.url, organization);
  [colleague, limited] = await Promise.all([otherKey(null), otherKey([randomUUID()])]);
});

async function otherKey(serverIds: string[] | null): Promise<Organization> {
  const { entry: key, managementKey } = keyEntry({ organizationId: organization.id, serverIds });
  await platform.publish(key);
  const other = { ...organization, key, managementKey };
  await eventually(async () => (await call(platform.url, other, "credits/balance")).status === 200);
  return other;
}
afterAll(() => platform.stop());

interface Asked {
  readonly key?: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly account?: string;
  readonly caller?: Organization;
}

function ask(queued: Queued, asked: Asked = {}): Promise<Answer<CommandEnvelope & ErrorBody>> {
  const { key = randomUUID(), body = queued.body, account = accountNumber, caller = organization } = asked;
  const path = `servers/${caller.server.serverId}/accounts/${account}${queued.path}`;
  return call(platform.url, caller, path, {
    method: queued.method ?? "POST",
    body: { requestId: "r", ...body },
    headers: { "idempotency-key": key },
  });
}

/** The id in the details of an account. */
async function idOf(account: string): Promise<string> {
  const path = `servers/${organization.server.serverId}/accounts/${account}`;
  return (await call<{ account: { id: string } }>(platform.url, organization, path)).body.account.id;
}

/** A command that is only in its idempotency record, because it was never published. */
async function unpublishedRecord(change: Partial<AnyCommandMessage>): Promise<AnyCommandMessage> {
  const named = { organizationId: organization.id, serverId: organization.server.serverId };
  const message = commandMessage({ ...named, ...change });
  const { commandId, fingerprint, reservedCredits: credits } = message;
  const reply = await admit(platform.redis, {
    callerName: organization.key.keyId,
    organizationId: organization.id,
    chargeId: randomUUID(),
    mode: "reserve",
    price: 0,
    readPrice: 1,
    operation: "test",
    requestId: "r",
    rateLimit: null,
    records: [{ commandId, fingerprint, message: JSON.stringify(message), credits }],
  });
  expect(reply).toMatchObject({ kind: "admitted", records: [{ kind: "created" }] });
  return message;
}

/** Number of published commands of account, finance and export. */
async function published(): Promise<number> {
  const topics = [TOPICS.commandsAccount, TOPICS.commandsFinance, TOPICS.commandsExport];
  const ends = await Promise.all(topics.map((topic) => endOffsets(platform.kafka, topic)));
  let sum = 0n;
  for (const topic of ends) for (const end of topic.values()) sum += end;
  return Number(sum);
}

describe.each(QUEUED)("$operation", (queued) => {
  it("is queued once per idempotency key: 202, and for a repeat 200 with the same command; neither response has credentials", async () => {
    // A separate account, so that this command does not affect other tests.
    const account = await createdAccount(platform.url, organization);
    const managedAccountId = await idOf(account);
    const key = randomUUID();
    const before = await published();
    const first = await ask(queued, { key, account });
    expect(first).toMatchObject({ status: 202, charged: queued.price, body: { duplicate: false } });
    expect(CommandEnvelope.strict().parse(first.body)).toEqual(first.body);
    const { command } = first.body;
    expect(command).toMatchObject({ operation: queued.operation, accountNumber: account, idempotencyKey: key });
    expect(command).toMatchObject({ status: "queued", managedAccountId, requestId: "r" });
    const createdBy = { type: "key", id: organization.key.keyId };
    expect(command).toMatchObject({ createdBy });
    expect(first.body).not.toHaveProperty("credentials");
    const minutes = queued.operation === "account.history_export" ? 60 : 15;
    expect(Date.parse(command.deadlineAt ?? "") - Date.parse(command.createdAt)).toBe(minutes * 60_000);
    const again = await ask(queued, { key, account, body: { ...queued.body, requestId: "another", nonsense: [1] } });
    expect(again).toMatchObject({ status: 200, charged: 1, body: { duplicate: true, command: { id: command.id } } });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.body).not.toHaveProperty("credentials");
    expect(await published()).toBe(before + 1);
    const read = await getCommand(platform.url, organization, command.id);
    expect(read.body.command).toMatchObject({ id: command.id, createdAt: command.createdAt, managedAccountId });
    expect(read.body.command.createdBy).toEqual(createdBy);
    // The worker's event brings the final state, and a managed account id too.
    if (!NEEDS_MORE_SERVICES.has(queued.operation)) {
      const final = await getCommand(platform.url, organization, command.id, 20);
      expect(final.body.command).toMatchObject({ status: "succeeded", managedAccountId });
    }
  });

  it("sent many times concurrently is one command: one response is 202, all others are 200, and the price is charged once", async () => {
    const account = await createdAccount(platform.url, organization);
    const key = randomUUID();
    const before = await getWallet(platform.url, organization);
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(queued, { key, account })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      ...Array<number>(19).fill(200),
      202,
    ]);
    expect(new Set(answers.map(({ body }) => body.command.id)).size).toBe(1);
    const after = await getWallet(platform.url, organization);
    expect(before.availableCredits - after.availableCredits).toBe(queued.price + 19 + 1);
  });

  it("is 400 without requestId or with an idempotency key that was used for another account, and 404 for an unknown account; nothing is queued", async () => {
    const key = randomUUID();
    const other = await createdAccount(platform.url, organization);
    expect((await ask(queued, { key, account: other })).status).toBe(202);
    const before = await published();
    const reused = await ask(queued, { key });
    expect(reused).toMatchObject({ status: 400, charged: 1 });
    expect(reused.headers.get("x-error-code")).toBe("IDEMPOTENCY_KEY_REUSED");
    const missing = await ask(queued, { account: "99999999" });
    expect(missing).toMatchObject({ status: 404, charged: 1, body: { error: "Trading account not found" } });
    const unnamed = await ask(queued, { body: { ...queued.body, requestId: undefined } });
    expect(unnamed).toMatchObject({ status: 400, charged: 1 });
    expect(unnamed.body.issues?.map(({ path }) => path[0])).toEqual(["requestId"]);
    expect(await published()).toBe(before);
  });
});

describe.each(RESETS)("the response to $operation", (queued) => {
  it("has a new password; a repeat returns the same password, also after the reset is done", async () => {
    const key = randomUUID();
    const first = await ask(queued, { key });
    expect(first.body.password).toMatch(/^(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])(?=.*[^A-Za-z0-9]).{20}$/);
    expect((await ask(queued, { key })).body.password).toBe(first.body.password);
    await getCommand(platform.url, organization, first.body.command.id, 20);
    expect((await ask(queued, { key })).body.password).toBe(first.body.password);
    expect((await ask(queued)).body.password).not.toBe(first.body.password);
  });

  it("has the supplied password, also for a repeat; the same idempotency key with another password is rejected", async () => {
    const key = randomUUID();
    const body = { password: "correct horse battery" };
    const first = await ask(queued, { key, body });
    expect(first).toMatchObject({ status: 202, body: { password: "correct horse battery" } });
    expect(JSON.stringify(first.body.command)).not.toContain("correct horse");
    expect(await ask(queued, { key, body })).toMatchObject({ status: 200, body });
    expect(await ask(queued, { key, body: { password: "battery horse correct" } })).toMatchObject({ status: 400 });
    expect(await ask(queued, { key, body: {} })).toMatchObject({ status: 400 });
    expect(await ask(queued, { body: { password: "short" } })).toMatchObject({ status: 400, charged: 1 });
  });
});

const KEY_REUSED = { status: 400, charged: 1, body: { error: ERRORS.IDEMPOTENCY_KEY_REUSED.text } };

describe.each(RESETS)("$operation, repeated with another management key of the organization", (queued) => {
  it("is rejected as a different request, before and after the reset; the first management key still gets the password", async () => {
    for (const body of [{}, { password: "correct horse battery" }]) {
      const key = randomUUID();
      const first = await ask(queued, { key, body });
      expect(first.status).toBe(202);
      const before = await published();
      expect(await ask(queued, { key, body, caller: colleague })).toMatchObject(KEY_REUSED);
      await getCommand(platform.url, organization, first.body.command.id, 20);
      const again = await ask(queued, { key, body, caller: colleague });
      expect(again).toMatchObject(KEY_REUSED);
      expect(JSON.stringify(again.body)).not.toContain(first.body.password);
      const { password } = first.body;
      expect(await ask(queued, { key, body })).toMatchObject({ status: 200, body: { password, duplicate: true } });
      expect(await published()).toBe(before);
    }
  });
});

describe.each(RESETS)("$operation, accepted by release 0.1.0,", (queued) => {
  it("can be repeated for a limited time although the fingerprint differs, even if its idempotency record is not completed", async () => {
    const path = `/api/v1/management/servers/${organization.server.serverId}/accounts/${accountNumber}${queued.path}`;
    const fingerprint = hash("sha256", `${queued.operation}\n${path}\n{}`, "hex");
    const derivationKeyId = "k1";
    const change = { operation: queued.operation as Command["operation"], accountNumber, fingerprint, derivationKeyId };
    const message = await unpublishedRecord({ ...change, payload: {} });
    // The first request ended early: the repeat reclaims the record, publishes the command and
    // shows the password.
    const first = await ask(queued, { key: message.idempotencyKey });
    expect(first).toMatchObject({ status: 202, body: { duplicate: false, command: { id: message.commandId } } });
    const { password } = first.body;
    const again = await ask(queued, { key: message.idempotencyKey });
    expect(again).toMatchObject({ status: 200, body: { duplicate: true, password } });
    await getCommand(platform.url, organization, message.commandId, 20);
    const done = await ask(queued, { key: message.idempotencyKey });
    expect(done).toMatchObject({ status: 200, body: { duplicate: true, password, command: { status: "succeeded" } } });
    // A day later, the repeat is a different request.
    const old = await unpublishedRecord({
      ...change,
      payload: {},
      createdAt: new Date(Date.now() - DAY_MS).toISOString(),
    });
    expect(await ask(queued, { key: old.idempotencyKey })).toMatchObject(KEY_REUSED);
  });
});

describe("a management key that is limited to another server", () => {
  it("finds neither a published command nor one that is only in its idempotency record, with or without wait", async () => {
    const recorded = await unpublishedRecord({ accountNumber });
    const queued = await ask({ operation: "account.enable", path: "/enable", body: {}, price: 5 });
    for (const id of [recorded.commandId, queued.body.command.id]) {
      for (const wait of [0, 30]) {
        const answer = await getCommand(platform.url, limited, id, wait);
        expect(answer).toMatchObject({ status: 404, charged: 1, body: { error: ERRORS.COMMAND_NOT_FOUND.text } });
      }
      expect((await getCommand(platform.url, colleague, id)).status).toBe(200);
    }
  });
});

it("the two kinds of password reset generate different passwords", async () => {
  const passwords = await Promise.all(RESETS.map(async (queued) => (await ask(queued)).body.password));
  expect(new Set(passwords).size).toBe(2);
});

it("an update to a leverage that the server does not support is 400, even for an unknown account", async () => {
  const [update] = QUEUED;
  if (update === undefined) throw new Error("no update in QUEUED");
  for (const account of [accountNumber, "99999999"]) {
    const answer = await ask(update, { account, body: { leverage: 7 } });
    expect(answer).toMatchObject({ status: 400, charged: 1 });
    expect(answer.headers.get("x-error-code")).toBe("LEVERAGE_NOT_SUPPORTED");
  }
  expect(await ask(update, { body: {} })).toMatchObject({ status: 400, charged: 1 });
  expect((await ask(update, { body: { accountName: "Only a name" } })).status).toBe(202);
});

describe("an export", () => {
  it("is 400 if `from` is after `to`; the payload has times in UTC and a default limit of 1,000", async () => {
    const queued = QUEUED.find(({ operation }) => operation === "account.history_export");
    if (queued === undefined) throw new Error("no export in QUEUED");
    const bad = await ask(queued, { body: { from: "2026-02-01T00:00:00Z", to: "2026-01-01T00:00:00Z" } });
    expect(bad).toMatchObject({ status: 400, charged: 1 });
    expect(bad.body.issues?.[0]?.path).toEqual(["from"]);
    expect((await ask(queued, { body: { to: "9999-12-31T23:59:59-01:00" } })).status).toBe(400);
    const answer = await ask(queued, { body: { from: "2026-01-01T01:00:00+01:00" } });
    expect(answer.body.command.payload).toEqual({ from: "2026-01-01T00:00:00.000Z", limit: 1_000 });
  });
});

it("on a disabled server a command on an account is queued and fails; the configuration and an account can be read", async () => {
  const owner = await platform.organization(10_000);
  const account = await createdAccount(platform.url, owner);
  await platform.publish({ ...owner.server, version: 2, status: "disabled" });
  const path = `servers/${owner.server.serverId}`;
  const configuration = async (): Promise<unknown> =>
    (await call<{ server: { status: string } }>(platform.url, owner, `${path}/configuration`)).body.server.status;
  await expect.poll(configuration, { timeout: 5_000 }).toBe("disabled");
  expect((await call(platform.url, owner, `${path}/accounts/${account}`)).status).toBe(200);
  const disable = QUEUED.find(({ operation }) => operation === "account.disable");
  if (disable === undefined) throw new Error("no disable in QUEUED");
  const queued = await ask(disable, { account, caller: owner });
  expect(queued.status).toBe(202);
  const final = await getCommand(platform.url, owner, queued.body.command.id, 20);
  expect(final.body.command).toMatchObject({ status: "failed", errorCode: "SERVER_DISABLED" });
});
