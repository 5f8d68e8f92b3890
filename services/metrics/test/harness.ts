import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import path from "node:path";

import {
  accountKey,
  type DirectoryEntry,
  directoryKey,
  type KeyEntry,
  TOPICS,
  type TopicContract,
  type Valuation,
} from "@kapi/contracts";
import { createHttpServer, startListening } from "@kapi/http";
import {
  createKafka,
  startLogReader,
  startProducer,
  type KafkaConnection,
  type Message,
  type Producer,
} from "@kapi/kafka";
import { ADMISSION_LIBRARY, syncShard, purchase, shardOf } from "@kapi/admission/redis";
import { startRedis, type RedisConnection } from "@kapi/redis";
import { createLogger, Health, Scope, type Started } from "@kapi/runtime";
import {
  createTestEnvironment,
  type EnvironmentOptions,
  eventually,
  keyEntry,
  serverEntry,
  type TestEnvironment,
  valuation,
} from "@kapi/testkit";

const MAIN = path.resolve(import.meta.dirname, "../src/main.ts");
const READY_TIMEOUT_MS = 60_000;
const logger = createLogger({ service: "metrics-test", level: "error" });

/** A metrics process under test. */
export interface MetricsProcess {
  readonly url: string;
  readonly wsUrl: string;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  /** Sends a signal, by default SIGKILL; resolves when the process has ended. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Only sends the signal: SIGSTOP, SIGCONT. */
  signal(signal: NodeJS.Signals): void;
}

/**
 * An environment for metrics processes: real Kafka, PostgreSQL and Redis, one route of an account
 * service, and an organization with credits, a key and a server.
 */
export class Harness {
  readonly scope = new Scope();
  readonly environment: TestEnvironment;
  readonly kafka: KafkaConnection;
  readonly producer: Producer;
  readonly redis: RedisConnection;
  readonly organizationId: string;
  readonly serverId: string;
  readonly managementKey: string;
  readonly key: KeyEntry;
  /** The keys of the accounts that exist in the account service. */
  readonly accounts = new Set<string>();
  /** The account numbers in each call to the account service. */
  readonly asked: string[][] = [];
  #epoch = 0;
  #account: Started<{ readonly url: string; readonly port: number }> | null = null;
  #accountPort = 0;
  readonly #measuredMs = new Map<string, number>();
  readonly #processes = new Set<MetricsProcess>();

  private constructor(
    environment: TestEnvironment,
    kafka: KafkaConnection,
    producer: Producer,
    redis: RedisConnection,
  ) {
    this.environment = environment;
    this.kafka = kafka;
    this.producer = producer;
    this.redis = redis;
    this.organizationId = randomUUID();
    const made = keyEntry({ organizationId: this.organizationId });
    this.key = made.entry;
    this.managementKey = made.managementKey;
    this.serverId = randomUUID();
  }

  /** Starts the environment, with 4 partitions by default. */
  static async start(options: EnvironmentOptions = {}): Promise<Harness> {
    const environment = await createTestEnvironment({ partitions: 4, ...options });
    const kafka = createKafka({
      brokers: environment.kafkaBrokers.split(","),
      clientId: "metrics-test",
      topicPrefix: environment.topicPrefix,
      logger,
    });
    const producer = await startProducer(kafka);
    const redis = await startRedis({
      url: environment.redisUrl,
      clientName: "metrics-test",
      functionLibraries: [ADMISSION_LIBRARY],
      logger,
    });
    const harness = new Harness(environment, kafka, producer.value, redis.value);
    await harness.scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
    await harness.scope.start("producer", () => producer);
    await harness.scope.start("redis", () => redis);
    await harness.#fill();
    return harness;
  }

  /** The environment variables of a metrics process in this harness, without its port. */
  get metricsEnv(): Record<string, string> {
    return {
      ...this.environment.env,
      SERVICE_TOKEN: this.environment.secrets.serviceTokens.metrics,
      ACCOUNT_URL: `http://127.0.0.1:${this.#accountPort}`,
      // A process with only the role `sequencer` does not start without this setting. This address
      // does not serve samples: a test that reads the newest ones sets another address.
      SAMPLES_URL: `http://127.0.0.1:${this.#accountPort}`,
      COALESCE_MS: "0",
      CATCH_UP_TIMEOUT_MS: "200",
      CHECKPOINT_INTERVAL_MS: "300",
      KAFKA_SESSION_TIMEOUT_MS: "3000",
    };
  }

  /** Starts a metrics process, on the port `HTTP_PORT` if given, and waits until it is ready. */
  async metrics(env: Record<string, string> = {}): Promise<MetricsProcess> {
    const port = env["HTTP_PORT"] ?? (await this.freePorts(1))[0];
    const child = spawn(process.execPath, [MAIN], {
      env: { ...process.env, ...this.metricsEnv, HTTP_PORT: String(port), ...env },
      stdio: ["ignore", "inherit", "inherit"],
    });
    const url = `http://127.0.0.1:${port}`;
    const started = processOf(child, url);
    this.#processes.add(started);
    await this.scope.start(`metrics ${port}`, () => ({ value: null, stop: () => started.kill() }));
    await eventually(async () => (await fetch(`${url}/readyz`)).ok && child.exitCode === null, {
      timeoutMs: READY_TIMEOUT_MS,
    });
    return started;
  }

