/**
 * Kafka, Redis and PostgreSQL as external services: with TLS, a private certificate authority and
 * passwords. The services and their jobs connect with correct settings. With wrong settings, the
 * jobs print the reason in one line.
 */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";

import { TOPICS } from "@kapi/contracts";
import { createKafka, startProducer, createTopics, kafkaOptions } from "@kapi/kafka";
import { createDemo, startStack } from "@kapi/local";
import { startPool, migrate, postgresOptions, statement } from "@kapi/postgres";
import { startRedis, redisOptions } from "@kapi/redis";
import { connectionFields, createLogger, loadConfig } from "@kapi/runtime";
import { createDatabase } from "@kapi/servers";
import { eventually, type SecuredServers, startSecuredServers, startTestRedisCluster } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import { OutsideClient } from "./outside-client.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const TOPIC_PREFIX = "outside.";
/** One test starts a whole kapi and a Redis Cluster. */
const STACK_TIMEOUT_MS = 180_000;
const logger = createLogger({ service: "test", level: "silent" });
const schema = z.object({ ...connectionFields.kafka, ...connectionFields.redis, ...connectionFields.postgres });

type Changes = Readonly<Record<string, string | undefined>>;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

let servers: SecuredServers;
beforeAll(async () => {
  servers = await startSecuredServers();
});
afterAll(() => servers.stop());

/** The configuration that reaches all servers, with `changes` applied. */
function config(changes: Changes = {}): z.output<typeof schema> {
  return loadConfig(schema, { ...servers.env, KAFKA_TOPIC_PREFIX: TOPIC_PREFIX, ...changes });
}

/** A change that trusts an authority which did not sign the certificates of the servers. */
function trusting(variable: string): Changes {
  return { [variable]: servers.stranger.certificateFile };
}

/** Runs a program with the settings of all servers and `changes`. Returns exit code and output. */
function run(program: string, args: readonly string[], changes: Changes = {}): Promise<Ended> {
  const child = spawn(process.execPath, ["src/main.ts", ...args], {
    cwd: path.join(ROOT, program),
    env: { ...process.env, ...servers.env, KAFKA_TOPIC_PREFIX: TOPIC_PREFIX, ...changes },
  });
  const ended = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (ended.stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (ended.stderr += String(chunk)));
  return new Promise((resolve) => child.on("close", (code) => resolve({ ...ended, code })));
}

/**
 * Creates one database, and a role for each service except the gateway, which has no tables. The
 * user of `owner` migrates every schema. A migration gives the role of its service access to the
 * rows. Returns the environment of each of these services: `POSTGRES_URL` with the service's role.
 */
async function serviceRoles(owner: URL): Promise<Record<string, Record<string, string>>> {
  const services = readdirSync(path.join(ROOT, "services")).filter((name) => name !== "gateway");
  await createDatabase(servers.plainPostgresUrl, owner.pathname.slice(1));
  const { value: database, stop } = await startPool({
    ...postgresOptions(config()),
    schema: "public",
    applicationName: "test",
    logger,
  });
  const roleOf = (service: string): string => `only_${service.replaceAll("-", "_")}`;
  for (const service of services)
    await database.query(statement(`role_${service}`, `create role ${roleOf(service)} login password 'own'`), []);
  await stop();
  const migrated = await Promise.all(
    services.map((service) =>
      run(`services/${service}`, ["migrate"], { POSTGRES_URL: owner.href, POSTGRES_SERVICE_ROLE: roleOf(service) }),
    ),
  );
  expect(migrated.filter(({ code }) => code !== 0)).toEqual([]);
  return Object.fromEntries(
    services.map((service) => {
      const own = new URL(owner);
      [own.username, own.password] = [roleOf(service), "own"];
      return [service, { POSTGRES_URL: own.href }];
    }),
  );
}

