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
/** How long and how often this process checks whether another process has ended its migrations. */
const TURN_TIMEOUT_MS = 120_000;
const TURN_POLL_MS = 100;
/**
 * How long a file waits for a table that running processes use. Later statements on the table wait
 * behind the file. So the file stops waiting after this time, and is retried.
 */
const TABLE_LOCK_TIMEOUT_MS = 1_000;
const TABLE_LOCK_TRIES = 60;
const TABLE_LOCK_PAUSE_MS = 1_000;
const LOCK_NOT_AVAILABLE = "55P03";
/** Timeout of a migration file, and of each of its statements on the server. */
const FILE_TIMEOUT_MS = 600_000;
/**
 * A dead server cannot report that a statement timed out. So the client has its own timeout, which
 * ends this much later.
 */
const ANSWER_MARGIN_MS = 1_000;
/** A server that vanishes during a long statement is noticed some seconds after this time. */
const KEEP_ALIVE_MS = 10_000;
const END_DEADLINE_MS = 5_000;
const FILE_NAME = /^\d{4}_[a-z0-9_]+\.sql$/;
const SERVICE_DIRECTORY = "service";
/**
 * The first line of a file with one statement that cannot run in a transaction, such as
 * `create index concurrently`.
 */
const NO_TRANSACTION = "-- no transaction";
/** In a folder: its files whose comments were corrected, by name ({@link CorrectedFile}). */
const CORRECTED_FILES = "corrected.json";
const COMMENT_OR_EMPTY = /^\s*(?:--|$)/;

/** A folder of migration files, and its name in the database's record of applied files. */
export interface MigrationDirectory {
  readonly name: string;
  readonly path: string;
}

/** A schema, its migration files, and the rights that the service's own role gets. */
export interface MigrateOptions extends ServerOptions {
  /** Created if it does not exist. Unqualified names in the files mean this schema. */
  readonly schema: string;
  /** The role with which the service reads and writes rows, if another role runs the migrations. */
  readonly serviceRole?: string;
  /** Tables in which `serviceRole` may insert and select rows, but not change or delete them. */
  readonly appendOnly?: readonly string[];
  /** One folder, recorded as "service". */
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

/** A file whose comments were corrected after databases had applied it. */
interface CorrectedFile {
  /** SHA-256 of the file before the correction, which databases have recorded. */
  readonly checksum: string;
  /** SHA-256 of the lines that are neither comments nor empty, each with its line end. */
  readonly statements: string;
}

/**
 * Brings `schema` up to date: runs each file (0001_x.sql, by number) that was not applied yet. Each
 * file has its own transaction, unless its first line is {@link NO_TRANSACTION}. Processes that
 * start together take turns. A file that waits for a table in its transaction delays running
 * processes for at most {@link TABLE_LOCK_TIMEOUT_MS}, and is then retried. Throws before it
 * applies any file if an applied file has changed (except comments of a {@link CorrectedFile}), a
 * file has an invalid name, or two files of a folder have one number.
 *
 * A role that may not create tables in the schema, such as a service's own role, only checks the
 * schema: `migrate` throws if a file was not applied yet.
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
    query_timeout: FILE_TIMEOUT_MS + ANSWER_MARGIN_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
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
    // The end of the session also releases the advisory lock.
    await Promise.race([client.end(), delay(END_DEADLINE_MS)]);
  }
}

async function readFiles(options: MigrateOptions): Promise<MigrationFile[]> {
  const own = options.directory === undefined ? [] : [{ name: SERVICE_DIRECTORY, path: options.directory }];
  const files: MigrationFile[] = [];
  for (const directory of [...own, ...(options.directories ?? [])]) {
    const entries = await readdir(directory.path);
    const names = entries.filter((name) => name.endsWith(".sql")).sort();
    assertNames(directory.path, names);
    const correctedFile = path.join(directory.path, CORRECTED_FILES);
    const corrected = entries.includes(CORRECTED_FILES)
      ? (JSON.parse(await readFile(correctedFile, "utf8")) as Record<string, CorrectedFile>)
      : {};
    for (const file of names) {
      const text = await readFile(path.join(directory.path, file), "utf8");
      const checksum = checksumOf(path.join(directory.path, file), text, corrected[file]);
      files.push({ directory: directory.name, file, text, checksum });
    }
  }
  return files;
}

/**
 * The checksum that a database records for the file. Throws if more than comments was corrected.
 */
function checksumOf(file: string, text: string, corrected: CorrectedFile | undefined): string {
  if (corrected === undefined) return sha256(text);
  const statements = text.split("\n").filter((line) => !COMMENT_OR_EMPTY.test(line));
  if (sha256(statements.map((line) => `${line}\n`).join("")) !== corrected.statements)
    throw new Error(`${file}: the statements changed, but ${CORRECTED_FILES} allows changes of comments only`);
  return corrected.checksum;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
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
        "restore these files and write a new migration",
    );
  }
  return files.filter((file) => !applied.has(keyOf(file)));
}

/**
 * Polls for the lock: if a statement waited for it, a concurrent index build of another process
 * would wait for that statement.
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

/** Runs a file of one statement, with `if not exists`: after a failure it can safely run again. */
async function applyAlone(client: Client, schema: string, file: MigrationFile): Promise<void> {
  // An interrupted build leaves an invalid index, because of which `if not exists` would skip the
  // build. All invalid indexes of the schema are dropped.
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
