import type { Started } from "@kapi/runtime";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

import {
  startPool,
  type Database,
  isMissingPartition,
  isTransient,
  isUniqueViolation,
  startDatabaseClock,
  statement,
  type Transaction,
} from "../src/index.ts";
import { asAdmin, connectionString, logger, ownSchema } from "./support.ts";

const insert = statement<{ id: number }>("insert", "insert into items (id) values ($1) returning id");
const count = statement<{ n: number }>("count", "select count(*) as n from items where id = $1");
const backend = statement<{ pid: number }>("backend", "select pg_backend_pid() as pid");
const series = statement<{ i: number }>("series", "select i::int8 as i from generate_series(1, $1::int) i");
const sleep = statement("sleep", "select pg_sleep($1)");

let database: Started<Database>;
const { schema, drop } = ownSchema();

beforeAll(async () => {
  await asAdmin(`create schema ${schema}; create table ${schema}.items (id int8 primary key)`);
  database = await pool(2, 500);
});
afterAll(async () => {
  await database.stop();
  await drop();
});

function pool(max: number, statementTimeoutMs: number): Promise<Started<Database>> {
  const applicationName = "postgres-test";
  return startPool({ connectionString: connectionString(), schema, applicationName, max, statementTimeoutMs, logger });
}

test("the time limit of an idle transaction is below Kafka's session timeout; the time limit of an idle stream is above it", async () => {
  const KAFKA_SESSION_MS = 10_000;
  const limit = statement<{ limit_ms: number }>(
    "idle_limit",
    "select setting::int as limit_ms from pg_settings where name = 'idle_in_transaction_session_timeout'",
  );
  const [inTransaction] = await database.value.transaction((tx) => tx.query(limit, []));
  expect(inTransaction?.limit_ms).toBeGreaterThan(0);
  expect(inTransaction?.limit_ms).toBeLessThan(KAFKA_SESSION_MS);
  for await (const [row] of database.value.stream(limit, [], 10))
    expect(row?.limit_ms).toBeGreaterThan(KAFKA_SESSION_MS);
  // The limit of the stream ends with the stream.
  const [later] = await database.value.transaction((tx) => tx.query(limit, []));
  expect(later?.limit_ms).toBe(inTransaction?.limit_ms);
});

test("unqualified names mean the tables of the schema", async () => {
  expect(await database.value.query(insert, [1])).toEqual([{ id: 1 }]);
  expect(await asAdmin(`select id::int from ${schema}.items where id = 1`)).toEqual([{ id: 1 }]);
});

test("int8 is a number, and an unsafe integer is an error; numeric is a string; timestamptz is a Date", async () => {
  const typed = statement(
    "typed",
    "select 7::int8 as i, array[1,2]::int8[] as a, 1.50::numeric as n, timestamptz '2026-01-02T03:04:05Z' as t",
  );
  const [row] = await database.value.query(typed, []);
  expect(row).toEqual({ i: 7, a: [1, 2], n: "1.50", t: new Date("2026-01-02T03:04:05Z") });
  const unsafe = statement("unsafe", "select 9007199254740993::int8 as i");
  await expect(database.value.query(unsafe, [])).rejects.toThrow("not a safe integer");
});

test("with generic plans a statement is planned once, whatever its values", async () => {
  const options = { connectionString: connectionString(), schema, applicationName: "generic", max: 1, logger };
  const generic = await startPool({ ...options, genericPlans: true });
  const plans = statement<{ generic: number; custom: number }>(
    "plans",
    "select generic_plans as generic, custom_plans as custom from pg_prepared_statements where name = 'count'",
  );
  for (let id = 1; id <= 3; id += 1) await generic.value.query(count, [id]);
  expect(await generic.value.query(plans, [])).toEqual([{ generic: 3, custom: 0 }]);
  await generic.stop();
});

