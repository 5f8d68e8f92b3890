import { USAGE_STREAM_LIMIT } from "@kapi/admission/redis";
import { configFields, connectionFields } from "@kapi/runtime";
import { z } from "zod";

const MIB = 1_024 * 1_024;
/** The roles of a metrics process. */
export const ROLES = ["sequencer", "windows", "stream"] as const;
/** A role of a metrics process. */
export type Role = (typeof ROLES)[number];
const MAX_WINDOWS_PROCESSES = 1_000;

const roles = z.string().transform((text, context): readonly Role[] => {
  const given = [...new Set(text.split(",").map((role) => role.trim()))];
  const known = ROLES.filter((role) => given.includes(role));
  if (known.length === given.length) return known;
  context.addIssue({ code: "custom", message: `must be one or more of ${ROLES.join(", ")}, with commas` });
  return z.NEVER;
});

const windowsUrls = z.string().transform((text, context) => {
  const urls = z.array(configFields.serviceUrl).max(MAX_WINDOWS_PROCESSES);
  const parsed = urls.safeParse(text.split(",").map((url) => url.trim()));
  if (parsed.success) return parsed.data;
  const message = `must be 1 to ${MAX_WINDOWS_PROCESSES} URLs beginning with http:// or https://, with commas`;
  context.addIssue({ code: "custom", message });
  return z.NEVER;
});

/** Milliseconds: 0 (off), or 100 to 5,000 (decisions, 10.2). */
const coalesceMs = configFields
  .integer(0, 5_000)
  .refine((ms) => ms === 0 || ms >= 100, "must be 0, or from 100 to 5000");

