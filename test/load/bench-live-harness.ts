/**
 * The resources of one part of `bench -- live` or `bench -- risk`: topics, a database, a Redis, an
 * organization with a key and a trading server, and metrics processes. Kafka, PostgreSQL and Redis
 * are real. A stub route replaces the account service: every account exists.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { setTimeout } from "node:timers/promises";

import { type DirectoryEntry, directoryKey, LIVE_METRICS_PATH, TOPICS } from "@kapi/contracts";
import { createKafka, startProducer, endOffsets, type KafkaConnection } from "@kapi/kafka";
import { createDemo, startStack } from "@kapi/local";
import { freePort } from "@kapi/servers";
import { ADMISSION_LIBRARY, syncShard, purchase, shardOf } from "@kapi/admission/redis";
import { startRedis } from "@kapi/redis";
import { createLogger, Scope } from "@kapi/runtime";
import { createTestEnvironment, keyEntry, serverEntry, STATE_VARIABLE, type TestEnvironment } from "@kapi/testkit";

import type { ClientMethods, ClientPlan } from "./bench-live-clients.ts";
import type { SourceMethods } from "./bench-live-source.ts";
import { startWorker, type Worker } from "./bench-live-workers.ts";

const MAIN = path.resolve(import.meta.dirname, "../../services/metrics/src/main.ts");
const PARTITIONS = 4;
const UNLIMITED_SOCKETS = { MAX_SOCKETS_PER_ORGANIZATION: "100000" };
const EPOCH = 1;
const CREDITS = 1_000_000_000;
const READY_TIMEOUT_MS = 180_000;
const READY_POLL_MS = 10;
const UNTIL_POLL_MS = 50;
const DEFAULT_TIMEOUT_MS = 120_000;
/** Account numbers have eight digits. */
export const FIRST_ACCOUNT = 10_000_000;
/** More than one: a single client process could not count samples at the highest rates. */
const CLIENT_PROCESSES = 2;

/** A metrics process. */
export interface MetricsProcess {
  readonly pid: number;
  /** The port of the live stream. */
  readonly port: number;
  /** Time from its start until it was ready. */
  readonly readyMs: number;
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** The client processes, used as one. */
export interface Clients {
  readonly workers: readonly Worker<ClientMethods>[];
  open(plan: ClientPlan): Promise<void>;
}

/** The resources of one part, and the processes that it starts. `stop` stops all of them. */
export class LiveHarness {
  readonly scope = new Scope();
  readonly environment: TestEnvironment;
  readonly kafka: KafkaConnection;
  /**
   * The trading server and the key of the clients. `startWholeStack` replaces these values by the
   * trading server and the key of its organization.
   */
  #serverId: string = randomUUID();
  #authorization: string;
  readonly #key: ReturnType<typeof keyEntry>;
  #accountUrl = "";

