import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import path from "node:path";

import {
  type CreateWebhookBody,
  EventsAnswer,
  type TopicContract,
  WebhookAnswer,
  WebhookDeliveriesAnswer,
  type WebhookDelivery,
  WebhookSecretAnswer,
} from "@kapi/contracts";
import type { InternalClient } from "@kapi/http";
import { createKafka, startProducer, type Producer } from "@kapi/kafka";
import { systemClock } from "@kapi/kernel";
import { createLogger, Health, loadConfig, Scope } from "@kapi/runtime";
import { startOwnerClient, createTestEnvironment, eventually, TestClock, type TestEnvironment } from "@kapi/testkit";
import type { z } from "zod";

import { ConfigSchema } from "../src/config.ts";
import { type ServiceOverrides, startService } from "../src/service.ts";

const MAIN = path.resolve(import.meta.dirname, "../src/main.ts");
const CALL_TIMEOUT_MS = 20_000;
const READY_TIMEOUT_MS = 40_000;

type NewEndpoint = z.input<typeof CreateWebhookBody>;

/**
 * The service with real Kafka and PostgreSQL: in this process with a test clock and without jitter,
 * or as child processes.
 */
export class Harness {
  readonly scope = new Scope();
  readonly clock = new TestClock(Date.now());
  readonly organizationId = randomUUID();
  readonly environment: TestEnvironment;
  readonly producer: Producer;
  #client: InternalClient | null = null;

  private constructor(environment: TestEnvironment, producer: Producer) {
    this.environment = environment;
    this.producer = producer;
  }

  /** Prepares Kafka, PostgreSQL and a producer, without the service. */
  static async prepare(): Promise<Harness> {
    const environment = await createTestEnvironment({ needs: ["kafka", "postgres"] });
    const logger = createLogger({ service: "test", level: "error" });
    const kafka = createKafka({
      brokers: environment.kafkaBrokers.split(","),
      clientId: "test",
      topicPrefix: environment.topicPrefix,
      logger,
    });
    const producer = await startProducer(kafka);
    const harness = new Harness(environment, producer.value);
    await harness.scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
    await harness.scope.start("producer", () => producer);
    return harness;
  }

  static async start(env: Readonly<Record<string, string>> = {}, overrides: ServiceOverrides = {}): Promise<Harness> {
    const harness = await Harness.prepare();
    await harness.startService(env, overrides);
    return harness;
  }

  /**
   * Starts the service in this process with the test clock. Local addresses are allowed unless
   * `env` forbids them.
   */
  async startService(env: Readonly<Record<string, string>> = {}, overrides: ServiceOverrides = {}): Promise<Scope> {
    const scope = new Scope();
    const logger = createLogger({ service: "webhooks", level: env["LOG_LEVEL"] ?? "error" });
    const all = { ...this.environment.env, HTTP_PORT: "0", WEBHOOK_ALLOW_INSECURE: "true", ...env };
    const { url } = await startService(
      {
        config: loadConfig(ConfigSchema, all),
        scope,
        logger,
        health: new Health(),
        clock: systemClock,
        fatal: (error) => {
          throw error;
        },
      },
      { random: () => 0, clock: this.clock, ...overrides },
    );
    await this.scope.start("service", () => ({ value: null, stop: () => scope.stop() }));
    await this.connect(url);
    return scope;
  }

  /** Starts the service as a child process with the system clock. */
  async spawn(env: Readonly<Record<string, string>> = {}): Promise<ChildProcess> {
    const all = { ...process.env, ...this.environment.env, HTTP_PORT: "0", WEBHOOK_ALLOW_INSECURE: "true", ...env };
    const child = spawn(process.execPath, [MAIN], {
      env: { ...all, LOG_LEVEL: "info" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    await this.scope.start("process", () => ({
      value: null,
      stop: () => {
        child.kill("SIGKILL");
        return Promise.resolve();
      },
    }));
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    await eventually(() => output.includes('"msg":"ready"'), { timeoutMs: READY_TIMEOUT_MS });
    const url = /"url":"([^"]+)"/.exec(output)?.[1] ?? "";
    await this.connect(url);
    return child;
  }

  stop(): Promise<void> {
    return this.scope.stop();
  }

  /** Records with one key share a partition. */
  async publish(topic: TopicContract, event: object, times = 1, key = "one"): Promise<void> {
    const message = { key, value: JSON.stringify(event) };
    await Promise.all(Array.from({ length: times }, () => this.producer.send(topic, message)));
  }

  /** Sends a request as the gateway does. */
  async call(
    method: string,
    below: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ status: number; body: unknown; code: string | undefined }> {
    const path = `/internal/organizations/${this.organizationId}${below}`;
    const answer = await this.client.request(method, path, body, { headers });
    const code = answer.headers["x-error-code"];
    return { status: answer.status, body: JSON.parse(answer.body.toString()), code: code?.toString() };
  }

  async createEndpoint(endpoint: NewEndpoint): Promise<{ id: string; secret: string }> {
    const answer = await this.call("POST", "/webhooks", endpoint);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    const { endpoint: created, secret } = WebhookSecretAnswer.parse(answer.body);
    return { id: created.id, secret };
  }

  async endpoint(id: string) {
    return WebhookAnswer.parse((await this.call("GET", `/webhooks/${id}`)).body).endpoint;
  }

  async deliveries(endpointId: string, query = "?limit=100"): Promise<readonly WebhookDelivery[]> {
    const answer = await this.call("GET", `/webhooks/${endpointId}/deliveries${query}`);
    return WebhookDeliveriesAnswer.parse(answer.body).deliveries;
  }

  /** Waits until the newest delivery of an endpoint has at least `attempts` attempts. */
  attempted(endpointId: string, attempts: number): Promise<WebhookDelivery> {
    return eventually(async () => {
      const [delivery] = await this.deliveries(endpointId);
      if (delivery === undefined || delivery.attempts.length < attempts) throw new Error(JSON.stringify(delivery));
      return delivery;
    });
  }

  async events(query = "") {
    return EventsAnswer.parse((await this.call("GET", `/events${query}`)).body);
  }

  get client(): InternalClient {
    if (this.#client === null) throw new Error("the service was not started");
    return this.#client;
  }

  private async connect(url: string): Promise<void> {
    const { secrets } = this.environment;
    this.#client = await this.scope.start("client", () =>
      startOwnerClient({ secrets, owner: "webhooks", baseUrl: url, timeoutMs: CALL_TIMEOUT_MS }),
    );
  }
}
