import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

import { delay } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";
import { Client } from "pg";

import { assertIdentifier } from "./identifier.ts";
import { grantRows, ownershipOf } from "./service-role.ts";
import { clientOptions, type ServerOptions, unusable } from "./settings.ts";

const CONNECT_TIMEOUT_MS = 10_000;
/** Another process may be at its migrations; this one waits for it so long, and looks so often. */
const TURN_TIMEOUT_MS = 120_000;
const TURN_POLL_MS = 100;
/**
 * How long a file waits for a table that running processes use. As long as it waits, every later
 * statement on the table waits behind it; so it gives way after this time, and tries again.
 */
const TABLE_LOCK_TIMEOUT_MS = 1_000;
const TABLE_LOCK_TRIES = 60;
const TABLE_LOCK_PAUSE_MS = 1_000;
const LOCK_NOT_AVAILABLE = "55P03";
/** One migration file. */
const FILE_TIMEOUT_MS = 600_000;
const FILE_NAME = /^\d{4}_[a-z0-9_]+\.sql$/;
const SERVICE_DIRECTORY = "service";
/**
 * The first line of a file whose one statement cannot run in a transaction, such as
 * `create index concurrently`.
 */
const NO_TRANSACTION = "-- no transaction";

/**
 * A folder of migration files, and the name under which the database remembers which of them it
 * has.
 */
export interface MigrationDirectory {
  readonly name: string;
  readonly path: string;
}

export interface MigrateOptions extends ServerOptions {
  /** Created if it is not there. Unqualified names in the files mean this schema. */
  readonly schema: string;
  /**
   * The role that the service has its rows by, where that is another than the one that runs the
   * migrations.
   */
  readonly serviceRole?: string;
  /** Tables whose rows `serviceRole` inserts and selects, and never changes or deletes. */
  readonly appendOnly?: readonly string[];
  /** One folder, remembered as "service". */
  readonly directory?: string;
  /** Further folders, after `directory`, in this order. */
  readonly directories?: readonly MigrationDirectory[];
  readonly logger: Logger;
}

interface MigrationFile {
  readonly directory: string;
  readonly file: string;
  readonly text: string;
  readonly checksum: string;
}

/**
 * Brings `schema` up to date: runs each file (0001_x.sql, by number) that the database does not
 * have, in a transaction of its own (without one where its first line is {@link NO_TRANSACTION}).
 * Processes that start together take turns. A file that waits holds up processes that run meanwhile
 * for {@link TABLE_LOCK_TIMEOUT_MS} at most. Throws, having changed nothing, if a file that was
 * already applied has another content now, or two files of a folder have one number.
 *
 * A schema in which this role may not create tables is looked at alone, as a service does that has
 * its rows by a role of its own: throws where a file was not applied yet.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  assertIdentifier(options.schema);
  const files = await readFiles(options);
  const client = new Client({
    ...clientOptions(options),
    application_name: `migrate ${options.schema}`,
    options: `-c search_path=${options.schema}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: FILE_TIMEOUT_MS,
  });
  client.on("error", (error) => options.logger.warn({ error: error.message }, "the migration's connection was lost"));
  try {
    await client.connect();
  } catch (error) {
    throw unusable(options, error);
  }
  try {
    const ownership = await ownershipOf(client, options.schema);
    if (ownership === "another's") return await assertApplied(client, options.schema, files);
    await takeTurn(client, options.schema);
    if (ownership === "missing") await client.query(`create schema if not exists ${options.schema}`);
    await prepareRecord(client);
    const pending = await pendingFiles(client, options.schema, files);
    for (const file of pending) {
      await apply(client, options.schema, file);
      options.logger.info({ schema: options.schema, directory: file.directory, file: file.file }, "migration applied");
    }
    const { schema, serviceRole, appendOnly = [] } = options;
    if (serviceRole !== undefined) await grantRows(client, schema, serviceRole, appendOnly);
  } finally {
    // Ending the session also gives the advisory lock back.
    await client.end();
  }
}

async function readFiles(options: MigrateOptions): Promise<MigrationFile[]> {
  const own = options.directory === undefined ? [] : [{ name: SERVICE_DIRECTORY, path: options.directory }];
  const files: MigrationFile[] = [];
  for (const directory of [...own, ...(options.directories ?? [])]) {
    const names = (await readdir(directory.path)).filter((name) => name.endsWith(".sql")).sort();
    assertNames(directory.path, names);
    for (const file of names) {
      const text = await readFile(path.join(directory.path, file), "utf8");
      const checksum = createHash("sha256").update(text).digest("hex");
      files.push({ directory: directory.name, file, text, checksum });
    }
  }
  return files;
}

function assertNames(directory: string, names: readonly string[]): void {
  const numbers = new Set<string>();
  for (const name of names) {
    if (!FILE_NAME.test(name))
      throw new Error(`${path.join(directory, name)}: migrations are named 0001_what_it_does.sql`);
    const number = name.slice(0, 4);
    if (numbers.has(number)) throw new Error(`${directory} has two migrations numbered ${number}`);
    numbers.add(number);
  }
}

async function assertApplied(client: Client, schema: string, files: readonly MigrationFile[]): Promise<void> {
  const pending = await pendingFiles(client, schema, files);
  if (pending.length === 0) return;
  throw new Error(
    `schema ${schema} lacks the migrations ${pending.map(keyOf).join(", ")}, and this role may not run them: ` +
      "run the program with the argument migrate by the role that owns the schema",
  );
}

async function prepareRecord(client: Client): Promise<void> {
  await client.query(
    `create table if not exists schema_migrations (
       directory text not null,
       file text not null,
       checksum text not null,
       applied_at timestamptz not null default now(),
       primary key (directory, file)
     )`,
  );
}

async function pendingFiles(client: Client, schema: string, files: readonly MigrationFile[]): Promise<MigrationFile[]> {
  const { rows } = await client.query<{ directory: string; file: string; checksum: string }>(
    "select directory, file, checksum from schema_migrations",
  );
  const applied = new Map(rows.map((row) => [`${row.directory}/${row.file}`, row.checksum]));
  const changed = files.filter((file) => (applied.get(keyOf(file)) ?? file.checksum) !== file.checksum);
  if (changed.length > 0) {
    throw new Error(
      `migrations of schema ${schema} were changed after they had been applied: ${changed.map(keyOf).join(", ")}; ` +
        "put them back and write a new one",
    );
  }
  return files.filter((file) => !applied.has(keyOf(file)));
}

/**
 * Never waits inside a statement: an index that another process builds concurrently would wait for
 * its end in turn.
 */
