/** A database of command-status with a current month that a test sets. */
import { startPool, type Database, migrate, statement } from "@kapi/postgres";
import { createLogger, Scope } from "@kapi/runtime";
import { createTestEnvironment } from "@kapi/testkit";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const MIGRATIONS = path.resolve(import.meta.dirname, "../migrations");
const SCHEMA = "command_status";
const CONNECTIONS = 8;
export const logger = createLogger({ service: "test", level: "error" });

export interface MonthsDatabase {
  readonly database: Database;
  /** Runs every migration up to the number `last` ("0002"), by default all. */
  migrateTo(last?: string): Promise<void>;
  /** Sets the current month of the database, as its first day (YYYY-MM-DD). */
  setMonth(month: string): Promise<void>;
  /** Runs SQL, given as text, and returns its rows. */
  sql<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  stop(): Promise<void>;
}

/** Creates an empty database. */
export async function createMonthsDatabase(): Promise<MonthsDatabase> {
  const scope = new Scope();
  const environment = await createTestEnvironment({ needs: ["postgres"] });
  const { postgresUrl: connectionString } = environment;
  const migrateTo = (last = "9999"): Promise<void> => {
    const directory = mkdtempSync(path.join(tmpdir(), "kapi-migrations-"));
    const isCopied = (name: string): boolean => name.slice(0, last.length) <= last || name === "corrected.json";
    for (const file of readdirSync(MIGRATIONS).filter(isCopied))
      cpSync(path.join(MIGRATIONS, file), path.join(directory, file));
    return migrate({ connectionString, schema: SCHEMA, directory, logger }).finally(() =>
      rmSync(directory, { recursive: true }),
    );
  };
  const database = await scope.start("postgres", () =>
    startPool({
      connectionString,
      schema: SCHEMA,
      applicationName: "test",
      max: CONNECTIONS,
      genericPlans: true,
      logger,
    }),
  );
  let statements = 0;
  const sql = <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    database.query(statement<Row>(`test_sql_${(statements += 1)}`, text), values);
  return {
    database,
    migrateTo,
    sql,
    setMonth: async (month) => {
      await sql(
        `create or replace function current_command_month() returns date language sql stable return date '${month}'`,
      );
    },
    stop: async () => {
      await scope.stop();
      await environment.stop();
    },
  };
}
