import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

import { delay } from "@kapi/kernel";
import { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";

import { migrate } from "../src/index.ts";
import { asAdmin, connectionString, logger, ownSchema } from "./support.ts";

const POLL_MS = 10;

let directory: string;
let schema: string;
let drop: () => Promise<void>;

beforeEach(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), "migrations-"));
  ({ schema, drop } = ownSchema());
});
afterEach(async () => {
  await drop();
  await rm(directory, { recursive: true });
});

function up(more: { directories?: { name: string; path: string }[] } = {}): Promise<void> {
  return migrate({ connectionString: connectionString(), schema, directory, logger, ...more });
}

async function write(name: string, sql: string): Promise<void> {
  await writeFile(path.join(directory, name), sql);
}

test("processes that start together apply each file once, in order", async () => {
  await write("0002_fill.sql", "insert into items values (1)");
  await write("0001_create.sql", "create table items (id int primary key)");
  await Promise.all([up(), up(), up()]);
  await up();
  expect(await asAdmin(`select id from ${schema}.items`)).toEqual([{ id: 1 }]);
});

test("an applied file that was changed stops the start with its name, and nothing else is applied", async () => {
  await write("0001_create.sql", "create table items (id int)");
  await up();
  await write("0001_create.sql", "create table items (id bigint)");
  await write("0002_more.sql", "create table more (id int)");
  await expect(up()).rejects.toThrow("service/0001_create.sql");
  expect(await asAdmin(`select to_regclass('${schema}.more') as found`)).toEqual([{ found: null }]);
});

test("a file that fails leaves nothing behind, and those before it stay", async () => {
  await write("0001_create.sql", "create table items (id int)");
  await write("0002_broken.sql", "create table half (id int); select no_such_function()");
  await expect(up()).rejects.toThrow("service/0002_broken.sql");
  const found = await asAdmin(
    `select to_regclass('${schema}.items')::text as items, to_regclass('${schema}.half') as half`,
  );
  expect(found).toEqual([{ items: `${schema}.items`, half: null }]);
});

test("a library's folder feeds the same schema under its own name", async () => {
  await write("0001_create.sql", "create table items (id int)");
  const library = await mkdtemp(path.join(os.tmpdir(), "migrations-"));
  await writeFile(path.join(library, "0001_create.sql"), "create table inbox (id int)");
  await up({ directories: [{ name: "commands", path: library }] });
  await rm(library, { recursive: true });
  const rows = await asAdmin(`select directory, file from ${schema}.schema_migrations order by directory`);
  expect(rows).toEqual([
    { directory: "commands", file: "0001_create.sql" },
    { directory: "service", file: "0001_create.sql" },
  ]);
});

test("files with a wrong name, or two with one number, are refused before anything is done", async () => {
  await write("1_create.sql", "select 1");
  await expect(up()).rejects.toThrow("1_create.sql");
  await rm(path.join(directory, "1_create.sql"));
  await write("0001_a.sql", "select 1");
  await write("0001_b.sql", "select 1");
  await expect(up()).rejects.toThrow("two migrations numbered 0001");
});

test("a file that waits for a table gives way to those who use it, and is applied when the table is free", async () => {
  await write("0001_create.sql", "create table items (id int primary key)");
  await up();
  await write("0002_more.sql", "alter table items add column name text");
  const reader = new Client({ connectionString: connectionString() });
  await reader.connect();
  try {
    await reader.query(`begin; select * from ${schema}.items`);
    const migrated = up();
    const waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'alter table items%'";
    while ((await asAdmin(waits)).length === 0) await delay(POLL_MS);
    // It comes after the migration, and is answered before the reader's transaction ends.
    expect(await asAdmin(`select count(*)::int as items from ${schema}.items`)).toEqual([{ items: 0 }]);
    await reader.query("commit");
    await migrated;
  } finally {
    await reader.end();
  }
  expect(await asAdmin(`select id, name from ${schema}.items`)).toEqual([]);
});

test("an index is built beside those who write, by one of several processes, also where an earlier try was broken off", async () => {
  await write("0001_create.sql", "create table items (id int); insert into items values (1), (1)");
  await up();
  await write(
    "0002_index.sql",
    "-- no transaction\ncreate unique index concurrently if not exists items_id on items (id)",
  );
  // The rows are not unique: the index stays behind, and is not valid.
  await expect(up()).rejects.toThrow("service/0002_index.sql");
  await asAdmin(`delete from ${schema}.items`);
  await Promise.all([up(), up(), up()]);
  const valid = `select indisvalid from pg_index where indexrelid = '${schema}.items_id'::regclass`;
  expect(await asAdmin(valid)).toEqual([{ indisvalid: true }]);
});
