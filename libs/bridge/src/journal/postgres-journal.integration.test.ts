import { type Database, migrate, startPool } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { createTestEnvironment } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { BRIDGE_MIGRATIONS } from "../index.ts";
import type { CommitBatch, Journal } from "./ports.ts";
import { createJournal } from "./postgres-journal.ts";
import { createStoredState } from "./stored-state.ts";

const SCHEMA = "trading_server";
const SERVER = "0197a3c2-6d20-7a10-8b3f-91c5e07d2a02";

const scope = new Scope({ stopDeadlineMs: 30_000 });
const logger = createLogger({ service: "test", level: "silent" });
let database: Database;
let journal: Journal;
/**
 * Simulates a lost connection during the next statement. `answer`: PostgreSQL executes the
 * statement, but its answer is lost. `statement`: PostgreSQL does not execute the statement.
 */
let lost: "answer" | "statement" | null = null;

beforeAll(async () => {
  const environment = await createTestEnvironment({ needs: ["postgres"] });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const { postgresUrl: connectionString } = environment;
  await migrate({ connectionString, schema: SCHEMA, directories: [BRIDGE_MIGRATIONS], logger });
  database = await scope.start("postgres", () =>
    startPool({ connectionString, schema: SCHEMA, applicationName: "test", logger }),
  );
  const query: Database["query"] = async (statement, values) => {
    const loss = lost;
    lost = null;
    const rows = loss === "statement" ? [] : await database.query(statement, values);
    if (loss !== null) throw new Error("Connection terminated unexpectedly");
    return rows;
  };
  const writer = await createStoredState(database).claim();
  journal = createJournal({ ...database, query }, writer);
});
afterAll(() => scope.stop());

/** A commit with the outcome of one reference. */
function commitOf(position: number, reference: string, outcome = "{}"): CommitBatch {
  const row = { position, serverId: SERVER, accountNumber: null, sequence: null, reference, event: null, outcome };
  return { rows: [row], accounts: [], servers: [] };
}

const outcomes = async (...references: string[]): Promise<object> =>
  Object.fromEntries(await journal.outcomesOf(SERVER, references));

it("the journal stores a commit once, also if the connection is lost before or after PostgreSQL stores the commit", async () => {
  lost = "statement";
  await journal.write(commitOf(1, "before"));
  lost = "answer";
  await journal.write(commitOf(2, "after"));
  expect(await outcomes("before", "after")).toEqual({ before: "{}", after: "{}" });
});

it("a write to the journal fails if the reference is already stored, also after a lost connection", async () => {
  await journal.write(commitOf(11, "first"));
  await expect(journal.write(commitOf(12, "first", "2"))).rejects.toThrow("journal_reference");
  lost = "statement";
  await expect(journal.write(commitOf(12, "first", "2"))).rejects.toThrow("journal_reference");
  expect(await outcomes("first")).toEqual({ first: "{}" });
}, 10_000);

it("a write to the journal fails if another row has the same position", async () => {
  await journal.write(commitOf(21, "one"));
  await expect(journal.write(commitOf(21, "two"))).rejects.toThrow("another process has used position 21");
});
