export { startDatabaseClock } from "./database-clock.ts";
export { isMissingPartition, isTransient, isUniqueViolation, isUnreachable } from "./errors.ts";
export { instantText } from "./instant.ts";
export { startPool, type Database, type PoolOptions, type Queryable, type Transaction } from "./pool.ts";
export { type MigrateOptions, type MigrationDirectory, migrate } from "./migrate.ts";
export { migrationOptions, postgresOptions } from "./settings.ts";
export { type Statement, statement } from "./statement.ts";
