import type { MigrationSettings, PostgresSettings } from "@kapi/runtime";

/** How to reach a server: what {@link startPool} and {@link migrate} have in common. */
export interface ServerOptions {
  /** postgres://…; TLS as its `sslmode` says. */
  readonly connectionString: string;
  /**
   * PEM: the server's certificate must be signed by one of these, and be for the host named; for
   * `sslmode=verify-full`.
   */
  readonly ca?: string;
}

/** The {@link ServerOptions} that a process's configuration gives. */
export function postgresOptions({ POSTGRES_URL, POSTGRES_TLS_CA }: PostgresSettings): ServerOptions {
  return { connectionString: POSTGRES_URL, ...(POSTGRES_TLS_CA === undefined ? {} : { ca: POSTGRES_TLS_CA }) };
}

/** The same for migrations, and the role that is given the rows. */
export function migrationOptions(settings: PostgresSettings | MigrationSettings): ServerOptions & {
  readonly serviceRole?: string;
} {
  const role = "POSTGRES_SERVICE_ROLE" in settings ? settings.POSTGRES_SERVICE_ROLE : undefined;
  return { ...postgresOptions(settings), ...(role === undefined ? {} : { serviceRole: role }) };
}

/**
 * What pg takes. What an address says of TLS goes before everything else there, so with a CA it is
 * taken off.
 */
export function clientOptions({ connectionString, ca }: ServerOptions): {
  connectionString: string;
  ssl?: { ca: string };
} {
  if (ca === undefined) return { connectionString };
  const url = new URL(connectionString);
  url.searchParams.delete("sslmode");
  return { connectionString: url.href, ssl: { ca } };
}

/** One line that tells which server cannot be used and why; its password is not part of it. */
export function unusable({ connectionString }: ServerOptions, error: unknown): Error {
  const { hostname, port } = new URL(connectionString);
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(`PostgreSQL at ${hostname}:${port || "5432"} cannot be used: ${reason}`, { cause: error });
}
