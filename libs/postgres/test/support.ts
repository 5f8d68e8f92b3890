import { randomBytes } from "node:crypto";

import { createLogger, type Logger } from "@kapi/runtime";
import { Client } from "pg";

export const logger: Logger = createLogger({ service: "postgres-test", level: "silent" });

/** Address of the PostgreSQL of the test run. */
export function connectionString(): string {
  const url = process.env["POSTGRES_URL"];
  if (url === undefined) throw new Error("POSTGRES_URL is not set: run the tests with npm test");
  return url;
}

/** A unique schema name; `drop` drops the schema. */
export function ownSchema(): { schema: string; drop: () => Promise<void> } {
  const schema = `test_${randomBytes(6).toString("hex")}`;
  return { schema, drop: () => asAdmin(`drop schema if exists ${schema} cascade`).then(() => undefined) };
}

/** Runs SQL on a new connection. */
export async function asAdmin(sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: connectionString() });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return rows;
  } finally {
    await client.end();
  }
}
