/** Connects to and prepares one Redis: a single server, or a node of a cluster. */
import net from "node:net";
import type { ConnectionOptions } from "node:tls";

import { isNetworkError } from "@kapi/kernel";
import { Redis, type RedisOptions as ClientOptions } from "ioredis";

import type { RedisOptions } from "./connection.ts";

/**
 * Maximum wait for one reply. After that time the outcome is unknown, so calls must be safe to
 * repeat.
 */
const DEFAULT_COMMAND_TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 2_500;
/** A connection that receives nothing for this long during a call is replaced. */
const SOCKET_TIMEOUT_MS = 2_500;
/** Interval of pings: with them a dead connection is dropped within 4.5 s. */
const PING_INTERVAL_MS = 2_000;
/** Time without an answer to a ping after which `check` fails: more than two ping intervals. */
const SILENT_AFTER_MS = 4_500;
const RECONNECT_STEP_MS = 50;
const MAX_RECONNECT_DELAY_MS = 1_000;
const ENCRYPTED = "rediss:";
const DEFAULT_PORT = "6379";

/** Returns the pause before connection attempt `attempt`, in milliseconds. */
export function reconnectDelay(attempt: number): number {
  return Math.min(attempt * RECONNECT_STEP_MS, MAX_RECONNECT_DELAY_MS);
}

type CommonOptions =
  | "connectionName"
  | "autoResendUnfulfilledCommands"
  | "maxRetriesPerRequest"
  | "commandTimeout"
  | "connectTimeout"
  | "socketTimeout";

/** Options of all connections. Commands are never resent. */
export function clientOptions(options: RedisOptions): Required<Pick<ClientOptions, CommonOptions>> {
  return {
    connectionName: options.clientName,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 1,
    commandTimeout: options.commandTimeoutMs ?? DEFAULT_COMMAND_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
  };
}

/**
 * Creates a client of the Redis at `url`, not yet connected, which reconnects by `retryStrategy`;
 * null: it does not reconnect.
 */
export function createClient(
  url: string,
  options: RedisOptions,
  retryStrategy: ((attempt: number) => number) | null,
): Redis {
  const { hostname } = new URL(url);
  const tls = tlsOptions(url, options);
  return new Redis(url, {
    ...clientOptions(options),
    lazyConnect: true,
    // No call is queued while the client is disconnected.
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    retryStrategy,
    // The server name (SNI); IP addresses have none.
    ...(tls === undefined ? {} : { tls: net.isIP(hostname) === 0 ? { ...tls, servername: hostname } : tls }),
  });
}

/** TLS options of connections to `url`; undefined without TLS. */
export function tlsOptions(url: string, { ca }: RedisOptions): ConnectionOptions | undefined {
  if (new URL(url).protocol !== ENCRYPTED) return undefined;
  return ca === undefined ? {} : { ca };
}

/**
 * Connects `client`.
 * @throws Error one line with address and reason, such as an untrusted certificate or a wrong
 * password. The error of ioredis says only that the connection is closed.
 */
export async function connect(client: Redis, url: string): Promise<void> {
  let lastError: unknown;
  const listen = (error: unknown): void => {
    lastError = error;
  };
  client.on("error", listen);
  try {
    await client.connect();
  } catch (error) {
    throw unusable(url, lastError ?? error);
  } finally {
    client.off("error", listen);
  }
}

/** Pings clients at an interval. */
export interface Pings {
  /** Says for how long no client has answered; null if that is at most {@link SILENT_AFTER_MS}. */
  check(): string | null;
  stop(): void;
}

/**
 * Pings each client at an interval, so that a dead idle connection is noticed. A failed ping needs
 * no handling: the socket timeout drops the connection. A ping also connects a client that has not
 * connected yet.
 */
export function keepPinging(clients: () => readonly Redis[]): Pings {
  let answeredMs = performance.now();
  const answered = (): void => {
    answeredMs = performance.now();
  };
  const timer = setInterval(() => {
    for (const client of clients()) client.ping().then(answered, () => undefined);
  }, PING_INTERVAL_MS);
  return {
    check: () => {
      const silentMs = Math.round(performance.now() - answeredMs);
      return silentMs > SILENT_AFTER_MS ? `no node has answered for ${silentMs} ms` : null;
    },
    stop: () => clearInterval(timer),
  };
}

/** An error of one line with the address of a Redis, without its password, and the reason. */
export function unusable(url: string, error: unknown): Error {
  const { hostname, port } = new URL(url);
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(`Redis at ${hostname}:${port || DEFAULT_PORT} cannot be used: ${reason}`, { cause: error });
}

/** Whether this Redis is a node of a cluster. */
export async function isClusterNode(client: Redis): Promise<boolean> {
  return /redis_mode:cluster/.test(await client.info("server"));
}

/** @throws Error if this Redis evicts keys when memory is short: data would be lost. */
export async function assertNothingIsEvicted(client: Redis): Promise<void> {
  const policy = /maxmemory_policy:(\S+)/.exec(await client.info("memory"))?.[1];
  if (policy === "noeviction") return;
  throw new Error(
    `Redis must run with maxmemory-policy noeviction, not ${policy ?? "an unknown one"}: its keys must not be evicted`,
  );
}

/** Loads the function libraries of a connection into this Redis. */
export async function loadLibraries(
  client: Redis,
  { functionLibraries }: Pick<RedisOptions, "functionLibraries">,
): Promise<void> {
  for (const library of functionLibraries) await client.function("LOAD", "REPLACE", library);
}

/**
 * ioredis never wrote the call to a connection, or Redis refused the function before it ran because
 * Redis cannot save to its disk (MISCONF) or its memory is full (OOM).
 */
const NOT_CARRIED_OUT = /^Stream isn't writeable|^Cluster isn't ready|^(MISCONF|OOM) /;

/** Whether a call that failed certainly changed nothing in Redis. */
export function wasNotCarriedOut(error: unknown): boolean {
  return error instanceof Error && NOT_CARRIED_OUT.test(error.message);
}

/**
 * Texts of errors without a code, of ioredis and of `cluster.ts`. LOADING is the reply of a Redis
 * that reads its files.
 */
const UNREACHABLE =
  /^(Command timed out|Connection is closed|Socket timeout|Stream isn't writeable|LOADING |its cluster is not ready|none of its masters answers)/;

/**
 * Whether the start of a connection failed because Redis does not answer yet. A Redis that rejects
 * the password, or whose certificate is not trusted, is reachable.
 */
export function isUnreachable(error: unknown): boolean {
  const reason = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return isNetworkError(reason) || UNREACHABLE.test(reason instanceof Error ? reason.message : String(reason));
}

/** Whether a call failed because Redis does not have the library. The call had no effect. */
export function isMissingFunction(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("ERR Function not found");
}
