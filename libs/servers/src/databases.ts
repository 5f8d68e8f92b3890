import { assert } from "@kapi/kernel";
import { Client } from "pg";

const CONNECT_TIMEOUT_MS = 10_000;
const STATEMENT_TIMEOUT_MS = 30_000;
const DUPLICATE_DATABASE = "42P04";

/** `postgresUrl` with `database` in place of its database. */
export function databaseUrl(postgresUrl: string, database: string): string {
  const url = new URL(postgresUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/**
 * Creates a database on the server of `postgresUrl`, unless it exists, and returns its URL. With
 * `template` the new database is a copy of the database `template`.
 */
export async function createDatabase(postgresUrl: string, database: string, template?: string): Promise<string> {
  const copy = template === undefined ? "" : ` template ${quoted(template)}`;
  try {
    await statement(postgresUrl, `create database ${quoted(database)}${copy}`);
  } catch (error) {
    if ((error as { code?: unknown }).code !== DUPLICATE_DATABASE) throw error;
  }
  return databaseUrl(postgresUrl, database);
}

/** Drops a database, if it exists, and closes every connection to it. */
export async function dropDatabase(postgresUrl: string, database: string): Promise<void> {
  await statement(postgresUrl, `drop database if exists ${quoted(database)} with (force)`);
}

async function statement(postgresUrl: string, text: string): Promise<void> {
  const client = new Client({
    connectionString: databaseUrl(postgresUrl, "postgres"),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: STATEMENT_TIMEOUT_MS,
  });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

function quoted(name: string): string {
  assert(/^[a-z_][a-z0-9_]{0,62}$/.test(name), `invalid name of a database: ${name}`);
  return `"${name}"`;
}