  /**
   * Stops every running metrics process gracefully. After a kill, the consumer groups would wait
   * for the session timeout of their members.
   */
  async endProcesses(): Promise<void> {
    for (const one of this.#processes) one.signal("SIGCONT");
    await Promise.all([...this.#processes].map((one) => one.kill("SIGTERM")));
    this.#processes.clear();
  }

  /** Creates an account without samples. */
  account(): string {
    let { accountNumber } = valuation();
    // Thousands of random numbers can contain a duplicate.
    while (this.accounts.has(accountKey(this.serverId, accountNumber))) ({ accountNumber } = valuation());
    this.accounts.add(accountKey(this.serverId, accountNumber));
    return accountNumber;
  }

  /** Publishes valuations of an account with these equities, in this order, without a pause. */
  async value(accountNumber: string, equities: readonly number[], change: Partial<Valuation> = {}): Promise<void> {
    const firstMs = Math.max(Date.now(), this.#measuredMs.get(accountNumber) ?? 0);
    this.#measuredMs.set(accountNumber, firstMs + equities.length);
    await Promise.all(
      equities.map((equityMinor, index) => {
        const measuredAt = new Date(firstMs + index).toISOString();
        const value = valuation({ serverId: this.serverId, accountNumber, equityMinor, measuredAt, ...change });
        const key = accountKey(this.serverId, accountNumber);
        return this.producer.send(TOPICS.tradingValuations, { key, value: JSON.stringify(value) });
      }),
    );
  }

  /** Publishes an entry of the directory: a key or a server. */
  async putDirectory(entry: DirectoryEntry): Promise<void> {
    const value = JSON.stringify(entry);
    await this.producer.send(TOPICS.organizationDirectory, { key: directoryKey(entry), value });
  }

  /** All records of a topic, in log order within a partition. */
  async readAll(topic: TopicContract): Promise<{ partition: number; message: Message }[]> {
    const all: { partition: number; message: Message }[] = [];
    const reader = await startLogReader(this.kafka, {
      topic,
      from: "beginning",
      onBatch: (partition, messages) => void all.push(...messages.map((message) => ({ partition, message }))),
      logger,
      fatal: () => undefined,
    });
    await reader.value.caughtUp;
    await reader.stop();
    return all;
  }

  /** The account's records in `metrics.samples`: samples, and deletions with an empty value. */
  async samplesOf(accountNumber: string): Promise<{ partition: number; message: Message }[]> {
    const key = accountKey(this.serverId, accountNumber);
    return (await this.readAll(TOPICS.metricsSamples)).filter(({ message }) => message.key === key);
  }

  /** Creates the organization and starts the account service. */
  async #fill(): Promise<void> {
    const { organizationId } = this;
    await this.putDirectory(this.key);
    await this.putDirectory(serverEntry({ serverId: this.serverId, organizationId }));
    await this.buy(organizationId, 10_000);
    await this.startAccountService();
    await this.scope.start("account", () => ({ value: null, stop: () => this.stopAccountService() }));
  }

  /** Starts the account service, at the same address as before. */
  async startAccountService(): Promise<void> {
    const app = createHttpServer({ logger, health: new Health() });
    app.post("/internal/accounts/existing", (request) => {
      const { accounts } = request.body as { accounts: { serverId: string; accountNumber: string }[] };
      this.asked.push(accounts.map(({ accountNumber }) => accountNumber));
      return { existing: accounts.map((one) => this.accounts.has(accountKey(one.serverId, one.accountNumber))) };
    });
    this.#account = await startListening(app, { host: "127.0.0.1", port: this.#accountPort });
    this.#accountPort = this.#account.value.port;
  }

  /** Stops the account service: nothing listens at its address. */
  async stopAccountService(): Promise<void> {
    await this.#account?.stop();
    this.#account = null;
  }

  /** Adds credits to an organization's wallet. */
  async buy(organizationId: string, credits: number): Promise<void> {
    // A sync after a restart of Redis needs a higher epoch than every earlier sync.
    this.#epoch += 1;
    await syncShard(this.redis, shardOf(organizationId), this.#epoch, []);
    await purchase(this.redis, {
      organizationId,
      purchaseId: randomUUID(),
      credits,
      epoch: this.#epoch,
      walletId: randomUUID(),
      lowBalanceThreshold: 0,
      createdAtMs: Date.now(),
    });
  }

  /** Returns different ports of this machine on which nothing listens. */
  async freePorts(count: number): Promise<number[]> {
    const listen = () =>
      startListening(createHttpServer({ logger, health: new Health() }), { host: "127.0.0.1", port: 0 });
    const probes = await Promise.all(Array.from({ length: count }, listen));
    await Promise.all(probes.map((probe) => probe.stop()));
    return probes.map(({ value }) => value.port);
  }
}

function processOf(child: ChildProcess, url: string): MetricsProcess {
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  return {
    url,
    wsUrl: url.replace("http", "ws"),
    ended,
    signal: (signal) => void child.kill(signal),
    kill: async (signal = "SIGKILL") => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await ended;
    },
  };
}
