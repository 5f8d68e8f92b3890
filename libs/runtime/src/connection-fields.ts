/**
 * The settings of every process for Kafka, Redis and PostgreSQL, and the certificate authorities of
 * trading servers. A service spreads these fields into its schema. @kapi/kafka, @kapi/redis and
 * @kapi/postgres derive their options from them. Certificates and keys are PEM texts. A
 * variable with the suffix _FILE names a mounted file that contains the text.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";

import { z } from "zod";

import { alongside, type CompanionCheck, needs } from "./companions.ts";
import { configFields, url } from "./config-fields.ts";

/** SASL mechanisms, with Kafka's names. */
const SASL_MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] as const;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const BROKER = /^[^\s:/,]+:\d{1,5}$/;
/** Separates addresses; passwords may contain commas. */
const NEXT_REDIS_URL = /,\s*(?=rediss?:\/\/)/;
const VERIFIED = "verify-full";
/**
 * Allowed values of `sslmode`: TLS that verifies the server, or no TLS. In this or the next version
 * of pg, every other value allows TLS that does not fully verify the server.
 */
const SSL_MODES: ReadonlySet<string> = new Set([VERIFIED, "disable"]);

const certificates = z.string().refine((text) => {
  const found = text.match(CERTIFICATE) ?? [];
  return found.length > 0 && found.every((one) => succeeds(() => new X509Certificate(one)));
}, "must be one or more certificates in PEM form");

const privateKey = z
  .string()
  .refine((text) => succeeds(() => createPrivateKey(text)), "must be a private key in PEM form, without a password");

const kafkaBrokers = z.string().transform((text, context): readonly string[] => {
  const brokers = text.split(",").map((broker) => broker.trim());
  if (brokers.every((broker) => BROKER.test(broker))) return brokers;
  context.addIssue({ code: "custom", message: "must be host:port, several with commas" });
  return z.NEVER;
});

const redisUrl = url("redis", "rediss");
const redisUrls = z.string().transform((text, context): readonly string[] => {
  const urls = text.split(NEXT_REDIS_URL).map((one) => redisUrl.safeParse(one.trim()));
  const good = urls.flatMap(({ data }) => (data === undefined ? [] : [data]));
  if (good.length === urls.length) return good;
  context.addIssue({ code: "custom", message: "must be a URL beginning with redis:// or rediss://" });
  return z.NEVER;
});

const postgresUrl = url("postgres", "postgresql").refine((text) => {
  const { searchParams } = new URL(text);
  return !searchParams.has("ssl") && searchParams.getAll("sslmode").every((mode) => SSL_MODES.has(mode));
}, `must not have ssl, and its sslmode must be ${VERIFIED}, disable or absent`);

const severalInAClusterOnly: CompanionCheck = (given) =>
  NEXT_REDIS_URL.test(given["REDIS_URL"] ?? "") && given["REDIS_CLUSTER"] !== "on"
    ? "may be several addresses only with REDIS_CLUSTER=on"
    : null;
const encryptedRedis: CompanionCheck = (given) => {
  const urls = given["REDIS_URL"]?.split(NEXT_REDIS_URL) ?? [];
  return urls.every((one) => one.trim().startsWith("rediss://")) ? null : "needs rediss:// in REDIS_URL";
};
const verifiedPostgres: CompanionCheck = (given) => {
  const text = given["POSTGRES_URL"] ?? "";
  const mode = URL.canParse(text) ? new URL(text).searchParams.get("sslmode") : VERIFIED;
  return mode === VERIFIED ? null : `needs sslmode=${VERIFIED} in POSTGRES_URL`;
};
/** Passes if the certificate or the key is malformed: the check of that field reports this. */
const keyOfCertificate: CompanionCheck = (given) => {
  const { KAFKA_TLS_CERTIFICATE: certificate = "", KAFKA_TLS_KEY: key = "" } = given;
  let belongs = true;
  succeeds(() => {
    belongs = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  });
  return belongs ? null : "is not the key of KAFKA_TLS_CERTIFICATE";
};