describe("Kafka", () => {
  /** Publishes a message. Returns its offset. */
  async function publish(changes: Changes = {}): Promise<bigint> {
    const kafka = createKafka({ ...kafkaOptions(config(changes)), clientId: "test", logger });
    const { value: producer, stop } = await startProducer(kafka);
    try {
      return (await producer.send(TOPICS.deadLetter, { key: "a", value: "b" })).offset;
    } finally {
      await stop();
    }
  }

  beforeAll(async () => {
    const kafka = createKafka({
      brokers: [servers.kafka.plainBrokers],
      clientId: "test",
      topicPrefix: TOPIC_PREFIX,
      logger,
    });
    await createTopics(kafka, { partitions: 1, replicationFactor: 1, minInsyncReplicas: 1 });
  });

  it.each(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])("accepts a user over TLS with %s", async (mechanism) => {
    expect(await publish({ KAFKA_SASL_MECHANISM: mechanism })).toBeGreaterThanOrEqual(0n);
  });

  it("accepts a client certificate if the listener requires one", async () => {
    const certificate = {
      KAFKA_BROKERS: servers.kafka.certificateBrokers,
      KAFKA_SASL_MECHANISM: undefined,
      KAFKA_SASL_USERNAME: undefined,
      KAFKA_SASL_PASSWORD: undefined,
      KAFKA_TLS_CERTIFICATE: servers.client.certificate,
      KAFKA_TLS_KEY: servers.client.key,
    };
    expect(await publish(certificate)).toBeGreaterThanOrEqual(0n);
  });

  it("is not used with a wrong password, an untrusted certificate, or a host name that is not in the certificate", async () => {
    const [, port = ""] = servers.kafka.brokers.split(":");
    const refused = await Promise.allSettled([
      publish({ KAFKA_SASL_PASSWORD: "wrong" }),
      publish({ KAFKA_SASL_MECHANISM: "PLAIN", KAFKA_SASL_PASSWORD: "wrong" }),
      publish({ ...trusting("KAFKA_TLS_CA_FILE") }),
      publish({ KAFKA_BROKERS: `127.0.0.1:${port}` }),
    ]);
    const reasons = refused.map((one) => (one.status === "rejected" ? String(one.reason) : "entered"));
    expect(reasons).toEqual([
      expect.stringMatching(/^Error: Kafka at localhost:\d+ cannot be used: .*SCRAM.*authentication failed.*$/),
      expect.stringMatching(/^Error: Kafka at localhost:\d+ cannot be used: .*PLAIN authentication failed.*$/),
      expect.stringMatching(/^Error: Kafka at localhost:\d+ cannot be used: .*certificate.*$/),
      expect.stringMatching(/^Error: Kafka at 127\.0\.0\.1:\d+ cannot be used: .*does not match certificate.*$/),
    ]);
  });
});

describe("PostgreSQL", () => {
  const isEncrypted = statement<{ ssl: boolean }>(
    "test_is_encrypted",
    "select ssl from pg_stat_ssl where pid = pg_backend_pid()",
  );

  async function connect(changes: Changes = {}): Promise<boolean | undefined> {
    const pool = { ...postgresOptions(config(changes)), schema: "outside", applicationName: "test", max: 1, logger };
    const { value: database, stop } = await startPool(pool);
    const [row] = await database.query(isEncrypted, []);
    await stop();
    return row?.ssl;
  }

  it("is used over TLS", async () => {
    expect(await connect()).toBe(true);
  });

  it("is not used with a wrong password, an untrusted certificate, a host name that is not in the certificate, or no TLS", async () => {
    const wrongPassword = new URL(servers.postgresUrl);
    wrongPassword.password = "wrong";
    const otherName = servers.postgresUrl.replace("@localhost", "@127.0.0.1");
    const refused = await Promise.allSettled([
      connect({ POSTGRES_URL: wrongPassword.href }),
      connect(trusting("POSTGRES_TLS_CA_FILE")),
      connect({ POSTGRES_URL: otherName }),
      migrate({ ...postgresOptions(config({ POSTGRES_URL: otherName })), schema: "outside", logger }),
      connect({ POSTGRES_URL: `${process.env["POSTGRES_URL"]}?sslmode=verify-full` }),
    ]);
    const reasons = refused.map((one) => (one.status === "rejected" ? String(one.reason) : "entered"));
    expect(reasons).toEqual([
      expect.stringMatching(/^Error: PostgreSQL at localhost:\d+ cannot be used: password authentication failed.*$/),
      expect.stringMatching(/^Error: PostgreSQL at localhost:\d+ cannot be used: .*certificate.*$/),
      expect.stringMatching(/^Error: PostgreSQL at 127\.0\.0\.1:\d+ cannot be used: .*does not match certificate.*$/),
      expect.stringMatching(/^Error: PostgreSQL at 127\.0\.0\.1:\d+ cannot be used: .*does not match certificate.*$/),
      expect.stringMatching(/cannot be used: The server does not support SSL connections$/),
    ]);
  });
});

