import { isIP } from "node:net";

import type { Keyring } from "@kapi/kernel";
import { z } from "zod";

const MAX_PORT = 65_535;
const MIN_TOKEN_CHARACTERS = 16;
const KEY_BYTES = 32;
const SERVICE_TOKEN = /^[a-z-]+\.[A-Za-z0-9_-]{32,}$/;
const SERVICE_TOKEN_DIGEST = /^([a-z-]+):([0-9a-f]{64})$/;
/** This delay plus DRAIN_TIMEOUT_MS of an HTTP server is less than PROCESS_STOP_DEADLINE_MS. */
const MAX_STOP_DELAY_MS = 10_000;
const KEY_ID = /^[A-Za-z0-9._-]{1,32}$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The values of LOG_LEVEL, from the most to the fewest lines. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** A whole number in decimal digits between `min` and `max`, both included. */
function integer(min: number, max: number): z.ZodType<number, string> {
  return z.string().transform((text, context) => {
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    context.addIssue({ code: "custom", message: `must be a whole number from ${min} to ${max}` });
    return z.NEVER;
  });
}

/** A URL whose scheme is one of `schemes`. Slashes at the end are removed. */
export function url(...schemes: string[]): z.ZodType<string, string> {
  return z.string().transform((text, context) => {
    const scheme = URL.canParse(text) ? new URL(text).protocol.slice(0, -1) : "";
    if (schemes.includes(scheme)) return text.replace(/\/+$/, "");
    context.addIssue({ code: "custom", message: `must be a URL beginning with ${schemes.join(":// or ")}://` });
    return z.NEVER;
  });
}

/** The bytes of one base64 text of exactly {@link KEY_BYTES} bytes, or null. */
function keyFromBase64(text: string): Buffer | null {
  if (!BASE64.test(text)) return null;
  const key = Buffer.from(text, "base64");
  return key.length === KEY_BYTES ? key : null;
}

const keyring = z.string().transform((text, context): Keyring => {
  const keys = new Map<string, Buffer>();
  for (const entry of text.split(",")) {
    const [keyId = "", encoded = "", ...rest] = entry.trim().split(":");
    const key = keyFromBase64(encoded);
    if (!KEY_ID.test(keyId) || key === null || keys.has(keyId) || rest.length > 0) {
      const message = `must be "<id>:<base64 of ${KEY_BYTES} bytes>", several with commas, each id once; the first key is in use`;
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    }
    keys.set(keyId, key);
  }
  const [currentKeyId = ""] = keys.keys();
  return { currentKeyId, keys };
});

/** The public part of a key that no longer signs. `retiredAt`: ISO 8601, UTC, milliseconds. */
interface RetiredKey {
  readonly keyId: string;
  readonly publicKey: Buffer;
  readonly retiredAt: string;
}

const RETIRED_KEY = /^([A-Za-z0-9._-]{1,32}):([A-Za-z0-9_-]{43}):(\d{4}-\d\d-\d\dT[0-9:.]{8,16}Z)$/;

const retiredKeys = z.string().transform((text, context): readonly RetiredKey[] => {
  const keys: RetiredKey[] = [];
  for (const entry of text.split(",")) {
    const [, keyId = "", encoded = "", time = ""] = RETIRED_KEY.exec(entry.trim()) ?? [];
    const retiredMs = Date.parse(time);
    if (Number.isNaN(retiredMs) || keys.some((key) => key.keyId === keyId)) {
      const message = `must be "<id>:<base64url of ${KEY_BYTES} bytes>:<time in UTC>", several with commas, each id once`;
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    }
    const retiredAt = new Date(retiredMs).toISOString();
    keys.push({ keyId, publicKey: Buffer.from(encoded, "base64url"), retiredAt });
  }
  return keys;
});

const secretKey = z.string().transform((text, context): Buffer => {
  const key = keyFromBase64(text);
  if (key !== null) return key;
  context.addIssue({ code: "custom", message: `must be base64 of ${KEY_BYTES} bytes` });
  return z.NEVER;
});

const LONGEST_PREFIX: Readonly<Record<number, number>> = { 4: 32, 6: 128 };

/**
 * Addresses and networks, separated by commas. Prefix length 0 is rejected: it would trust every
 * caller.
 */
const proxies = z
  .string()
  .transform((text): readonly string[] => text.split(",").map((part) => part.trim()))
  .refine(
    (parts) => parts.every(isNetwork),
    "must be IP addresses or networks (10.0.0.0/8), separated by commas; no network may cover all addresses",
  );

function isNetwork(text: string): boolean {
  const [address = "", prefix, ...more] = text.split("/");
  const longest = LONGEST_PREFIX[isIP(address)] ?? 0;
  if (prefix === undefined || more.length > 0) return more.length === 0 && longest > 0;
  return /^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= longest;
}

