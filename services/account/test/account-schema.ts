import { fileURLToPath } from "node:url";
import { COMMANDS_MIGRATIONS } from "@kapi/commands";
import { startPool, type Database, type PoolOptions, migrate } from "@kapi/postgres";
import { createLogger } from "@kapi/runtime";
import { createTestEnvironment } from "@kapi/testkit";

const DIRECTORY = fileURLToPath(new URL("../migrations", import.meta.url));

/**
 * The schema of the account service in a separate test database, without the tables of
 * `libs/digests`.
 */
export interface AccountSchema {
  readonly database: Database;
  /** Options of a connection pool. */
  readonly pool: Pick<PoolOptions, "connectionString" | "schema" | "applicationName" | "logger">;
  stop(): Promise<void>;
}

/** Creates the schema. `stop` also stops its test environment. */
export async function startAccountSchema(): Promise<AccountSchema> {
  const environment = await createTestEnvironment({ needs: ["postgres"] });
  const logger = createLogger({ service: "test", level: "error" });
  const pool = { connectionString: environment.postgresUrl, schema: "account", applicationName: "test", logger };
  await migrate({ ...pool, directory: DIRECTORY, directories: [COMMANDS_MIGRATIONS] });
  const { value: database, stop } = await startPool(pool);
  return {
    database,
    pool,
    stop: async () => {
      await stop();
      await environment.stop();
    },
  };
}
