/**
 * Processes of the previous release still write users and audit-log entries into the schema of the
 * organization service. The console copies them.
 */
import { randomUUID } from "node:crypto";

import { startPool, type Database, statement } from "@kapi/postgres";
import { createLogger, type Started } from "@kapi/runtime";
import { eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { type ConsoleHarness, PASSWORD, startConsoleHarness } from "./harness.ts";

const OTHER_PASSWORD = "staple battery horse";

let harness: ConsoleHarness;
let database: Started<Database>;
let organizationId: string;
beforeAll(async () => {
  harness = await startConsoleHarness();
  ({ organizationId } = await harness.person());
  database = await startPool({
    connectionString: harness.environment.postgresUrl,
    schema: "organization",
    applicationName: "test",
    logger: createLogger({ service: "test", level: "silent" }),
  });
});
afterAll(async () => {
  await database.stop();
  await harness.stop();
});

async function rows<Row>(text: string): Promise<Row[]> {
  return database.value.query(statement<Row>(`test_${randomUUID()}`, text), []);
}

/** Inserts a user with this password, as a process of the previous release does; returns the id. */
async function formerUser(email: string, password: string): Promise<string> {
  const [known] = await rows<{ id: string }>(
    `insert into organization.users (id, organization_id, email, name, password_hash, created_at)
     select gen_random_uuid(), '${organizationId}', '${email}', 'Former', '${await hashOf(password)}', now() returning id`,
  );
  return known?.id ?? "";
}

/** Creates a user with this password in the console; returns the stored hash of the password. */
async function hashOf(password: string): Promise<string> {
  const email = `${randomUUID()}@example.com`;
  const user = { email, name: "Hashed", password };
  await harness.client.request("POST", `/internal/organizations/${organizationId}/users`, user);
  const [row] = await rows<{ password_hash: string }>(
    `select password_hash from console.users where email = '${email}'`,
  );
  return row?.password_hash ?? "";
}

function signIn(email: string, password: string): Promise<number> {
  return harness
    .browser()
    .signIn(email, password)
    .then(({ status }) => status);
}

/** Sets a password, as a process of the previous release does. */
async function setFormerPassword(userId: string, password: string): Promise<void> {
  const hash = await hashOf(password);
  await rows(
    `update organization.users set password_hash = '${hash}', session_version = session_version + 1 where id = '${userId}'`,
  );
}

async function copied(): Promise<void> {
  await eventually(async () =>
    expect(await rows(`select from organization.users where moved_version is distinct from session_version`)).toEqual(
      [],
    ),
  );
}

it("a user of the previous release signs in with the newest password, whichever release set it; after the console disabled the user, no password works", async () => {
  const email = `${randomUUID()}@example.com`;
  const userId = await formerUser(email, PASSWORD);
  await eventually(async () => expect(await signIn(email, PASSWORD)).toBe(200));
  await setFormerPassword(userId, OTHER_PASSWORD);
  await eventually(async () => expect(await signIn(email, OTHER_PASSWORD)).toBe(200));
  for (const password of ["one more password", "yet another password"])
    await harness.client.request("PUT", `/internal/users/${userId}/password`, { password });
  // Makes the console repeat the copy, as after a lost confirmation.
  await rows(`update organization.users set moved_version = null where id = '${userId}'`);
  await copied();
  expect(await signIn(email, "yet another password")).toBe(200);
  await setFormerPassword(userId, PASSWORD);
  await copied();
  expect(await signIn(email, PASSWORD)).toBe(200);
  expect(await signIn(email, "yet another password")).toBe(401);
  await harness.client.request("DELETE", `/internal/users/${userId}`);
  await setFormerPassword(userId, OTHER_PASSWORD);
  await copied();
  expect(await signIn(email, OTHER_PASSWORD)).toBe(401);
});

it("a password that a process of the previous release sets replaces the old password and ends all sessions, even if the console ended sessions before", async () => {
  const email = `${randomUUID()}@example.com`;
  const userId = await formerUser(email, PASSWORD);
  await eventually(async () => expect(await signIn(email, PASSWORD)).toBe(200));
  const browser = harness.browser();
  await browser.signIn(email, PASSWORD);
  expect((await browser.ask("POST", "/sessions/end-others")).status).toBe(200);
  expect((await browser.ask("GET", "/session")).status).toBe(200);
  await setFormerPassword(userId, OTHER_PASSWORD);
  await eventually(async () => expect(await signIn(email, OTHER_PASSWORD)).toBe(200));
  expect(await signIn(email, PASSWORD)).toBe(401);
  expect((await browser.ask("GET", "/session")).status).toBe(401);
});

it("a user whom a process of the previous release disables cannot sign in, even if the console changed the password several times before", async () => {
  const email = `${randomUUID()}@example.com`;
  const userId = await formerUser(email, PASSWORD);
  await eventually(async () => expect(await signIn(email, PASSWORD)).toBe(200));
  for (let time = 0; time < 2; time += 1)
    await harness.client.request("PUT", `/internal/users/${userId}/password`, { password: OTHER_PASSWORD });
  expect(await signIn(email, OTHER_PASSWORD)).toBe(200);
  await rows(
    `update organization.users set disabled_at = now(), session_version = session_version + 1 where id = '${userId}'`,
  );
  await eventually(async () => expect(await signIn(email, OTHER_PASSWORD)).toBe(401));
});

it("later users are taken over even if a user of the previous release has the e-mail address of another user", async () => {
  const email = `${randomUUID()}@example.com`;
  const user = { email, name: "First", password: PASSWORD };
  await harness.client.request("POST", `/internal/organizations/${organizationId}/users`, user);
  await formerUser(email, OTHER_PASSWORD);
  const later = `${randomUUID()}@example.com`;
  await formerUser(later, OTHER_PASSWORD);
  await eventually(async () => expect(await signIn(later, OTHER_PASSWORD)).toBe(200));
  expect(await signIn(email, PASSWORD)).toBe(200);
});

it("an entry that a process of the previous release writes is in the audit log once", async () => {
  const eventId = randomUUID();
  await rows(
    `insert into organization.audit_log (event_id, organization_id, at, action, details)
     values ('${eventId}', '${organizationId}', now(), 'session.failed', '{"failures": 7}')`,
  );
  const recorded = (): Promise<unknown[]> =>
    rows(`select details from console.audit_log where event_id = '${eventId}'`);
  await eventually(async () => expect(await recorded()).toEqual([{ details: { failures: 7 } }]));
  await eventually(async () => expect(await rows("select from organization.audit_outbox")).toEqual([]));
  expect(await recorded()).toHaveLength(1);
});
