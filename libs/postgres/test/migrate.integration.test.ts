import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

import { delay } from "@kapi/kernel";
import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { migrate } from "../src/index.ts";
import { asAdmin, connectionString, logger, ownSchema } from "./support.ts";

const POLL_MS = 10;
/** A function like those with which services create partitions. */
const MAKE_TABLE = `
  select set_config('search_path', current_schema() || ', pg_temp', true);
  create function make_table(name text) returns void language plpgsql
  security definer set search_path from current as $$
  begin
    execute format('create table %I (like items including all)', name);
  end $$;
`;

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

test("processes that start together apply each migration file once, in order", async () => {
  await write("0002_fill.sql", "insert into items values (1)");
  await write("0001_create.sql", "create table items (id int primary key)");
  await Promise.all([up(), up(), up()]);
  await up();
  expect(await asAdmin(`select id from ${schema}.items`)).toEqual([{ id: 1 }]);
});

test("if an applied migration file was changed, the error names the file, and no other file is applied", async () => {
  await write("0001_create.sql", "create table items (id int)");
  await up();
  await write("0001_create.sql", "create table items (id bigint)");
  await write("0002_more.sql", "create table more (id int)");
  await expect(up()).rejects.toThrow("service/0001_create.sql");
  expect(await asAdmin(`select to_regclass('${schema}.more') as found`)).toEqual([{ found: null }]);
});

test("corrected comments of an applied migration file are accepted only if corrected.json names the file; the former file is accepted too", async () => {
  const former = "-- old words\ncreate table items (id int);\n";
  await write("0001_create.sql", former);
  await up();
  await write("0001_create.sql", "-- plain words\n\n-- in two lines\ncreate table items (id int);\n");
  await expect(up()).rejects.toThrow("service/0001_create.sql");
  const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
  const entry = { checksum: sha256(former), statements: sha256("create table items (id int);\n") };
  await write("corrected.json", JSON.stringify({ "0001_create.sql": entry }));
  await up();
  // A database that applies the corrected file records the checksum of the former file, which
  // processes of the previous release have.
  await asAdmin(`drop schema ${schema} cascade`);
  await up();
  await write("0001_create.sql", former);
  await up();
  await write("0001_create.sql", "-- plain words\ncreate table items (id bigint);\n");
  await expect(up()).rejects.toThrow("0001_create.sql: the statements changed");
});

test("a migration file that fails changes nothing, and earlier files stay applied", async () => {
  await write("0001_create.sql", "create table items (id int)");
  await write("0002_broken.sql", "create table half (id int); select no_such_function()");
  await expect(up()).rejects.toThrow("service/0002_broken.sql");
  const found = await asAdmin(
    `select to_regclass('${schema}.items')::text as items, to_regclass('${schema}.half') as half`,
  );
  expect(found).toEqual([{ items: `${schema}.items`, half: null }]);
});