describe("Redis", () => {
  async function connect(changes: Changes = {}): Promise<string | null> {
    const { value: redis, stop } = await startRedis({
      ...redisOptions(config(changes)),
      clientName: "test",
      functionLibraries: [],
      logger,
    });
    const problem = redis.check();
    await stop();
    return problem;
  }

  it("is used over TLS", async () => {
    expect(await connect()).toBeNull();
  });

  it("is not used with a wrong password, an untrusted certificate, or a host name that is not in the certificate", async () => {
    const refused = await Promise.allSettled([
      connect({ REDIS_URL: servers.redisUrl.replace(servers.password, "wrong") }),
      connect(trusting("REDIS_TLS_CA_FILE")),
      connect({ REDIS_URL: servers.redisUrl.replace("@localhost", "@127.0.0.1") }),
    ]);
    const reasons = refused.map((one) => (one.status === "rejected" ? String(one.reason) : "entered"));
    expect(reasons).toEqual([
      expect.stringMatching(/^Error: Redis at localhost:\d+ cannot be used: WRONGPASS.*$/),
      expect.stringMatching(/^Error: Redis at localhost:\d+ cannot be used: .*certificate.*$/),
      expect.stringMatching(/^Error: Redis at 127\.0\.0\.1:\d+ cannot be used: .*does not match certificate.*$/),
    ]);
  });
});

describe("kapi on external servers", () => {
  it("creates topics and schemas with its jobs; a job that fails prints the reason in one line", async () => {
    const topics = { KAFKA_PARTITIONS: "1", KAFKA_REPLICATION_FACTOR: "1", KAFKA_MIN_INSYNC_REPLICAS: "1" };
    const [created, refused, migrated, notMigrated] = await Promise.all([
      run("deploy/kafka", [], { ...topics, KAFKA_TOPIC_PREFIX: "job." }),
      run("deploy/kafka", [], { ...topics, KAFKA_SASL_PASSWORD: "wrong" }),
      run("services/command-status", ["migrate"], {}),
      run("services/command-status", ["migrate"], { ...trusting("POSTGRES_TLS_CA_FILE") }),
    ]);
    expect(created).toMatchObject({ code: 0 });
    expect(refused.stderr).toMatch(/^The topics could not be created: Kafka at \S+ cannot be used: .+\n$/);
    expect(refused.code).toBe(1);
    expect(migrated).toMatchObject({ code: 0 });
    expect(notMigrated.stdout).toMatch(/^.*PostgreSQL at \S+ cannot be used: [^"]*certificate.*\n$/);
    expect(notMigrated.code).toBe(1);
  });

  it(
    "executes a deposit and settles its credits, with a Redis Cluster, and for each service a PostgreSQL role that reaches only the service's rows",
    { timeout: STACK_TIMEOUT_MS },
    async () => {
      const url = new URL(servers.postgresUrl);
      url.pathname = "/kapi";
      const redis = await startTestRedisCluster();
      const env = {
        ...servers.env,
        POSTGRES_URL: url.href,
        REDIS_URL: redis.masters.map(({ secureUrl }) => secureUrl).join(","),
        REDIS_CLUSTER: "on",
        REDIS_TLS_CA_FILE: redis.authority.certificateFile,
        QUOTES_FILE: "",
      };
      const roles = await serviceRoles(url);
      const stack = await startStack({
        stateDir: `${servers.stateDir}-stack`,
        servers: {
          kafkaBrokers: servers.kafka.plainBrokers,
          postgresUrl: servers.plainPostgresUrl,
          redisUrl: servers.plainRedisUrl,
        },
        database: "kapi",
        topicPrefix: TOPIC_PREFIX,
        env: { ...roles, all: env },
      });
      try {
        const client = new OutsideClient(await createDemo(stack, { autoTraders: 0 }));
        const account = await client.openAccount(100);
        const { body } = await client.deposit(account, { amount: 12.34, requestId: "outside" });
        expect(await client.succeeded(body.command.id)).toMatchObject({ result: { balanceAfter: 112.34 } });
        await eventually(async () => {
          const { body: answer } = await client.call<{ wallet: object }>("GET", "/credits/balance");
          expect(answer.wallet).toMatchObject({ reservedCredits: 0 });
        });
      } finally {
        await stack.stop();
        await redis.stop();
      }
    },
  );
});