function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

/** Both checks; reports the first problem. */
function both(first: CompanionCheck, second: CompanionCheck): CompanionCheck {
  return (given) => first(given) ?? second(given);
}

const kafka = {
  /** Addresses of the brokers; the client finds further brokers through them. */
  KAFKA_BROKERS: kafkaBrokers,
  KAFKA_TOPIC_PREFIX: configFields.kafkaTopicPrefix,
  /**
   * `on`: connections are encrypted, and every broker must have a certificate for the name by which
   * it is reached.
   */
  KAFKA_TLS: configFields.onOrOff,
  /** Certificate authorities of the brokers' certificates; by default those of Node. */
  KAFKA_TLS_CA: alongside(certificates.optional(), needs("KAFKA_TLS=on")),
  /** The client certificate, followed by its chain, if brokers require one. */
  KAFKA_TLS_CERTIFICATE: alongside(certificates.optional(), needs("KAFKA_TLS=on", "KAFKA_TLS_KEY")),
  /** The private key of KAFKA_TLS_CERTIFICATE. */
  KAFKA_TLS_KEY: alongside(privateKey.optional(), both(needs("KAFKA_TLS_CERTIFICATE"), keyOfCertificate)),
  /**
   * SASL mechanism of the sign-in at the brokers; absent: no sign-in. PLAIN sends the password
   * itself: use it only with KAFKA_TLS=on.
   */
  KAFKA_SASL_MECHANISM: alongside(
    z.enum(SASL_MECHANISMS, `must be one of ${SASL_MECHANISMS.join(", ")}`).optional(),
    needs("KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD"),
  ),
  /** User name of the sign-in at the brokers. */
  KAFKA_SASL_USERNAME: alongside(z.string().optional(), needs("KAFKA_SASL_MECHANISM")),
  /** Password of the sign-in at the brokers. */
  KAFKA_SASL_PASSWORD: alongside(z.string().optional(), needs("KAFKA_SASL_MECHANISM")),
} as const;

const redis = {
  /**
   * Address of Redis, with user and password; `rediss://` is encrypted. With REDIS_CLUSTER=on the
   * addresses of one or several nodes of the cluster, with commas.
   */
  REDIS_URL: alongside(redisUrls, severalInAClusterOnly),
  /** `on`: Redis is a Redis Cluster. The client finds further nodes through those in REDIS_URL. */
  REDIS_CLUSTER: configFields.onOrOff,
  /**
   * Certificate authorities of Redis's certificate; by default those of Node. Needs `rediss://` in
   * REDIS_URL.
   */
  REDIS_TLS_CA: alongside(certificates.optional(), encryptedRedis),
} as const;

const postgres = {
  /**
   * Address of the database, with user and password. With `?sslmode=verify-full` connections are
   * encrypted, and the server's certificate must be for the host of the address. Without `sslmode`,
   * or with `disable`, they are not encrypted. Other modes are rejected.
   */
  POSTGRES_URL: postgresUrl,
  /**
   * Certificate authorities of PostgreSQL's certificate; by default those of Node. Needs
   * `?sslmode=verify-full` in POSTGRES_URL.
   */
  POSTGRES_TLS_CA: alongside(certificates.optional(), verifiedPostgres),
} as const;

const tradingServers = {
  /** Certificate authorities of trading servers' certificates, in addition to those of Node. */
  TRADING_SERVER_TLS_CA: certificates.optional(),
} as const;

/** Fields of a schema, by server: `z.object({ ...connectionFields.kafka, … })`. */
export const connectionFields = { kafka, redis, postgres, tradingServers } as const;

/** The parsed settings of each server. */
export type KafkaSettings = Readonly<z.output<z.ZodObject<typeof kafka>>>;
export type RedisSettings = Readonly<z.output<z.ZodObject<typeof redis>>>;
export type PostgresSettings = Readonly<z.output<z.ZodObject<typeof postgres>>>;