test("migration files of a library's folder are applied to the same schema, and recorded with the folder's name", async () => {
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

test("a migration file with an invalid name is rejected, and so are two files with the same number", async () => {
  await write("1_create.sql", "select 1");
  await expect(up()).rejects.toThrow("1_create.sql");
  await rm(path.join(directory, "1_create.sql"));
  await write("0001_a.sql", "select 1");
  await write("0001_b.sql", "select 1");
  await expect(up()).rejects.toThrow("two migrations numbered 0001");
});

test("a migration that waits for a table blocks other readers only for a moment, and is applied when the table is free", async () => {
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
    // This read waits behind the migration, and is answered before the reader's transaction ends.
    expect(await asAdmin(`select count(*)::int as items from ${schema}.items`)).toEqual([{ items: 0 }]);
    await reader.query("commit");
    await migrated;
  } finally {
    await reader.end();
  }
  expect(await asAdmin(`select id, name from ${schema}.items`)).toEqual([]);
});

test("a migration without a transaction builds its index again after a failed build, also if several processes start together", async () => {
  await write("0001_create.sql", "create table items (id int); insert into items values (1), (1)");
  await up();
  await write(
    "0002_index.sql",
    "-- no transaction\ncreate unique index concurrently if not exists items_id on items (id)",
  );
  // The rows are not unique: the build fails and leaves an invalid index.
  await expect(up()).rejects.toThrow("service/0002_index.sql");
  await asAdmin(`delete from ${schema}.items`);
  await Promise.all([up(), up(), up()]);
  const valid = `select indisvalid from pg_index where indexrelid = '${schema}.items_id'::regclass`;
  expect(await asAdmin(valid)).toEqual([{ indisvalid: true }]);
});

describe("in a schema of another owner", () => {
  const name = `role_${randomBytes(6).toString("hex")}`;
  const url = new URL(connectionString());
  const asRole = (serviceRole?: string): Promise<void> => {
    const role = serviceRole === undefined ? {} : { serviceRole };
    return migrate({ connectionString: url.href, schema, directory, logger, ...role });
  };

  beforeEach(async () => {
    [url.username, url.password] = [name, "secret"];
    await asAdmin(`create role ${name} login password 'secret'`);
    await asAdmin(`create role ${name}_service`);
    await asAdmin(`create schema ${schema}`);
    await write("0001_create.sql", "create table items (id int)");
  });
  afterEach(async () => {
    for (const role of [`${name}_service`, name]) {
      await asAdmin(`drop owned by ${role}`);
      await asAdmin(`drop role ${role}`);
    }
  });

  test("a role that may create tables runs the migrations", async () => {
    await asAdmin(`grant usage, create on schema ${schema} to ${name}`);
    await asRole();
    await write("0002_more.sql", "create table more (id int)");
    await asRole();
    expect(
      await asAdmin(`select tableowner from pg_tables where tablename = 'more' and schemaname = '${schema}'`),
    ).toEqual([{ tableowner: name }]);
  });

  test("only the owner can grant rights to a service's role; the error tells another role how to become the owner", async () => {
    await asAdmin(`grant usage, create on schema ${schema} to ${name}`);
    await expect(asRole(`${name}_service`)).rejects.toThrow(`alter schema ${schema} owner to ${name}`);
    await asAdmin(`alter schema ${schema} owner to ${name}`);
    await asRole(`${name}_service`);
    const usable = `select has_schema_privilege('${name}_service', '${schema}', 'usage') as usable`;
    expect(await asAdmin(usable)).toEqual([{ usable: true }]);
  });
});

describe("a service with its own role", () => {
  const name = `role_${randomBytes(6).toString("hex")}`;
  const url = new URL(connectionString());
  const run = async (sql: string): Promise<unknown[]> => {
    const client = new Client({ connectionString: url.href, options: `-c search_path=${schema}` });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  };

  beforeEach(async () => {
    [url.username, url.password] = [name, "secret"];
    await asAdmin(`create role ${name} login password 'secret'`);
    await write("0001_create.sql", "create table items (id int generated always as identity, name text)");
    await write("0002_days.sql", MAKE_TABLE);
  });
  afterEach(async () => {
    await asAdmin(`drop owned by ${name}`);
    await asAdmin(`drop role ${name}`);
  });

  const asOwner = (appendOnly: readonly string[] = []): Promise<void> =>
    migrate({ connectionString: connectionString(), schema, directory, serviceRole: name, appendOnly, logger });
  const asService = (): Promise<void> => migrate({ connectionString: url.href, schema, directory, logger });

  test("reads and writes its rows, and starts if every migration was applied", async () => {
    await asOwner();
    await asService();
    await run("insert into items (name) values ('one')");
    await run("update items set name = 'two'");
    expect(await run("select name from items")).toEqual([{ name: "two" }]);
    await run("delete from items");
  });

  test("cannot change tables, triggers or the record of migrations", async () => {
    await asOwner();
    for (const sql of [
      "alter table items add column more text",
      "alter table items disable trigger all",
      "drop table items",
      "truncate items",
      "create table mine (id int)",
      "delete from schema_migrations",
      "insert into schema_migrations values ('service', '0003_no.sql', 'x')",
    ])
      await expect(run(sql), sql).rejects.toThrow(/permission denied|must be owner/);
  });

  test("only inserts and selects rows of an append-only table, even after a grant of all rights", async () => {
    await asOwner();
    await asOwner(["items"]);
    await run("insert into items (name) values ('one')");
    for (const sql of [
      "update items set name = 'two'",
      "delete from items",
      "truncate items",
      "alter table items disable trigger all",
    ])
      await expect(run(sql), sql).rejects.toThrow(/permission denied|must be owner/);
    expect(await run("select name from items")).toEqual([{ name: "one" }]);
  });

  test("creates a table with the owner's function and inserts rows; a temporary table of the same name does not prevent the creation", async () => {
    await asOwner();
    await run("select make_table('items_20260101')");
    await run("insert into items_20260101 (name) values ('one')");
    await run("create temp table items_20260102 (id int); select make_table('items_20260102')");
    expect(await asAdmin(`select to_regclass('${schema}.items_20260102')::text as made`)).toEqual([
      { made: `${schema}.items_20260102` },
    ]);
  });

  test("inserts rows into a table that a function created, even if the function's owner did not run the migrations", async () => {
    await migrate({ connectionString: connectionString(), schema, directory, logger });
    const owner = `${name}_owner`;
    await asAdmin(`create role ${owner}`);
    await asAdmin(`alter schema ${schema} owner to ${owner}`);
    await asAdmin(`alter table ${schema}.items owner to ${owner}`);
    await asAdmin(`alter function ${schema}.make_table owner to ${owner}`);
    await asOwner();
    await run("select make_table('items_20260103')");
    await run("insert into items_20260103 (name) values ('one')");
    await asAdmin(`reassign owned by ${owner} to current_user`);
    await asAdmin(`drop owned by ${owner}`);
    await asAdmin(`drop role ${owner}`);
  });

  test("cannot read the schema of another service", async () => {
    await asOwner();
    const other = ownSchema();
    await migrate({ connectionString: connectionString(), schema: other.schema, directory, logger });
    await expect(run(`select from ${other.schema}.items`)).rejects.toThrow("permission denied for schema");
    await other.drop();
  });

  test("does not start without rights or with a missing migration, and says what to do", async () => {
    await migrate({ connectionString: connectionString(), schema, directory, logger });
    await expect(asService()).rejects.toThrow(`POSTGRES_SERVICE_ROLE=${name}`);
    await asOwner();
    await write("0003_more.sql", "create table more (id int)");
    await expect(asService()).rejects.toThrow("lacks the migrations service/0003_more.sql");
    await asOwner();
    await asService();
    await run("insert into more values (1)");
  });
});
