import { createKafka, createTopics, type TopicOverride } from "@kapi/kafka";
import { assertDefined } from "@kapi/kernel";
import {
  type Clusters,
  createDatabase,
  deleteTopics,
  dropDatabase,
  generateSecrets,
  type Secrets,
  type ServerContext,
  serviceTokenDigests,
} from "@kapi/servers";
import { createLogger, type Scope } from "@kapi/runtime";

import { startInFolder, testFolder, testName } from "./state-folder.ts";
import { startTestKafka, type TestKafka } from "./test-kafka.ts";
import { startTestRedis, type TestRedis } from "./test-redis.ts";

const DEFAULT_PARTITIONS = 4;

/** Set by a test file that needs other servers or settings than the usual ones. */
export interface EnvironmentOptions {
  /** The servers that the test needs; default: all three. Fewer servers start faster. */
  readonly needs?: readonly ("kafka" | "postgres" | "redis")[];
  /** Partitions of each topic. Default 4. */
  readonly partitions?: number;
  /**
   * Kafka settings of single topics, by the topic's name in `libs/contracts` ("metrics.latest").
   */
  readonly topics?: Readonly<Record<string, TopicOverride>>;
  /**
   * Broker settings ("log.cleaner.backoff.ms"). The test gets a separate Kafka with them, which
   * takes some seconds to start.
   */
  readonly ownKafka?: Readonly<Record<string, string>>;
  /** Running clusters (`startTestClusters`) to use instead of the servers of the run. */
  readonly clusters?: Clusters;
}

/** The topics, the database and the Redis of one test file, on real servers. */
export interface TestEnvironment {
  /** Unique; lower-case letters and digits. */
  readonly name: string;
  readonly kafkaBrokers: string;
  /** Throws without the option `ownKafka`. */
  readonly kafka: TestKafka;
  /** All topics exist under this prefix. */
  readonly topicPrefix: string;
  /** An empty database, which no other environment uses. */
  readonly postgresUrl: string;
  /** An empty Redis, which no other environment uses. */
  readonly redisUrl: string;
  readonly redis: TestRedis;
  /** Throws without the option `clusters`. */
  readonly clusters: Clusters;
  readonly secrets: Secrets;
  /** A folder of this environment; `stop` removes it. */
  readonly stateDir: string;
  /**
   * The environment variables of a service, without its port, its own token and the addresses of
   * other services.
   */
  readonly env: Readonly<Record<string, string>>;
  /** Stops the servers of this environment, and removes its topics, database and folder. */
  stop(): Promise<void>;
}

/** Creates the environment of one test file. Call it in `beforeAll`, and `stop` in `afterAll`. */
export async function createTestEnvironment(options: EnvironmentOptions = {}): Promise<TestEnvironment> {
  const { needs = ["kafka", "postgres", "redis"] } = options;
  const name = testName();
  const stateDir = testFolder(name);
  return startInFolder(stateDir, async ({ scope, context }) => {
    const [kafka, postgresUrl, redis] = await Promise.all([
      needs.includes("kafka") ? startKafka(name, options, scope, context) : null,
      needs.includes("postgres") ? scope.start("database", () => ownDatabase(name, options)) : null,
      needs.includes("redis") ? scope.start("redis", () => ownRedis(context, options)) : null,
    ]);
    const { clusters = null } = options;
    return assemble({ name, stateDir, context, clusters, kafka, postgresUrl, redis, stop: () => scope.stop() });
  });
}

interface Parts {
  readonly name: string;
  readonly stateDir: string;
  readonly context: ServerContext;
  readonly kafka: KafkaPart | null;
  readonly postgresUrl: string | null;
  readonly redis: TestRedis | null;
  readonly clusters: Clusters | null;
  stop(): Promise<void>;
}

