import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

import type { Logger } from "@kapi/runtime";
import { Client } from "pg";

import { assertIdentifier } from "./identifier.ts";
import { clientOptions, type ServerOptions, unusable } from "./settings.ts";

const CONNECT_TIMEOUT_MS = 10_000;
/** Another process may be at its migrations; this one waits for it so long. */
const LOCK_TIMEOUT_MS = 120_000;
/** One migration file. */
const FILE_TIMEOUT_MS = 600_000;
const FILE_NAME = /^\d{4}_[a-z0-9_]+\.sql$/;
const SERVICE_DIRECTORY = "service";

/** A folder of migration files, and the name under which the database remembers which of them it has. */
export interface MigrationDirectory {
  readonly name: string;
  readonly path: string;
}

export interface MigrateOptions extends ServerOptions {
  /** Created if it is not there. Unqualified names in the files mean this schema. */
  readonly schema: string;
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
 * Brings `schema` up to date: runs each file (0001_x.sql, by number) that the database does not have, in a transaction
 * of its own. Processes that start together take turns. Throws, having changed nothing, if a file that was already
 * applied has another content now, or two files of a folder have one number.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  assertIdentifier(options.schema);
  const files = await readFiles(options);
  const client = new Client({
    ...clientOptions(options),
    application_name: `migrate ${options.schema}`,
    options: `-c search_path=${options.schema}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: LOCK_TIMEOUT_MS,
  });
  client.on("error", (error) => options.logger.warn({ error: error.message }, "the migration's connection was lost"));
  try {
    await client.connect();
  } catch (error) {
    throw unusable(options, error);
  }
  try {
    await client.query("select pg_advisory_lock(hashtextextended($1, 0))", [`kapi migrate ${options.schema}`]);
    await client.query(`set statement_timeout = ${FILE_TIMEOUT_MS}`);
    const pending = await pendingFiles(client, options.schema, files);
    for (const file of pending) {
      await apply(client, file);
      options.logger.info({ schema: options.schema, directory: file.directory, file: file.file }, "migration applied");
    }
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

async function pendingFiles(client: Client, schema: string, files: readonly MigrationFile[]): Promise<MigrationFile[]> {
  await client.query(`create schema if not exists ${schema}`);
  await client.query(
    `create table if not exists schema_migrations (
       directory text not null,
       file text not null,
       checksum text not null,
       applied_at timestamptz not null default now(),
       primary key (directory, file)
     )`,
  );
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

async function apply(client: Client, file: MigrationFile): Promise<void> {
  try {
    await client.query("begin");
    await client.query(file.text);
    await client.query("insert into schema_migrations (directory, file, checksum) values ($1, $2, $3)", [
      file.directory,
      file.file,
      file.checksum,
    ]);
    await client.query("commit");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`migration ${keyOf(file)} failed: ${reason}`, { cause: error });
  }
}

function keyOf(file: MigrationFile): string {
  return `${file.directory}/${file.file}`;
}
