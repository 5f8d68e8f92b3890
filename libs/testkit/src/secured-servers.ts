import { writeFileSync } from "node:fs";
import path from "node:path";

import { randomBase32 } from "@kapi/kernel";
import {
  freePort,
  type ServerContext,
  startKafkaProcess,
  startPostgresProcess,
  startRedisProcess,
} from "@kapi/servers";

import { type Certificate, type CertificateAuthority, createAuthority } from "./certificates.ts";
import { startInFolder, testFolder } from "./state-folder.ts";

/** The only host name for which the servers have certificates. */
const HOST = "localhost";
const USER = "kapi";
const PASSWORD_CHARACTERS = 20;
const SASL_MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];
const SECURITY = "org.apache.kafka.common.security";

/**
 * Servers as in production: encrypted, with certificates of a private authority, and with
 * passwords.
 */
export interface SecuredServers {
  /** The issuer of every server's certificate. */
  readonly authority: CertificateAuthority;
  /** An authority that no server and no client trusts. */
  readonly stranger: CertificateAuthority;
  /** The client certificate of this process, issued by `authority`. */
  readonly client: Certificate;
  readonly user: string;
  readonly password: string;
  readonly kafka: {
    /** TLS with user and password, by PLAIN and both SCRAM mechanisms. */
    readonly brokers: string;
    /** TLS with a client certificate. */
    readonly certificateBrokers: string;
    /** No TLS and no sign-in, for the preparations of a test. */
    readonly plainBrokers: string;
  };
  readonly redisUrl: string;
  /** The same server, unencrypted. */
  readonly plainRedisUrl: string;
  readonly postgresUrl: string;
  /** The same server, unencrypted. */
  readonly plainPostgresUrl: string;
  /** The environment variables of a program that uses all three servers; certificates as files. */
  readonly env: Readonly<Record<string, string>>;
  readonly stateDir: string;
  stop(): Promise<void>;
}

/** Starts all three servers as processes of this machine. */
export async function startSecuredServers(): Promise<SecuredServers> {
  const stateDir = testFolder();
  return startInFolder(stateDir, async ({ scope, context }) => {
    const [authority, stranger] = await Promise.all([
      createAuthority(stateDir, "authority"),
      createAuthority(stateDir, "stranger"),
    ]);
    const [server, client] = [await authority.issue(HOST), await authority.issue(USER)];
    const password = randomBase32(PASSWORD_CHARACTERS);
    const [kafka, redis, postgres] = await Promise.all([
      scope.start("kafka", () => kafkaWith(context, authority, server, password)),
      scope.start("redis", () => redisWith(context, server, password)),
      scope.start("postgres", () => postgresWith(context, server)),
    ]);
    const addresses = { kafka, ...redis, ...postgres };
    return {
      ...addresses,
      authority,
      stranger,
      client,
      user: USER,
      password,
      env: environmentOf(addresses, authority, password),
      stateDir,
      stop: () => scope.stop(),
    };
  });
}

type Addresses = Pick<SecuredServers, "kafka" | "redisUrl" | "postgresUrl">;
interface Part<T> {
  readonly value: T;
  stop(): Promise<void>;
}

function environmentOf(
  { kafka, redisUrl, postgresUrl }: Addresses,
  { certificateFile }: Certificate,
  password: string,
): Record<string, string> {
  return {
    KAFKA_BROKERS: kafka.brokers,
    KAFKA_TLS: "on",
    KAFKA_TLS_CA_FILE: certificateFile,
    KAFKA_SASL_MECHANISM: "SCRAM-SHA-512",
    KAFKA_SASL_USERNAME: USER,
    KAFKA_SASL_PASSWORD: password,
    REDIS_URL: redisUrl,
    REDIS_TLS_CA_FILE: certificateFile,
    POSTGRES_URL: postgresUrl,
    POSTGRES_TLS_CA_FILE: certificateFile,
  };
}

async function kafkaWith(
  context: ServerContext,
  authority: Certificate,
  server: Certificate,
  password: string,
): Promise<Part<SecuredServers["kafka"]>> {
  const keyStore = path.join(context.stateDir, "kafka-server.pem");
  writeFileSync(keyStore, server.key + server.certificate);
  const [passwords, certificates] = [`${HOST}:${await freePort()}`, `${HOST}:${await freePort()}`];
  const settings = {
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PASSWORDS:SASL_SSL,CERTIFICATES:SSL",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": keyStore,
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": authority.certificateFile,
    "listener.name.certificates.ssl.client.auth": "required",
    "listener.name.passwords.sasl.enabled.mechanisms": SASL_MECHANISMS.join(","),
    "listener.name.passwords.plain.sasl.jaas.config": `${SECURITY}.plain.PlainLoginModule required user_${USER}="${password}";`,
    "listener.name.passwords.scram-sha-256.sasl.jaas.config": `${SECURITY}.scram.ScramLoginModule required;`,
    "listener.name.passwords.scram-sha-512.sasl.jaas.config": `${SECURITY}.scram.ScramLoginModule required;`,
  };
  const running = await startKafkaProcess(context, settings, {
    listeners: { PASSWORDS: passwords, CERTIFICATES: certificates },
    scramUsers: SASL_MECHANISMS.slice(1).map((mechanism) => `${mechanism}=[name=${USER},password=${password}]`),
  });
  const value = { brokers: passwords, certificateBrokers: certificates, plainBrokers: running.address };
  return { value, stop: () => running.stop() };
}

async function redisWith(
  context: ServerContext,
  server: Certificate,
  password: string,
): Promise<Part<Pick<SecuredServers, "redisUrl" | "plainRedisUrl">>> {
  const port = await freePort();
  const files = ["--tls-cert-file", server.certificateFile, "--tls-key-file", server.keyFile];
  const encryption = ["--tls-port", String(port), ...files, "--tls-auth-clients", "no"];
  const running = await startRedisProcess(context, { settings: [...encryption, "--requirepass", password] });
  const plain = new URL(running.address);
  plain.password = password;
  const value = { redisUrl: `rediss://:${password}@${HOST}:${port}`, plainRedisUrl: plain.href };
  return { value, stop: () => running.stop() };
}

async function postgresWith(
  context: ServerContext,
  server: Certificate,
): Promise<Part<Pick<SecuredServers, "postgresUrl" | "plainPostgresUrl">>> {
  const running = await startPostgresProcess(context, { tls: server });
  const url = new URL(running.address);
  url.hostname = HOST;
  url.searchParams.set("sslmode", "verify-full");
  return { value: { postgresUrl: url.href, plainPostgresUrl: running.address }, stop: () => running.stop() };
}