test("a missing partition is distinguished from a violated check constraint", async () => {
  await asAdmin(`
    create table ${schema}.by_number (number integer check (number > 0)) partition by range (number);
    create table ${schema}.small partition of ${schema}.by_number for values from (0) to (10)`);
  const insertNumber = statement("insert_number", "insert into by_number values ($1)");
  const errorOf = (number: number): Promise<unknown> =>
    database.value.query(insertNumber, [number]).catch((error: unknown) => error);
  expect(isMissingPartition(await errorOf(11))).toBe(true);
  expect(isMissingPartition(await errorOf(0))).toBe(false);
  expect(await database.value.query(insertNumber, [5])).toEqual([]);
});

test("a rejected transaction changes nothing", async () => {
  const work = database.value.transaction(async (tx) => {
    await tx.query(insert, [10]);
    throw new Error("changed my mind");
  });
  await expect(work).rejects.toThrow("changed my mind");
  expect(await database.value.query(count, [10])).toEqual([{ n: 0 }]);
});

test("a transaction with a failed statement is rejected, even if the error of the statement is caught", async () => {
  await database.value.query(insert, [20]);
  const work = database.value.transaction(async (tx) => {
    await tx.query(insert, [21]);
    await expect(tx.query(insert, [20])).rejects.toSatisfy((error) => isUniqueViolation(error, "items_pkey"));
  });
  await expect(work).rejects.toSatisfy((error) => isUniqueViolation(error, "items_pkey"));
  expect(await database.value.query(count, [21])).toEqual([{ n: 0 }]);
});

test("statements that are not awaited are committed with the transaction, in the order of their calls", async () => {
  const places = statement("places", "insert into places (id) values ($1)");
  const found = statement<{ id: number }>("found", "select id from places order by place");
  await asAdmin(`create table ${schema}.places (place int8 generated always as identity, id int8)`);
  const ids = Array.from({ length: 50 }, (_, index) => index);
  await database.value.transaction((tx) => {
    // The first write waits for the response to `begin`; a later read must not overtake it.
    for (const id of ids) tx.execute(id % 2 === 0 ? places : count, [id]);
    return Promise.resolve();
  });
  expect(await database.value.query(found, [])).toEqual(ids.filter((id) => id % 2 === 0).map((id) => ({ id })));
});

test("a statement sees the writes of earlier statements that were not awaited", async () => {
  const found = await database.value.transaction((tx) => {
    tx.execute(insert, [35]);
    return tx.query(count, [35]);
  });
  expect(found).toEqual([{ n: 1 }]);
});

test("a failed statement that is not awaited rejects the transaction and rolls it back", async () => {
  await database.value.query(insert, [22]);
  const work = database.value.transaction((tx) => {
    tx.execute(insert, [23]);
    tx.execute(insert, [22]);
    tx.execute(insert, [24]);
    return Promise.resolve("done");
  });
  await expect(work).rejects.toSatisfy((error) => isUniqueViolation(error, "items_pkey"));
  expect(await database.value.query(count, [23])).toEqual([{ n: 0 }]);
  expect(await database.value.query(count, [24])).toEqual([{ n: 0 }]);
});

test("a transaction is rejected with the error of its first failed statement, not with the later error that the transaction is aborted", async () => {
  const work = database.value.transaction(async (tx) => {
    tx.execute(sleep, [5]);
    await tx.query(count, [29]);
  });
  await expect(work).rejects.toThrow("statement timeout");
  await expect(work).rejects.toSatisfy(isTransient);
});

test("a statement that cannot be sent prevents the commit", async () => {
  const unsendable = {
    toPostgres: () => {
      throw new Error("no such value");
    },
  };
  for (const after of [[], [26]]) {
    const work = database.value.transaction(async (tx) => {
      await tx.query(insert, [25]);
      tx.execute(insert, [unsendable]);
      for (const id of after) tx.execute(insert, [id]);
    });
    await expect(work).rejects.toThrow("no such value");
  }
  expect(await database.value.query(count, [25])).toEqual([{ n: 0 }]);
  expect(await database.value.query(count, [26])).toEqual([{ n: 0 }]);
});