async function takeTurn(client: Client, schema: string): Promise<void> {
  const name = `kapi migrate ${schema}`;
  for (let waitedMs = 0; waitedMs < TURN_TIMEOUT_MS; waitedMs += TURN_POLL_MS) {
    const question = "select pg_try_advisory_lock(hashtextextended($1, 0)) as mine";
    const { rows } = await client.query<{ mine: boolean }>(question, [name]);
    if (rows[0]?.mine === true) return;
    await delay(TURN_POLL_MS);
  }
  throw new Error(`another process has been migrating schema ${schema} for ${TURN_TIMEOUT_MS} ms`);
}

async function apply(client: Client, schema: string, file: MigrationFile): Promise<void> {
  try {
    if (file.text.startsWith(NO_TRANSACTION)) await applyAlone(client, schema, file);
    else await applyInTransaction(client, file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`migration ${keyOf(file)} failed: ${reason}`, { cause: error });
  }
}

async function applyInTransaction(client: Client, file: MigrationFile): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await client.query("begin");
      await client.query(`set local lock_timeout = ${TABLE_LOCK_TIMEOUT_MS}`);
      await client.query(file.text);
      await remember(client, file);
      await client.query("commit");
      return;
    } catch (error) {
      const isLocked = error instanceof Error && "code" in error && error.code === LOCK_NOT_AVAILABLE;
      if (!isLocked || tries === TABLE_LOCK_TRIES) throw error;
      await client.query("rollback");
      await delay(TABLE_LOCK_PAUSE_MS);
    }
  }
}

/** One statement; where it was broken off it is run again, so it says `if not exists`. */
async function applyAlone(client: Client, schema: string, file: MigrationFile): Promise<void> {
  // An index whose building was broken off serves nobody, and keeps its name.
  const { rows } = await client.query<{ index: string }>(
    `select quote_ident(pg_class.relname) as index
     from pg_index join pg_class on pg_class.oid = indexrelid join pg_namespace on pg_namespace.oid = relnamespace
     where nspname = $1 and relkind = 'i' and not indisvalid`,
    [schema],
  );
  for (const { index } of rows) await client.query(`drop index concurrently ${schema}.${index}`);
  await client.query(file.text);
  await remember(client, file);
}

async function remember(client: Client, { directory, file, checksum }: MigrationFile): Promise<void> {
  const text = "insert into schema_migrations (directory, file, checksum) values ($1, $2, $3)";
  await client.query(text, [directory, file, checksum]);
}

function keyOf(file: MigrationFile): string {
  return `${file.directory}/${file.file}`;
}
