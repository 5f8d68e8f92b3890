/** People that the operator creates, and the audit log of changes by people and the operator. */
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";

import { AuditAnswer, type AuditEntry } from "@kapi/contracts";
import { startPool, type Database, statement, type Transaction } from "@kapi/postgres";
import { admit } from "@kapi/admission/redis";
import { createLogger, type Started } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";

import { createAuditLog, insertAudit } from "../src/outbound/postgres/audit-log.ts";
import { createUsers } from "../src/outbound/postgres/users.ts";
import { migrateDatabase } from "../src/service.ts";
import { type ConsoleHarness, PASSWORD, type ConsoleUser, startConsoleHarness } from "./harness.ts";

let harness: ConsoleHarness;
let client: ConsoleHarness["client"];
let person: ConsoleUser;
let base: string;
let database: Started<Database>;
beforeAll(async () => {
  harness = await startConsoleHarness();
  ({ client } = harness);
  person = await harness.person({ credits: 30 });
  base = `/internal/organizations/${person.organizationId}`;
  database = await startPool({
    connectionString: harness.environment.postgresUrl,
    schema: "console",
    applicationName: "test",
    logger: createLogger({ service: "test", level: "silent" }),
  });
});
afterAll(async () => {
  await database.stop();
  await harness.stop();
});

async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const { status, body: bytes } = await client.request(method, path, body);
  return { status, body: JSON.parse(bytes.toString()) as unknown };
}

test("organizations, people, keys and servers are listed in pages, each list in a field with its own name", async () => {
  const later = await harness.person();
  const { body } = await ask("GET", "/internal/organizations?page=1&limit=1");
  expect(body).toEqual({
    organizations: [{ organizationId: later.organizationId, name: "Test", createdAt: expect.any(String) as string }],
    pagination: { page: 1, limit: 1, total: 2, totalPages: 2 },
  });
  const pagination = { page: 1, limit: 20, total: 1, totalPages: 1 };
  const { userId, email, organizationId, serverId } = person;
  expect((await ask("GET", `${base}/users`)).body).toMatchObject({
    users: [{ userId, email, organizationId, name: "Person", disabledAt: null }],
    pagination,
  });
  await ask("POST", `${base}/keys`, { scopes: ["credits:read"], serverIds: [serverId], name: "One server" });
  expect((await ask("GET", `${base}/keys`)).body).toMatchObject({
    keys: [{ name: "One server", serverIds: [serverId], status: "active" }],
    pagination,
  });
  expect((await ask("GET", `${base}/servers`)).body).toMatchObject({
    servers: [{ serverId, organizationId, status: "active", tradingServerUrl: "http://127.0.0.1:1" }],
    pagination,
  });
  expect((await ask("GET", `${base}/users?page=2&limit=1`)).body).toMatchObject({
    users: [],
    pagination: { page: 2 },
  });
  expect((await ask("GET", `${base}/users?limit=0`)).status).toBe(400);
});

test("no list has a field with a hash or a secret", async () => {
  for (const list of ["users", "keys", "servers"]) {
    const text = (await client.request("GET", `${base}/${list}`)).body.toString();
    expect(text).not.toMatch(/hash|argon2|secret/i);
  }
});

test("the operator sees the credits of an organization after a purchase", async () => {
  await ask("POST", `${base}/credits`, { credits: 12, purchaseId: randomUUID() });
  await eventually(async () => {
    const { organizationId } = person;
    expect((await ask("GET", `${base}/credits`)).body).toMatchObject({
      wallet: { organizationId, availableCredits: 42, lifetimePurchased: 42 },
    });
  });
});

test("lockOwners makes transactions of an organization run one after the other, even if the organization has no owner", async () => {
  const organizationId = randomUUID();
  const order: string[] = [];
  const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>();
  const first = database.value.transaction(async (tx) => {
    await createUsers(tx).lockOwners(organizationId);
    locked();
    // Time for the second change to reach the lock.
    await setTimeout(200);
    order.push("first");
  });
  await isLocked;
  const second = database.value.transaction(async (tx) => {
    await createUsers(tx).lockOwners(organizationId);
    order.push("second");
  });
  await Promise.all([first, second]);
  expect(order).toEqual(["first", "second"]);
});