test("a transaction sends no statement after its rollback", async () => {
  const work = database.value.transaction((tx) => {
    tx.execute(insert, [27]);
    tx.execute(insert, [28]);
    return Promise.reject(new Error("changed my mind"));
  });
  await expect(work).rejects.toThrow("changed my mind");
  expect(await database.value.query(count, [27])).toEqual([{ n: 0 }]);
  expect(await database.value.query(count, [28])).toEqual([{ n: 0 }]);
});

test("a transaction that could not begin writes nothing", async () => {
  const one = await pool(1, 5_000);
  const query = Reflect.get(Client.prototype, "query") as (...sent: unknown[]) => unknown;
  const refused = vi.spyOn(Client.prototype, "query").mockImplementation(function (this: Client, ...sent: unknown[]) {
    return Reflect.apply(query, this, sent[0] === "begin" ? ["begin nothing"] : sent);
  });
  const works: ((tx: Transaction) => Promise<unknown>)[] = [
    (tx) => tx.query(insert, [31]),
    (tx) => Promise.resolve(tx.execute(insert, [32])),
    (tx) => tx.query(count, [33]).then(() => tx.query(insert, [33])),
    (tx) => Promise.all([tx.query(count, [34]), tx.query(insert, [34])]),
  ];
  for (const work of works) await expect(one.value.transaction(work)).rejects.toThrow("syntax error");
  refused.mockRestore();
  for (const id of [31, 32, 33, 34]) expect(await one.value.query(count, [id])).toEqual([{ n: 0 }]);
  await one.stop();
});

test("a statement after the end of its transaction is rejected", async () => {
  const leaked = await database.value.transaction((tx) => Promise.resolve({ tx }));
  await expect(leaked.tx.query(insert, [30])).rejects.toThrow("after the end of its transaction");
});

test("a connection is kept after a rejected statement, and replaced after its loss", async () => {
  const one = await pool(1, 5_000);
  const before = await one.value.query(backend, []);
  await one.value.query(insert, [40]);
  await expect(one.value.query(insert, [40])).rejects.toSatisfy((error) => isUniqueViolation(error));
  expect(await one.value.query(backend, [])).toEqual(before);
  const lost = one.value.transaction(async (tx) => {
    const [{ pid } = { pid: 0 }] = await tx.query(backend, []);
    await asAdmin(`select pg_terminate_backend(${pid})`);
    await tx.query(count, [40]);
  });
  await expect(lost).rejects.toSatisfy(isTransient);
  expect(await one.value.query(backend, [])).not.toEqual(before);
  await one.stop();
});

test("the database clock follows the database, not the clock of this machine", async () => {
  const real = Date.now();
  const machine = vi.spyOn(Date, "now").mockReturnValue(real + 10 * 60_000);
  const started = await startDatabaseClock(database.value, { logger });
  expect(Math.abs(started.value.nowMs() - real)).toBeLessThan(60_000);
  machine.mockReturnValue(real - 10 * 60_000);
  expect(Math.abs(started.value.nowMs() - real)).toBeLessThan(60_000);
  machine.mockRestore();
  await started.stop();
});

test("a statement ends at its timeout, with a transient error", async () => {
  await expect(database.value.query(sleep, [5])).rejects.toSatisfy(isTransient);
});

test("a stream returns all rows in batches, also to a reader slower than the statement timeout", async () => {
  const sizes: number[] = [];
  let sum = 0;
  for await (const rows of database.value.stream(series, [2_500], 1_000)) {
    sizes.push(rows.length);
    for (const { i } of rows) sum += i;
    await asAdmin("select pg_sleep(0.6)");
  }
  expect(sizes).toEqual([1_000, 1_000, 500]);
  expect(sum).toBe((2_500 * 2_501) / 2);
});

test("a stream returns its connection if the loop ends early", async () => {
  const one = await pool(1, 5_000);
  for await (const rows of one.value.stream(series, [5_000], 10)) {
    expect(rows).toHaveLength(10);
    break;
  }
  expect(await one.value.query(count, [-1])).toEqual([{ n: 0 }]);
  await one.stop();
});
