/**
 * Moving people and the audit log to the console service, while processes of earlier builds run:
 * release 0.1.0 has the table `users`, builds after it also have `audit_log`.
 */
import { randomUUID } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { AuditEvent } from "@kapi/contracts";
import { startPool, migrate, statement } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { FormerUsers } from "../src/domain/directory/ports.ts";
import { createFormerUsers } from "../src/outbound/postgres/former-users.ts";
import { MIGRATIONS, startLedger, type LedgerHarness } from "./support.ts";

/** The migration that moves people and the audit log. */
const MOVE = "0053";

const organizationId = randomUUID();
const userId = randomUUID();
const eventId = randomUUID();
const newUser = (id: string): string =>
  `insert into users (id, organization_id, email, name, password_hash, created_at)
   values ('${id}', '${organizationId}', '${id}@example.com', 'Old', 'hash', '2026-03-02T10:05:00.123Z')`;
const OLD_ROWS = [
  `insert into organizations values ('${organizationId}', 'Old organization', now())`,
  newUser(userId),
  // The second entry has an earlier time than the first: entries keep the order of writing.
  `insert into audit_log (organization_id, at, action, actor_type, actor_id, address, subject_type, subject_id, details)
   values ('${organizationId}', '2026-03-02T10:05:00.123Z', 'user.created', 'operator', null, '192.0.2.7', 'user',
     '${userId}', '{"name": "Old"}')`,
  `insert into audit_log (event_id, organization_id, at, action, details)
   values ('${eventId}', null, '2026-03-02T10:04:00Z', 'session.failed', '{"failures": 1}')`,
];
const silent = createLogger({ service: "organization-test", level: "silent" });

let harness: LedgerHarness;
let users: FormerUsers;
beforeAll(async () => {
  harness = await startLedger(oldSchema);
  users = createFormerUsers(harness.database);
});
afterAll(() => harness.stop());

/** Creates the schema of the last build before the move, with some rows. */
async function oldSchema(connectionString: string): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "kapi-migrations-"));
  for (const file of readdirSync(MIGRATIONS)) {
    if (file === "corrected.json" || (file.endsWith(".sql") && file < MOVE))
      cpSync(path.join(MIGRATIONS, file), path.join(folder, file));
  }
  await migrate({ connectionString, schema: "organization", directory: folder, logger: silent });
  rmSync(folder, { recursive: true });
  const pool = await startPool({ connectionString, schema: "organization", applicationName: "test", logger: silent });
  for (const [index, text] of OLD_ROWS.entries()) await pool.value.query(statement(`old_row_${index}`, text), []);
  await pool.stop();
}

async function run(text: string): Promise<void> {
  await harness.database.query(statement(`test_${randomUUID()}`, text), []);
}

const selectWaiting = statement<{ id: string; entry: object }>(
  "test_audit_outbox",
  "select id, entry from audit_outbox order by created_at, id",
);

async function waiting(): Promise<unknown[]> {
  const rows = await harness.database.query(selectWaiting, []);
  return rows.map(({ id, entry }) => AuditEvent.parse({ ...entry, eventId: id }));
}

test("audit entries wait for the console service in order, including entries of processes of earlier builds", async () => {
  const moved = [
    {
      eventId: expect.any(String) as string,
      organizationId,
      at: "2026-03-02T10:05:00.123Z",
      action: "user.created",
      actor: { type: "operator", id: null },
      address: "192.0.2.7",
      subject: { type: "user", id: userId },
      details: { name: "Old" },
    },
    {
      eventId,
      organizationId: null,
      at: "2026-03-02T10:04:00.000Z",
      action: "session.failed",
      actor: null,
      address: null,
      subject: null,
      details: { failures: 1 },
    },
  ];
  expect(await waiting()).toEqual(moved);
  const later = randomUUID();
  for (let time = 0; time < 2; time += 1)
    await run(
      `insert into audit_log (event_id, organization_id, at, action, details)
       values ('${later}', '${organizationId}', now(), 'session.failed', '{}') on conflict (event_id) do nothing`,
    );
  expect(await waiting()).toMatchObject([{}, { eventId }, { eventId: later }]);
});

test("a user of the previous release is offered to the console service until that service has the user's newest version", async () => {
  const [user] = await users.unmoved(10);
  expect(user).toEqual({
    userId,
    organizationId,
    organizationName: "Old organization",
    email: `${userId}@example.com`,
    name: "Old",
    passwordHash: "hash",
    sessionVersion: 1,
    createdAt: "2026-03-02T10:05:00.123Z",
    disabledAt: null,
  });
  const change = `update users set password_hash = 'new', session_version = session_version + 1 where id = '${userId}'`;
  // The user changes after the console read it, so the console marks the previous version.
  await run(change);
  await users.markMoved([{ userId, sessionVersion: 1 }]);
  expect(await users.unmoved(10)).toMatchObject([{ userId, passwordHash: "new", sessionVersion: 2 }]);
  await users.markMoved([{ userId, sessionVersion: 2 }]);
  expect(await users.unmoved(10)).toEqual([]);
  const added = randomUUID();
  await run(newUser(added));
  expect(await users.unmoved(10)).toMatchObject([{ userId: added }]);
});