test("an unknown organization and an unknown user are 404", async () => {
  const nobody = `/internal/organizations/${randomUUID()}`;
  for (const list of ["users", "keys", "servers", "credits"])
    expect((await ask("GET", `${nobody}/${list}`)).status).toBe(404);
  expect((await ask("POST", `${nobody}/users`, { email: "one@example.com", name: "One" })).status).toBe(404);
  const unknown = `/internal/users/${randomUUID()}`;
  expect((await ask("PUT", `${unknown}/password`, {})).status).toBe(404);
  expect((await ask("DELETE", unknown)).status).toBe(404);
});

test("a new user gets a generated password, which works; a supplied password is not returned; invalid fields and an e-mail address in use are rejected", async () => {
  const email = `${randomUUID()}@example.com`;
  const made = await ask("POST", `${base}/users`, { email, name: "Generated" });
  expect(made.status).toBe(201);
  const { password } = made.body as { password: string };
  expect(password).toMatch(/^[A-Za-z0-9_-]{24}$/);
  expect((await harness.browser().signIn(email, password)).status).toBe(200);
  const again = await ask("POST", `${base}/users`, { email: email.toUpperCase(), name: "Again" });
  expect(again).toMatchObject({ status: 400, body: { issues: [{ path: ["email"] }] } });
  for (const [field, change] of [
    ["email", { email: "no address" }],
    ["name", { name: "" }],
    ["password", { password: "short" }],
  ] as const) {
    const refused = await ask("POST", `${base}/users`, { email: "two@example.com", name: "Two", ...change });
    expect(refused).toMatchObject({ status: 400, body: { issues: [{ path: [field] }] } });
  }
  const known = await ask("POST", `${base}/users`, {
    email: `${randomUUID()}@example.com`,
    name: "Own",
    password: "my own password",
  });
  expect(known.body).not.toHaveProperty("password");
});