/** The settings of a metrics process, from its environment. */
export const ConfigSchema = z
  .object({
    HTTP_HOST: configFields.httpHost,
    HTTP_PORT: configFields.httpPort,
    /** The address on which LIVE_PORT listens; by default HTTP_HOST. */
    LIVE_HOST: z.string().optional(),
    /** Port of the WebSocket; by default HTTP_PORT. */
    LIVE_PORT: configFields.httpPort.optional(),
    /**
     * Addresses or networks of the proxies before the live stream, separated by commas. Their
     * X-Forwarded-For header gives the caller's address. The request log and the check of keys that
     * are limited to networks use this address. Absent: the header is ignored, and the caller's
     * address is that of the connection; behind a proxy it is the proxy's address.
     */
    TRUSTED_PROXIES: configFields.proxies.optional(),
    ...connectionFields.kafka,
    ...connectionFields.postgres,
    POSTGRES_POOL_SIZE: configFields.postgresPoolSize,
    ...connectionFields.redis,
    /**
     * Maximum number of usage entries of a wallet shard in Redis while the ledger is unavailable;
     * above it, requests of the shard return 500. Set the same value for the gateway.
     */
    USAGE_STREAM_LIMIT: configFields.integer(100, 100_000_000).default(USAGE_STREAM_LIMIT),
    SERVICE_TOKEN: configFields.serviceToken,
    SERVICE_TOKEN_DIGESTS: configFields.serviceTokenDigests,
    INTERNAL_TOKEN: configFields.internalToken.optional(),
    /** Base URL of the account service: which accounts exist, their names and creation times. */
    ACCOUNT_URL: configFields.serviceUrl,
    /**
     * What the process does: `sequencer` numbers samples, `stream` serves sockets. `windows` keeps
     * the windows of some partitions for stream processes, and is the only role of its process.
     */
    ROLES: roles.default(["sequencer", "stream"]),
    /** Which windows process this is, from 0. Only with the role `windows`. */
    WINDOWS_INSTANCE: configFields.integer(0, MAX_WINDOWS_PROCESSES - 1).default(0),
    /**
     * Number of windows processes. Process i keeps the partitions p with p modulo this number = i.
     * Only with the role `windows`.
     */
    WINDOWS_COUNT: configFields.integer(1, MAX_WINDOWS_PROCESSES).default(1),
    /**
     * `on`: a windows process also keeps the partitions of the next one, so that the stream
     * continues while that one is unavailable.
     */
    WINDOWS_REPLICA: z.enum(["on", "off"], "must be on or off").default("off"),
    /**
     * Base URLs of the windows processes in order of their instances, separated by commas. A
     * process with only the role `stream` then reads no samples itself. A windows process asks the
     * other ones for requested samples that it does not have. Required with the role `windows`.
     */
    WINDOWS_URLS: windowsUrls.optional(),
    /**
     * Base URL of metrics processes that have the samples of all accounts: stream processes without
     * WINDOWS_URLS, or windows processes. Required for a process with only the role `sequencer`: it
     * reads only some samples, and asks there for the newest samples of accounts.
     */
    SAMPLES_URL: configFields.serviceUrl.optional(),
    /**
     * Minimum time between two samples of an account if only prices change, in milliseconds; 0: no
     * minimum.
     */
    COALESCE_MS: coalesceMs.default(1_000),
    /**
     * How often the checkpoints of changed accounts are written to `metrics.latest`, in
     * milliseconds. A restart reads the samples after the last checkpoints again.
     */
    CHECKPOINT_INTERVAL_MS: configFields.integer(100, 60_000).default(5_000),
    /**
     * Maximum number of rejected valuations of each reason that go to the log and the dead letters
     * in a minute. Further ones, and all duplicates, are only counted in
     * `metrics.valuations.rejected`.
     */
    REJECTED_SAMPLES_PER_MINUTE: configFields.integer(0, 100_000).default(10),
    /** Memory of one process for windows, in MiB; above it the oldest samples are dropped. */
    WINDOW_BUDGET_MIB: configFields.integer(8, 65_536).default(512),
    /** Maximum number of open sockets of one organization in one process. */
    MAX_SOCKETS_PER_ORGANIZATION: configFields.integer(1, 1_000_000).default(1_000),
    /**
     * Maximum number of subscriptions of one socket. The socket is not read while at least this
     * many of its messages wait for the account service.
     */
    MAX_SUBSCRIPTIONS_PER_SOCKET: configFields.integer(1, 100_000).default(2_000),
    /**
     * Maximum number of messages per second that are read from one socket, pings included. Above it
     * the socket is read more slowly.
     */
    MAX_MESSAGES_PER_SECOND: configFields.integer(1, 1_000_000).default(1_000),
    /** Maximum number of unsent bytes of one socket; above it no samples are written to it. */
    MAX_BUFFERED_BYTES: configFields.integer(128 * 1_024, 64 * MIB).default(256 * 1_024),
    /** How long a socket may stay stalled before it is closed with 4408, in milliseconds. */
    STUCK_TIMEOUT_MS: configFields.integer(100, 3_600_000).default(30_000),
    /**
     * How long a subscription waits if its `afterSequence` is above the last known sequence, before
     * the replay is truncated, in milliseconds.
     */
    CATCH_UP_TIMEOUT_MS: configFields.integer(0, 60_000).default(10_000),
    KAFKA_SESSION_TIMEOUT_MS: configFields.kafkaSessionTimeoutMs,
  })
  .refine((config) => !config.ROLES.includes("windows") || config.ROLES.length === 1, {
    path: ["ROLES"],
    error: "windows must be the only role of its process",
  })
  .refine(({ ROLES: roles, SAMPLES_URL }) => roles.join() !== "sequencer" || SAMPLES_URL !== undefined, {
    path: ["SAMPLES_URL"],
    error: "is required for a process with only the role sequencer: the address of stream or windows processes",
  })
  .refine((config) => config.WINDOWS_INSTANCE < config.WINDOWS_COUNT, {
    path: ["WINDOWS_INSTANCE"],
    error: "must be below WINDOWS_COUNT",
  })
  .refine((config) => !config.ROLES.includes("windows") || config.WINDOWS_URLS?.length === config.WINDOWS_COUNT, {
    path: ["WINDOWS_URLS"],
    error: "must have WINDOWS_COUNT addresses",
  });
/** The validated settings of a metrics process. */
export type Config = z.output<typeof ConfigSchema>;
