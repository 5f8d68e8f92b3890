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
import { createKafka, createProducer, type Producer } from "@kapi/kafka";
import { systemClock } from "@kapi/kernel";
import { createLogger, Health, loadConfig, Scope } from "@kapi/runtime";
import { createOwnerClient, createTestEnvironment, eventually, TestClock, type TestEnvironment } from "@kapi/testkit";
import type { z } from "zod";

import { ConfigSchema } from "../src/config.ts";
import { type Outside, startService } from "../src/service.ts";

const MAIN = path.resolve(import.meta.dirname, "../src/main.ts");
const CALL_TIMEOUT_MS = 20_000;
const READY_TIMEOUT_MS = 40_000;

type NewEndpoint = z.input<typeof CreateWebhookBody>;

/** The service on real servers, with a clock that the test moves; no jitter. */
export class World {
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

  /** Servers only. */
  static async prepare(): Promise<World> {
    const environment = await createTestEnvironment({ needs: ["kafka", "postgres"] });
    const logger = createLogger({ service: "test", level: "error" });
    const kafka = createKafka({
      brokers: environment.kafkaBrokers.split(","),
      clientId: "test",
      topicPrefix: environment.topicPrefix,
      logger,
    });
    const producer = await createProducer(kafka);
    const world = new World(environment, producer.value);
    await world.scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
    await world.scope.start("producer", () => producer);
    return world;
  }

  static async start(env: Readonly<Record<string, string>> = {}, outside: Outside = {}): Promise<World> {
    const world = await World.prepare();
    await world.startService(env, outside);
    return world;
  }

  /**
   * The service in this process, by the world's clock. Local addresses are allowed unless `env`
   * says otherwise.
   */
  async startService(env: Readonly<Record<string, string>> = {}, outside: Outside = {}): Promise<Scope> {
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
      { random: () => 0, clock: this.clock, ...outside },
    );
    await this.scope.start("service", () => ({ value: null, stop: () => scope.stop() }));
    await this.connect(url);
    return scope;
  }

  /** The service as a process of its own, by the machine's clock. */
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

  /** Records of one key share a partition. */
  async publish(topic: TopicContract, fact: object, times = 1, key = "one"): Promise<void> {
    const message = { key, value: JSON.stringify(fact) };
    await Promise.all(Array.from({ length: times }, () => this.producer.send(topic, message)));
  }

  /** A request of the gateway: status and body. */
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

  /** The one delivery of an endpoint, once it has `attempts` attempts. */
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
      createOwnerClient({ secrets, owner: "webhooks", baseUrl: url, timeoutMs: CALL_TIMEOUT_MS }),
    );
  }
}