function assemble(parts: Parts): TestEnvironment {
  const secrets = generateSecrets();
  const needed = <T>(part: T | null, name: string): T => assertDefined(part ?? undefined, `"${name}" in needs`);
  const env: Record<string, string> = {
    HTTP_HOST: "127.0.0.1",
    LOG_LEVEL: "warn",
    SERVICE_TOKEN_DIGESTS: serviceTokenDigests(secrets),
    TRADING_SERVER_TOKEN: secrets.tradingServerToken,
    PASSWORD_DERIVATION_KEYS: secrets.passwordDerivationKeys,
    PASSWORD_SEALING_KEYS: secrets.passwordSealingKeys,
    FINGERPRINT_KEY: secrets.fingerprintKey,
    WEBHOOK_SEALING_KEYS: secrets.webhookSealingKeys,
    EVIDENCE_SIGNING_KEYS: secrets.evidenceSigningKeys,
    TRADING_SERVER_SEALING_KEYS: secrets.tradingServerSealingKeys,
    CONSOLE_SEALING_KEYS: secrets.consoleSealingKeys,
    TRADING_SERVER_ALLOW_INSECURE: "true",
  };
  if (parts.kafka !== null) {
    env["KAFKA_BROKERS"] = parts.kafka.brokers;
    env["KAFKA_TOPIC_PREFIX"] = parts.kafka.topicPrefix;
  }
  if (parts.postgresUrl !== null) env["POSTGRES_URL"] = parts.postgresUrl;
  if (parts.redis !== null) env["REDIS_URL"] = parts.redis.url;
  if (parts.redis !== null && parts.clusters !== null) env["REDIS_CLUSTER"] = "on";
  return {
    name: parts.name,
    stateDir: parts.stateDir,
    secrets,
    env,
    get kafkaBrokers() {
      return needed(parts.kafka, "kafka").brokers;
    },
    get kafka() {
      return assertDefined(parts.kafka?.own ?? undefined, "ownKafka among the options");
    },
    get topicPrefix() {
      return needed(parts.kafka, "kafka").topicPrefix;
    },
    get postgresUrl() {
      return needed(parts.postgresUrl, "postgres");
    },
    get redis() {
      return needed(parts.redis, "redis");
    },
    get redisUrl() {
      return needed(parts.redis, "redis").url;
    },
    get clusters() {
      return assertDefined(parts.clusters ?? undefined, "clusters among the options");
    },
    stop: () => parts.stop(),
  };
}

interface KafkaPart {
  readonly brokers: string;
  readonly topicPrefix: string;
  readonly own: TestKafka | null;
}

async function startKafka(
  name: string,
  options: EnvironmentOptions,
  scope: Scope,
  context: ServerContext,
): Promise<KafkaPart> {
  const { ownKafka, clusters } = options;
  const own = ownKafka === undefined ? null : await scope.start("kafka", () => startTestKafka(context, ownKafka));
  const brokers = own?.brokers ?? clusters?.kafkaBrokers ?? given("KAFKA_BROKERS");
  const topicPrefix = `${name}.`;
  await scope.start("topics", () => ownTopics(brokers, topicPrefix, options));
  return { brokers, topicPrefix, own };
}

async function ownTopics(
  brokers: string,
  topicPrefix: string,
  { partitions = DEFAULT_PARTITIONS, topics = {}, clusters }: EnvironmentOptions,
): Promise<{ value: null; stop(): Promise<void> }> {
  const logger = createLogger({ service: "testkit", level: "error" });
  const kafka = createKafka({ brokers: brokers.split(","), clientId: "testkit", topicPrefix, logger });
  const replicas = clusters?.kafkaReplicas ?? { replicationFactor: 1, minInsyncReplicas: 1 };
  await createTopics(kafka, { partitions, ...replicas, overrides: topics });
  return { value: null, stop: clusters === undefined ? () => deleteTopics(brokers, topicPrefix) : endsWithClusters };
}

async function ownDatabase(
  name: string,
  { clusters }: EnvironmentOptions,
): Promise<{ value: string; stop(): Promise<void> }> {
  const server = clusters?.postgresUrl ?? given("POSTGRES_URL");
  const value = await createDatabase(server, name);
  return { value, stop: clusters === undefined ? () => dropDatabase(server, name) : endsWithClusters };
}

/** A separate Redis process; on clusters, the Redis Cluster, which only one test file uses. */
async function ownRedis(
  context: ServerContext,
  { clusters }: EnvironmentOptions,
): Promise<{ value: TestRedis; stop(): Promise<void> }> {
  if (clusters === undefined) return startTestRedis(context);
  const impossible = (): Promise<never> => Promise.reject(new Error("On clusters, use clusters.redis."));
  const faults = { crash: impossible, restart: impossible, refuseWrites: impossible, takeWrites: impossible };
  return { value: { url: clusters.redisUrl, ...faults }, stop: endsWithClusters };
}

/** Topics and databases on clusters are removed with the clusters, which a test may have broken. */
function endsWithClusters(): Promise<void> {
  return Promise.resolve();
}

function given(variable: string): string {
  return assertDefined(process.env[variable], `${variable} (set by the global set-up of the tests)`);
}
