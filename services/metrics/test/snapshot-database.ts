import { fileURLToPath } from "node:url";

import { type Database, migrate, startPool } from "@kapi/postgres";
import { createLogger, type Scope } from "@kapi/runtime";
import { createTestEnvironment } from "@kapi/testkit";

/** Creates and migrates the database of the metrics service. No service runs. Ends with `scope`. */
export async function startSnapshotDatabase(scope: Scope): Promise<Database> {
  const environment = await createTestEnvironment({ needs: ["postgres"] });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const connectionString = environment.postgresUrl;
  const logger = createLogger({ service: "test", level: "error" });
  const directory = fileURLToPath(new URL("../migrations", import.meta.url));
  await migrate({ connectionString, schema: "metrics", directory, logger });
  return scope.start("database", () =>
    startPool({ connectionString, schema: "metrics", applicationName: "test", logger }),
  );
}