  private constructor(environment: TestEnvironment) {
    this.environment = environment;
    const logger = createLogger({ service: "bench", level: "error" });
    const { kafkaBrokers, topicPrefix } = environment;
    this.kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "bench", topicPrefix, logger });
    this.#key = keyEntry();
    this.#authorization = `Management ${this.#key.managementKey}`;
  }

  /** Creates the topics, the key, the server and the wallet, without a metrics process. */
  static async start(): Promise<LiveHarness> {
    const harness = await LiveHarness.#empty();
    await harness.#fillDirectory();
    await harness.#fillWallet();
    return harness;
  }

  /**
   * Starts all services in one process, as `npm start` does. However, the metrics service asks the
   * stub which accounts exist. `metricsEnv` has further environment variables for the metrics
   * service. Returns the harness, the id of the process, and the port of the live stream.
   */
  static async startWholeStack(
    metricsEnv: Readonly<Record<string, string>>,
  ): Promise<{ readonly harness: LiveHarness; readonly pid: number; readonly port: number }> {
    const harness = await LiveHarness.#empty();
    const { kafkaBrokers, topicPrefix, postgresUrl, redisUrl } = harness.environment;
    const stack = await startStack({
      stateDir: path.join(process.env[STATE_VARIABLE] ?? "", "whole-stack"),
      servers: { kafkaBrokers, postgresUrl, redisUrl },
      topicPrefix,
      together: true,
      env: { metrics: { ACCOUNT_URL: harness.#accountUrl, ...UNLIMITED_SOCKETS, ...metricsEnv } },
    });
    await harness.scope.start("the whole stack", () => ({ value: null, stop: () => stack.stop() }));
    const demo = await createDemo(stack);
    harness.#serverId = demo.serverId;
    harness.#authorization = `Management ${demo.managementKey}`;
    const [pid] = [...stack.processes.values()].map((one) => one.pid);
    if (typeof pid !== "number") throw new Error("the process of the services has ended");
    return { harness, pid, port: Number(new URL(stack.wsBase).port) };
  }

  static async #empty(): Promise<LiveHarness> {
    const environment = await createTestEnvironment({ partitions: PARTITIONS });
    const harness = new LiveHarness(environment);
    await harness.scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
    await harness.scope.start("account service", () => harness.#standIn());
    return harness;
  }

  stop(): Promise<void> {
    return this.scope.stop();
  }

  /**
   * Starts a metrics process with `env` and waits until the process is ready. `livePort` is the
   * port of its live stream, such as the port of an ended process. Without `livePort`, or without
   * `HTTP_PORT` in `env`, the process gets a free port instead.
   */
  async metrics(env: Readonly<Record<string, string>> = {}, livePort?: number): Promise<MetricsProcess> {
    const httpPort = env["HTTP_PORT"] ?? (await freePort());
    const port = livePort ?? (await freePort());
    const startedMs = performance.now();
    const child = spawn(process.execPath, [MAIN], {
      env: {
        ...process.env,
        ...this.environment.env,
        SERVICE_TOKEN: this.environment.secrets.serviceTokens.metrics,
        HTTP_PORT: String(httpPort),
        LIVE_PORT: String(port),
        ACCOUNT_URL: this.#accountUrl,
        // Sequencers require this setting. They do not use it here: nobody asks them for samples.
        SAMPLES_URL: this.#accountUrl,
        ...UNLIMITED_SOCKETS,
        ...env,
      },
      stdio: ["ignore", "inherit", "inherit"],
    });
    const { pid } = child;
    if (pid === undefined) throw new Error("the metrics process could not be started");
    const end = (): void => void child.kill("SIGKILL");
    process.once("exit", end);
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    void gone.then(() => process.off("exit", end));
    const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<void> => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await gone;
    };
    await this.scope.start(`metrics ${pid}`, () => ({ value: null, stop }));
    const ready = async (): Promise<boolean> => {
      if (child.exitCode !== null) throw new Error(`the metrics process ended with ${child.exitCode}`);
      return (await fetch(`http://127.0.0.1:${httpPort}/readyz`).catch(() => null))?.ok ?? false;
    };
    await until("a metrics process that is ready", ready, READY_TIMEOUT_MS, READY_POLL_MS);
    return { pid, port, readyMs: performance.now() - startedMs, stop };
  }

  /** Starts a process that publishes valuations of accounts from `firstAccount` on. */
  async source(accounts: number, firstAccount = FIRST_ACCOUNT): Promise<Worker<SourceMethods>> {
    const source = startWorker<SourceMethods>("bench-live-source.ts");
    await this.scope.start("source", () => ({ value: null, stop: () => source.stop() }));
    const { kafkaBrokers: brokers, topicPrefix } = this.environment;
    const serverId = this.#serverId;
    await source.call("connect", { brokers, topicPrefix, serverId, firstAccount, accounts });
    return source;
  }

  /** Starts client processes. They have no sockets before `open` is called. */
  async clients(): Promise<Clients> {
    const workers = Array.from({ length: CLIENT_PROCESSES }, () => startWorker<ClientMethods>("bench-live-clients.ts"));
    for (const worker of workers) await this.scope.start("clients", () => ({ value: null, stop: () => worker.stop() }));
    return { workers, open: (plan) => openIn(workers, plan) };
  }

  /** The address and subscription for clients of a metrics process. */
  live({ port }: { readonly port: number }): Pick<ClientPlan, "host" | "port" | "path" | "subscribe"> {
    const [serverId, authorization] = [this.#serverId, this.#authorization];
    return { host: "127.0.0.1", port, path: LIVE_METRICS_PATH, subscribe: { serverId, authorization } };
  }

  /** Number of samples in the log. */
  async samples(): Promise<number> {
    let count = 0n;
    for (const end of (await endOffsets(this.kafka, TOPICS.metricsSamples)).values()) count += end;
    return Number(count);
  }

  async #fillDirectory(): Promise<void> {
    const producer = await startProducer(this.kafka);
    const { organizationId } = this.#key.entry;
    const entries: DirectoryEntry[] = [this.#key.entry, serverEntry({ serverId: this.#serverId, organizationId })];
    for (const entry of entries) {
      const value = JSON.stringify(entry);
      await producer.value.send(TOPICS.organizationDirectory, { key: directoryKey(entry), value });
    }
    await producer.stop();
  }

  async #fillWallet(): Promise<void> {
    const { organizationId } = this.#key.entry;
    const logger = createLogger({ service: "bench", level: "error" });
    const redis = await startRedis({
      url: this.environment.redisUrl,
      clientName: "bench",
      functionLibraries: [ADMISSION_LIBRARY],
      logger,
    });
    await syncShard(redis.value, shardOf(organizationId), EPOCH, []);
    await purchase(redis.value, {
      organizationId,
      purchaseId: randomUUID(),
      credits: CREDITS,
      epoch: EPOCH,
      walletId: randomUUID(),
      lowBalanceThreshold: 0,
      createdAtMs: Date.now(),
    });
    await redis.stop();
  }

  /**
   * Starts the stub of POST /internal/accounts/existing, which answers that every account exists.
   */
  async #standIn(): Promise<{ value: null; stop(): Promise<void> }> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { accounts } = JSON.parse(Buffer.concat(chunks).toString()) as { accounts: unknown[] };
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ existing: accounts.map(() => true) }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.#accountUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const stop = async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    return { value: null, stop };
  }
}

/** Waits until `isSo` returns true; throws after `timeoutMs`. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  timeoutMs = DEFAULT_TIMEOUT_MS,
  pollMs = UNTIL_POLL_MS,
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`${what}: waited longer than ${timeoutMs / 1_000} s`);
    await setTimeout(pollMs);
  }
}

/** Divides the sockets equally among the processes. The first process also gets the remainder. */
async function openIn(workers: readonly Worker<ClientMethods>[], plan: ClientPlan): Promise<void> {
  const each = Math.floor(plan.sockets / workers.length);
  let from = 0;
  const plans = workers.map((_, index) => {
    const sockets = index === 0 ? plan.sockets - each * (workers.length - 1) : each;
    const firstAccount = plan.firstAccount + from * plan.accountStep;
    from += sockets;
    return { ...plan, sockets, firstAccount };
  });
  await Promise.all(workers.map((worker, index) => worker.call("open", plans[index] ?? plan)));
}