const serviceToken = z
  .string()
  .regex(SERVICE_TOKEN, "must be <the caller's name>.<secret of 32 or more letters, digits, dashes or underscores>");

/** The digests of the tokens of each caller. */
export type ServiceTokenDigests = ReadonlyMap<string, readonly Buffer[]>;

const serviceTokenDigests = z.string().transform((text, context): ServiceTokenDigests => {
  const digests = new Map<string, Buffer[]>();
  for (const entry of text.split(",")) {
    const [, name, digest] = SERVICE_TOKEN_DIGEST.exec(entry.trim()) ?? [];
    if (name === undefined || digest === undefined) {
      const message = 'must be "<caller>:<SHA-256 of its token, 64 hex digits>", several with commas';
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    }
    digests.set(name, [...(digests.get(name) ?? []), Buffer.from(digest, "hex")]);
  }
  return digests;
});

const onOrOff = z.enum(["on", "off"], "must be on or off").default("off");

/**
 * Ready-made fields for the schemas of services; a schema's keys are the names of the environment
 * variables. `NAME: meaning` above a field is the meaning of the variable NAME in every schema in
 * which NAME has no comment (docs/reference/settings.md).
 */
export const configFields = {
  /** HTTP_HOST: the address to listen on. The default accepts connections of this machine only. */
  httpHost: z.string().default("127.0.0.1"),
  /** HTTP_PORT: the port of the HTTP server, with its health probes; 0 takes a free port. */
  httpPort: integer(0, MAX_PORT),
  /** LOG_LEVEL: the lowest level that is logged. */
  logLevel: z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(", ")}`).default("info"),
  /**
   * METRICS_PORT: with METRICS=on, serves `/metrics` on this port instead of HTTP_PORT, which may
   * be reachable from outside.
   */
  metricsPort: integer(1, MAX_PORT).optional(),
  /** METRICS: `on` serves the metrics of the process at `/metrics`. */
  metrics: onOrOff,
  /**
   * STOP_DELAY_MS: time after a stop signal during which the process still works, but is not ready,
   * in milliseconds. So load balancers stop sending requests before the process refuses
   * connections. Use 0 if nothing checks the readiness.
   */
  stopDelayMs: integer(0, MAX_STOP_DELAY_MS).default(0),
  /** KAFKA_TOPIC_PREFIX: comes before the name of every topic. */
  kafkaTopicPrefix: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/, "must be 1 to 64 letters, digits, dots, dashes or underscores")
    .default(""),
  /**
   * KAFKA_SESSION_TIMEOUT_MS: time without a heartbeat after which the partitions of this process
   * are reassigned, such as after a crash, in milliseconds. Below the broker's minimum (6 s by
   * default) no group can be joined.
   */
  kafkaSessionTimeoutMs: integer(1_000, 300_000).default(10_000),
  /** POSTGRES_POOL_SIZE: maximum number of connections of one process to PostgreSQL. */
  postgresPoolSize: integer(1, 500).default(16),
  /**
   * DIGEST_GRACE_MS: time from the end of a UTC day until its digests are made, in milliseconds.
   * Trading servers have this time to publish the last events of the day. An event of the day that
   * is booked later makes a new revision of the digest.
   */
  digestGraceMs: integer(0, 86_400_000).default(600_000),
  /**
   * SERVICE_TOKEN and OPERATOR_TOKEN: authenticates this program at the services that it calls. The
   * token begins with the program's name.
   */
  serviceToken,
  /**
   * SERVICE_TOKEN_DIGESTS: digests of the tokens of the programs that may call this service. A
   * caller has two digests while its token changes.
   */
  serviceTokenDigests,
  /**
   * INTERNAL_TOKEN: the token that services of release 0.1.0 share, for calls to and from such
   * services. Set it only while services of 0.1.0 run. The second release after 0.1.0 removes this
   * setting.
   */
  internalToken: z.string().min(MIN_TOKEN_CHARACTERS, `must have at least ${MIN_TOKEN_CHARACTERS} characters`),
  /** The base address of another service. */
  serviceUrl: url("http", "https"),
  /**
   * Keys "<id>:<base64>,<id2>:<base64>". The first key is in use. The other keys decrypt and derive
   * only values that were encrypted or derived with them.
   */
  keyring,
  /**
   * The public parts "<id>:<base64url>:<time>" of keys that no longer sign, with the time of their
   * retirement.
   */
  retiredKeys,
  /**
   * TRADING_SERVER_ALLOW_INSECURE: `true` allows http to trading servers. Only for a single machine
   * or a private network, because tokens and passwords are then sent unencrypted.
   */
  allowInsecure: z.enum(["true", "false"], 'must be "true" or "false"').default("false"),
  /** One key: base64 of 32 bytes. */
  secretKey,
  /** Addresses and networks of proxies, with commas. */
  proxies,
  /** A switch, off by default. */
  onOrOff,
  /** A whole number within limits; add `.default(n)` to make it optional. */
  integer,
} as const;