describe("the audit log", () => {
  const ADDRESS = "203.0.113.77";
  const audit = async (query = ""): Promise<AuditAnswer> =>
    AuditAnswer.parse((await ask("GET", `/internal/audit?${query}`)).body);
  const auditOf = async ({ organizationId }: ConsoleUser): Promise<AuditEntry[]> =>
    (await audit(`organizationId=${organizationId}&limit=100`)).entries;
  /**
   * The entries of a person's organization, newest first. Waits until there are `count` entries,
   * because entries of other services arrive a moment later.
   */
  const entriesOf = async (somebody: ConsoleUser, count: number): Promise<AuditEntry[]> => {
    await eventually(async () => expect(await auditOf(somebody)).toHaveLength(count));
    return (await auditOf(somebody)).toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
  };
  const sql = (text: string): Promise<unknown> => database.value.query(statement(`test_${randomUUID()}`, text), []);

  it("has the changes that the operator and people made, with actor, network address and subject, and no secrets", async () => {
    const somebody = await harness.person();
    const { userId, email, serverId, organizationId } = somebody;
    const browser = harness.browser(ADDRESS);
    await browser.signIn(email, PASSWORD);
    const { body } = await browser.ask("POST", "/keys", { name: "Backend", scopes: ["accounts:read"] });
    const { key, managementKey } = body as { key: { keyId: string }; managementKey: string };
    await harness.client.request("DELETE", `/internal/keys/${key.keyId}`);
    await harness.client.request("DELETE", `/internal/keys/${key.keyId}`);
    for (const status of ["disabled", "disabled"]) await browser.ask("PATCH", `/servers/${serverId}`, { status });
    const newPassword = "staple battery horse";
    await browser.ask("PUT", "/session/password", { currentPassword: PASSWORD, newPassword });
    const { password } = (await ask("PUT", `/internal/users/${userId}/password`, {})).body as { password: string };
    await ask("DELETE", `/internal/users/${userId}`);
    const entries = await entriesOf(somebody, 10);
    const operator = { type: "operator", id: null, name: null };
    const user = { type: "user", id: userId, name: email };
    const recorded = entries.map(({ action, actor, subject }) => ({ action, actor, subject }));
    expect(recorded.toReversed()).toEqual([
      { action: "organization.created", actor: operator, subject: { type: "organization", id: organizationId } },
      { action: "server.created", actor: operator, subject: { type: "server", id: serverId } },
      { action: "user.created", actor: operator, subject: { type: "user", id: userId } },
      { action: "session.opened", actor: user, subject: { type: "user", id: userId } },
      { action: "key.created", actor: user, subject: { type: "key", id: key.keyId } },
      { action: "key.revoked", actor: operator, subject: { type: "key", id: key.keyId } },
      { action: "server.updated", actor: user, subject: { type: "server", id: serverId } },
      { action: "user.password_changed", actor: user, subject: { type: "user", id: userId } },
      { action: "user.password_reset", actor: operator, subject: { type: "user", id: userId } },
      { action: "user.disabled", actor: operator, subject: { type: "user", id: userId } },
    ]);
    expect(new Set(entries.map(({ address }) => address))).toEqual(new Set([ADDRESS, "127.0.0.1"]));
    expect(entries.filter(({ actor }) => actor?.type === "user").map(({ address }) => address)).toEqual(
      Array.from({ length: 4 }, () => ADDRESS),
    );
    const [, , secret = ""] = managementKey.split(".");
    for (const hidden of [PASSWORD, newPassword, password, secret, browser.cookie ?? "", browser.csrfToken ?? ""])
      expect(JSON.stringify(entries)).not.toContain(hidden);
  });

  it("has failed sign-ins: of a known user with the user's organization, of an unknown user without the typed e-mail address", async () => {
    const somebody = await harness.person();
    const browser = harness.browser(ADDRESS);
    for (let attempt = 0; attempt < 4; attempt += 1) await browser.signIn(somebody.email, "wrong password");
    // After a minute the other failures become one entry. This test does not wait for that entry.
    await eventually(async () => {
      const failures = (await auditOf(somebody)).filter(({ action }) => action === "session.failed");
      expect(failures).toMatchObject([
        { actor: null, address: ADDRESS, subject: { type: "user", id: somebody.userId }, details: { failures: 1 } },
      ]);
    });
    const typed = `my-own-password-${randomUUID()}@example.com`;
    await harness.browser("203.0.113.78").signIn(typed, "wrong password");
    await eventually(async () => {
      const { entries } = await audit();
      const nobodys = entries.filter(({ organizationId }) => organizationId === null);
      expect(nobodys).toMatchObject([{ action: "session.failed", subject: null }]);
      expect(JSON.stringify(entries)).not.toContain("my-own-password");
    });
  });

  it("has an entry for the first use of a key only, with the network address of the caller", async () => {
    const { organizationId } = person;
    const made = await ask("POST", `${base}/keys`, { scopes: ["credits:read"], name: "Used" });
    const { keyId } = made.body as { keyId: string };
    const use = (): Promise<unknown> =>
      admit(harness.redis, {
        callerName: keyId,
        organizationId,
        chargeId: randomUUID(),
        mode: "consume",
        price: 1,
        readPrice: 1,
        operation: "getCommand",
        requestId: "request",
        rateLimit: null,
        records: [],
        address: ADDRESS,
      });
    await use();
    const uses = async (): Promise<AuditEntry[]> =>
      (await auditOf(person)).filter(({ action, subject }) => action === "key.first_used" && subject?.id === keyId);
    await eventually(async () => expect(await uses()).toHaveLength(1));
    await use();
    await eventually(async () => {
      const { usage } = (await ask("GET", `${base}/credits/usage`)).body as { usage: { createdBy: unknown }[] };
      expect(usage.filter(({ createdBy }) => JSON.stringify(createdBy).includes(keyId))).toHaveLength(2);
    });
    expect(await uses()).toMatchObject([{ actor: { type: "key", id: keyId, name: "Used" }, address: ADDRESS }]);
  });

  it("is read in pages, which do not shift when entries are written meanwhile", async () => {
    const somebody = await harness.person();
    await entriesOf(somebody, 3);
    const all = (await auditOf(somebody)).map(({ id }) => id);
    const ids: string[] = [];
    let before = "";
    do {
      const page = await audit(`organizationId=${somebody.organizationId}&limit=1${before}`);
      ids.push(...page.entries.map(({ id }) => id));
      await harness.signedIn(somebody);
      before = page.next === null ? "" : `&before=${page.next}`;
    } while (before !== "");
    expect(ids).toEqual(all);
    expect(all).toHaveLength(3);
    for (const query of ["limit=101", "limit=0", "before=x", "before=99999999999999999999", "organizationId=x"])
      expect((await ask("GET", `/internal/audit?${query}`)).status).toBe(400);
  });

  it("shows people in the console only entries of their organization, without network addresses of the operator and addresses of trading servers", async () => {
    const [somebody, other] = [await harness.person(), await harness.person()];
    const browser = await harness.signedIn(somebody);
    await entriesOf(somebody, 4);
    const { entries } = AuditAnswer.parse((await browser.ask("GET", "/audit?limit=100")).body);
    const whole = await auditOf(somebody);
    const isOperators = ({ actor }: AuditEntry): boolean => actor?.type === "operator";
    const shown = ({ details: { tradingServer: _inside, ...details }, ...entry }: AuditEntry): unknown => ({
      ...entry,
      address: null,
      details,
    });
    expect(entries).toEqual(whole.map((entry) => (isOperators(entry) ? shown(entry) : entry)));
    expect(whole.some(({ details }) => "tradingServer" in details)).toBe(true);
    expect(new Set(whole.filter(isOperators).map(({ address }) => address))).toEqual(new Set(["127.0.0.1"]));
    expect(entries.map(({ organizationId }) => organizationId)).not.toContain(other.organizationId);
    expect((await harness.browser().ask("GET", "/audit")).status).toBe(401);
    const asked = await browser.ask("GET", `/audit?organizationId=${other.organizationId}`);
    expect(JSON.stringify(asked.body)).not.toContain(other.organizationId);
  });

  it("cannot be changed or emptied by the PostgreSQL role of the service", async () => {
    for (const text of ["update audit_log set address = null", "delete from audit_log", "truncate audit_log"])
      await expect(sql(text)).rejects.toThrow(/rows of audit_log/);
    expect((await auditOf(person)).length).toBeGreaterThan(2);
  });

  it("can be written and read by the PostgreSQL role that POSTGRES_SERVICE_ROLE names; this role can change neither entries nor triggers", async () => {
    const role = `writer_${randomUUID().replaceAll("-", "")}`;
    await sql(`create role ${role}`);
    const settings = { POSTGRES_URL: harness.environment.postgresUrl, POSTGRES_SERVICE_ROLE: role };
    // Each later release repeats the migration with the same role.
    for (let time = 0; time < 2; time += 1)
      await migrateDatabase({ config: settings, logger: createLogger({ service: "test", level: "silent" }) });
    const as = (work: (tx: Transaction) => unknown): Promise<unknown> =>
      database.value.transaction(async (tx) => {
        await tx.query(statement(`test_${randomUUID()}`, `set local role ${role}`), []);
        return work(tx);
      });
    const subject = { type: "organization", id: person.organizationId } as const;
    const named = { actor: null, address: null, organizationId: person.organizationId, subject, atMs: Date.now() };
    await as((tx) => insertAudit(tx, [{ ...named, action: "server.updated", eventId: randomUUID() }]));
    const query = { organizationId: person.organizationId, before: undefined, limit: 1, filters: {} };
    expect(await as((tx) => createAuditLog(tx).page(query))).toMatchObject([{ action: "server.updated" }]);
    for (const text of [
      "update audit_log set address = null",
      "delete from audit_log",
      "truncate audit_log",
      "alter table audit_log disable trigger all",
    ])
      await expect(
        as((tx) => tx.query(statement(`test_${randomUUID()}`, text), [])),
        text,
      ).rejects.toThrow(/permission denied|must be owner/);
  });

  it("prevents a change and a sign-in if their entry cannot be written", async () => {
    const somebody = await harness.person();
    const browser = await harness.signedIn(somebody);
    await entriesOf(somebody, 4);
    const before = await auditOf(somebody);
    const tables = { "console.audit_log": "id < 0", "organization.audit_outbox": "false" };
    for (const [table, check] of Object.entries(tables))
      await sql(`alter table ${table} add constraint refused check (${check}) not valid`);
    try {
      expect((await browser.ask("POST", "/keys", { name: "Never", scopes: ["accounts:read"] })).status).toBe(500);
      expect((await browser.ask("PATCH", `/servers/${somebody.serverId}`, { status: "disabled" })).status).toBe(500);
      expect((await harness.browser().signIn(somebody.email, PASSWORD)).status).toBe(500);
    } finally {
      for (const table of Object.keys(tables)) await sql(`alter table ${table} drop constraint refused`);
    }
    expect((await browser.ask("GET", "/keys")).body).toEqual({ keys: [] });
    expect((await browser.ask("GET", "/servers")).body).toMatchObject({ servers: [{ status: "active" }] });
    expect(await auditOf(somebody)).toEqual(before);
  });
});
