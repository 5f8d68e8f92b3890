import { createKafka, createTopics, type TopicOverride } from "@kapi/kafka";
import { assertDefined } from "@kapi/kernel";
import {
  createDatabase,
  deleteTopics,
  dropDatabase,
  generateSecrets,
  type Secrets,
  type ServerContext,
} from "@kapi/servers";
import { createLogger, type Scope } from "@kapi/runtime";

import { startInFolder, testFolder, testName } from "./state-folder.ts";
import { startTestKafka, type TestKafka } from "./test-kafka.ts";
import { startTestRedis, type TestRedis } from "./test-redis.ts";

const DEFAULT_PARTITIONS = 4;

export interface EnvironmentOptions {
  /** What the test needs; all three unless told otherwise. Less is faster. */
  readonly needs?: readonly ("kafka" | "postgres" | "redis")[];
  /** Partitions of each topic. */
  readonly partitions?: number;
  /** Kafka's own settings of topics, by the name of the contract ("metrics.latest"). */
  readonly topics?: Readonly<Record<string, TopicOverride>>;
  /** Broker settings ("log.cleaner.backoff.ms"): the test gets a Kafka of its own with them, some seconds later. */
  readonly ownKafka?: Readonly<Record<string, string>>;
}

/** What one test file has for itself on the real servers. */
export interface TestEnvironment {
  /** Unlike that of any other environment; lower-case letters and digits. */
  readonly name: string;
  readonly kafkaBrokers: string;
  /** Only with `ownKafka`. */
  readonly kafka: TestKafka;
  /** All topics exist under this prefix. */
  readonly topicPrefix: string;
  /** A database of its own, empty. */
  readonly postgresUrl: string;
  /** A Redis of its own, empty. */
  readonly redisUrl: string;
  readonly redis: TestRedis;
  readonly secrets: Secrets;
  /** A folder of its own, removed at the end. */
  readonly stateDir: string;
  /** The environment variables of a service in here, but for its port and the addresses of others. */
  readonly env: Readonly<Record<string, string>>;
  /** Removes all of it. */
  stop(): Promise<void>;
}

/** Makes what one test file needs; call it in `beforeAll` and its `stop` in `afterAll`. */
export async function createTestEnvironment(options: EnvironmentOptions = {}): Promise<TestEnvironment> {
  const { needs = ["kafka", "postgres", "redis"] } = options;
  const name = testName();
  const stateDir = testFolder(name);
  return startInFolder(stateDir, async ({ scope, context }) => {
    const [kafka, postgresUrl, redis] = await Promise.all([
      needs.includes("kafka") ? startKafka(name, options, scope, context) : null,
      needs.includes("postgres") ? scope.start("database", () => ownDatabase(name)) : null,
      needs.includes("redis") ? scope.start("redis", () => startTestRedis(context)) : null,
    ]);
    return assemble({ name, stateDir, context, kafka, postgresUrl, redis, stop: () => scope.stop() });
  });
}

interface Parts {
  readonly name: string;
  readonly stateDir: string;
  readonly context: ServerContext;
  readonly kafka: KafkaPart | null;
  readonly postgresUrl: string | null;
  readonly redis: TestRedis | null;
  stop(): Promise<void>;
}

function assemble(parts: Parts): TestEnvironment {
  const secrets = generateSecrets();
  const had = <T>(part: T | null, name: string): T => assertDefined(part ?? undefined, `"${name}" in needs`);
  const env: Record<string, string> = {
    HTTP_HOST: "127.0.0.1",
    LOG_LEVEL: "warn",
    INTERNAL_TOKEN: secrets.internalToken,
    TRADING_SERVER_TOKEN: secrets.tradingServerToken,
    PASSWORD_DERIVATION_KEYS: secrets.passwordDerivationKeys,
    PASSWORD_SEALING_KEYS: secrets.passwordSealingKeys,
    FINGERPRINT_KEY: secrets.fingerprintKey,
    WEBHOOK_SEALING_KEYS: secrets.webhookSealingKeys,
  };
  if (parts.kafka !== null) {
    env["KAFKA_BROKERS"] = parts.kafka.brokers;
    env["KAFKA_TOPIC_PREFIX"] = parts.kafka.topicPrefix;
  }
  if (parts.postgresUrl !== null) env["POSTGRES_URL"] = parts.postgresUrl;
  if (parts.redis !== null) env["REDIS_URL"] = parts.redis.url;
  return {
    name: parts.name,
    stateDir: parts.stateDir,
    secrets,
    env,
    get kafkaBrokers() {
      return had(parts.kafka, "kafka").brokers;
    },
    get kafka() {
      return assertDefined(parts.kafka?.own ?? undefined, "ownKafka among the options");
    },
    get topicPrefix() {
      return had(parts.kafka, "kafka").topicPrefix;
    },
    get postgresUrl() {
      return had(parts.postgresUrl, "postgres");
    },
    get redis() {
      return had(parts.redis, "redis");
    },
    get redisUrl() {
      return had(parts.redis, "redis").url;
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
  const { ownKafka } = options;
  const own = ownKafka === undefined ? null : await scope.start("kafka", () => startTestKafka(context, ownKafka));
  const brokers = own?.brokers ?? given("KAFKA_BROKERS");
  const topicPrefix = `${name}.`;
  await scope.start("topics", () => ownTopics(brokers, topicPrefix, options));
  return { brokers, topicPrefix, own };
}

async function ownTopics(
  brokers: string,
  topicPrefix: string,
  { partitions = DEFAULT_PARTITIONS, topics = {} }: EnvironmentOptions,
): Promise<{ value: null; stop(): Promise<void> }> {
  const logger = createLogger({ service: "testkit", level: "error" });
  const kafka = createKafka({ brokers: brokers.split(","), clientId: "testkit", topicPrefix, logger });
  await createTopics(kafka, { partitions, replicationFactor: 1, minInsyncReplicas: 1, overrides: topics });
  return { value: null, stop: () => deleteTopics(brokers, topicPrefix) };
}

async function ownDatabase(name: string): Promise<{ value: string; stop(): Promise<void> }> {
  const server = given("POSTGRES_URL");
  return { value: await createDatabase(server, name), stop: () => dropDatabase(server, name) };
}

function given(variable: string): string {
  return assertDefined(process.env[variable], `${variable}, which the global set-up of the tests gives`);
}
