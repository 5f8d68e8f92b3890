import type { MigrationSettings, PostgresSettings } from "@kapi/runtime";

/** The address of a server, for `startPool` and `migrate`. */
export interface ServerOptions {
  /** postgres://…; its `sslmode` selects TLS. */
  readonly connectionString: string;
  /**
   * PEM certificates of authorities, for `sslmode=verify-full`. One of them must have signed the
   * server's certificate, which must be for the host of the address.
   */
  readonly ca?: string;
}

/** The {@link ServerOptions} from the configuration of a process. */
export function postgresOptions({ POSTGRES_URL, POSTGRES_TLS_CA }: PostgresSettings): ServerOptions {
  return { connectionString: POSTGRES_URL, ...(POSTGRES_TLS_CA === undefined ? {} : { ca: POSTGRES_TLS_CA }) };
}

/** The options for migrations, with the role that gets the rights on the rows. */
export function migrationOptions(settings: PostgresSettings | MigrationSettings): ServerOptions & {
  readonly serviceRole?: string;
} {
  const role = "POSTGRES_SERVICE_ROLE" in settings ? settings.POSTGRES_SERVICE_ROLE : undefined;
  return { ...postgresOptions(settings), ...(role === undefined ? {} : { serviceRole: role }) };
}

/**
 * The options for pg. With a CA, `sslmode` is removed from the address, because in pg it overrides
 * the option `ssl`.
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

/** An error of one line: which server cannot be used, and why; without the password. */
export function unusable({ connectionString }: ServerOptions, error: unknown): Error {
  const { hostname, port } = new URL(connectionString);
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(`PostgreSQL at ${hostname}:${port || "5432"} cannot be used: ${reason}`, { cause: error });
}
