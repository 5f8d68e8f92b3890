/** The PostgreSQL schema of a service: its migrations and its connections. */
import {
  type Database,
  isUnreachable,
  migrate,
  type MigrateOptions,
  migrationOptions,
  postgresOptions,
  startPool,
} from "@kapi/postgres";
import type { MainContext, MigrationContext, PostgresSettings, Started } from "@kapi/runtime";

import { connectWhenReachable } from "./reach.ts";

/** The schema that a service owns. */
export interface ServiceSchema extends Pick<MigrateOptions, "directory" | "directories" | "appendOnly"> {
  /** Name of the service, shown by PostgreSQL for each of its connections. */
  readonly service: string;
  /** Name of the schema. */
  readonly schema: string;
}

/** Settings of a service that has a schema. */
export type DatabaseSettings = PostgresSettings & { readonly POSTGRES_POOL_SIZE: number };

/** Options of {@link startDatabase}. */
export interface DatabaseOptions {
  /** Whether the process is ready while PostgreSQL does not answer. Default false. */
  readonly isReadyWithout?: boolean;
  /** Plans each statement once, for any values. Default false. */
  readonly genericPlans?: boolean;
}

/**
 * Brings the schema of a service up to date: the command "migrate", and the first step of every
 * start. Waits a limited time for a PostgreSQL that does not answer.
 * @throws what `migrate` of `@kapi/postgres` throws.
 */
export function migrateSchema(
  { service: _service, ...schema }: ServiceSchema,
  { config, logger }: MigrationContext,
): Promise<void> {
  const run = (): Promise<void> => migrate({ ...migrationOptions(config), ...schema, logger });
  return connectWhenReachable("postgres", run, isUnreachable, logger);
}

/**
 * Migrates the schema, and starts the connections to it. Waits a limited time for a PostgreSQL that
 * does not answer.
 * @throws if PostgreSQL cannot be used, or a migration fails.
 */
export async function startDatabase(
  context: Pick<MainContext<DatabaseSettings>, "config" | "scope" | "logger" | "health">,
  schema: ServiceSchema,
  { isReadyWithout = false, genericPlans = false }: DatabaseOptions = {},
): Promise<Database> {
  const { config, scope, logger, health } = context;
  await migrateSchema(schema, context);
  const connect = (): Promise<Started<Database>> =>
    startPool({
      ...postgresOptions(config),
      schema: schema.schema,
      applicationName: schema.service,
      max: config.POSTGRES_POOL_SIZE,
      genericPlans,
      ...(isReadyWithout ? {} : { health }),
      logger,
    });
  return scope.start("postgres", () => connectWhenReachable("postgres", connect, isUnreachable, logger));
}
