import { randomUUID } from "node:crypto";

import {
  AccountEvent,
  CommandEvent,
  type AnyCommandMessage,
  type CommandOperation,
  directoryKey,
  type ServerEntry,
  TOPICS,
  type TopicContract,
} from "@kapi/contracts";
import { createKafka, startLogReader, startProducer, type KafkaConnection, type Producer } from "@kapi/kafka";
import { derivePassword, type Keyring, managedAccountIdOf, sealPassword } from "@kapi/kernel";
import { configFields, createLogger, Scope } from "@kapi/runtime";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { callerHeaders, commandMessage, eventually, serverEntry } from "@kapi/testkit";
import { startTradingServerClient, type TradingServerClient } from "@kapi/trading-server";

import { type Neighbours, startNeighbours } from "./neighbours.ts";

const logger = createLogger({ service: "test", level: "silent" });
/** Well below a test's timeout. */
const TRADING_SERVER_TIMEOUT_MS = 1_500;
/** A killed process loses its partitions after this time. */
const KAFKA_SESSION_TIMEOUT_MS = 3_000;

/** A response of an internal route. */
export interface Answer {
  readonly status: number;
  readonly code: string | null;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read bodies of any shape
  readonly body: any;
}

/**
 * The account service and the trading simulator as processes, with real Kafka and PostgreSQL.
 * Finance and metrics are stand-ins.
 */
export class Harness {
  readonly events: CommandEvent[] = [];
  readonly accountEvents: AccountEvent[] = [];
  readonly #scope = new Scope({ stopDeadlineMs: 30_000 });
  stack!: TestStack;
  neighbours!: Neighbours;
  client!: TradingServerClient;
  server!: ServerEntry;
  #producer!: Producer;

  static async create(): Promise<Harness> {
    const harness = new Harness();
    await harness.#start();
    return harness;
  }

  async stop(): Promise<void> {
    await this.#scope.stop();
  }

  /** Restarts the service, with a fault point if given. `extra`: further settings. */
  async restart(faultPoint?: string, extra: Readonly<Record<string, string>> = {}): Promise<void> {
    const fault = faultPoint === undefined ? {} : { FAULT_POINT: faultPoint };
    await this.stack.process("account").restart({ ...this.#environment(), ...fault, ...extra });
  }

  /** Waits until the fault point has killed the service. */
  async died(): Promise<void> {
    const { signal } = await this.stack.process("account").ended();
    if (signal !== "SIGKILL") throw new Error(`the account service ended by ${signal}`);
  }

  async publishServer(overrides: Partial<ServerEntry> = {}): Promise<ServerEntry> {
    const server = serverEntry({ tradingServerUrl: this.stack.tradingServerUrl, ...overrides });
    await this.#send(TOPICS.organizationDirectory, directoryKey(server), server);
    const path = `/internal/servers/${server.serverId}/configuration`;
    await eventually(async () => (await this.call("GET", path)).status === 200);
    return server;
  }

  /** Creates an account with a command; returns its number. */
  async account(overrides: Partial<AnyCommandMessage> = {}): Promise<string> {
    const event = await this.final(await this.publishCreation(overrides));
    if (event.status !== "succeeded") throw new Error(`no account: ${JSON.stringify(event)}`);
    return String(event.result?.["accountNumber"]);
  }

  /** Publishes a creation; returns its command id. */
  async publishCreation(overrides: Partial<AnyCommandMessage> = {}): Promise<string> {
    const { commandId } = await this.publish(null, "account.create", {
      payload: { accountName: "Trader", initialBalance: 100_000, leverage: 100 },
      ...overrides,
    });
    return commandId;
  }

  /** Publishes a command on an account, or a creation if `accountNumber` is null. */
  async publish(
    accountNumber: string | null,
    operation: CommandOperation,
    overrides: Partial<AnyCommandMessage> = {},
  ): Promise<AnyCommandMessage> {
    const { organizationId, serverId } = this.server;
    const derivationKeyId = this.#derivationKeys().currentKeyId;
    const defaults = { organizationId, serverId, operation, accountNumber, derivationKeyId, payload: {} };
    const valid = commandMessage({ ...defaults, ...overrides });
    const message =
      accountNumber === null ? { ...valid, managedAccountId: managedAccountIdOf(valid.commandId) } : valid;
    const key = accountNumber === null ? String(message.managedAccountId) : `${message.serverId}/${accountNumber}`;
    await this.#send(TOPICS.commandsAccount, key, message);
    return message;
  }

  /** Publishes a command and waits for its final state. */
  async run(
    accountNumber: string,
    operation: CommandOperation,
    overrides: Partial<AnyCommandMessage> = {},
  ): Promise<CommandEvent> {
    return this.final((await this.publish(accountNumber, operation, overrides)).commandId);
  }

  /** Waits until a command is final. */
  final(commandId: string, timeoutMs = 30_000): Promise<CommandEvent> {
    return eventually(
      () => {
        const found = this.events.find((event) => event.commandId === commandId && event.settlement !== null);
        if (found !== undefined) return found;
        throw new Error(`command ${commandId} is not final: ${JSON.stringify(this.events.at(-1))}`);
      },
      { timeoutMs },
    );
  }

  /** A supplied password, as the command carries it. */
  sealed(commandId: string, password: string): AnyCommandMessage["sealedPassword"] {
    return sealPassword(configFields.keyring.parse(this.stack.secrets.passwordSealingKeys), commandId, password);
  }

  /** The generated password of a command. */
  generated(commandId: string, kind: "trading" | "investor"): string {
    const keyring = this.#derivationKeys();
    return derivePassword(keyring, keyring.currentKeyId, commandId, kind);
  }

  /** Calls an internal route. */
  async call(
    method: string,
    path: string,
    body?: unknown,
    moreHeaders: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const headers = { ...callerHeaders(this.stack.secrets, "account", method, path), ...moreHeaders };
    if (body !== undefined) headers["content-type"] = "application/json";
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const response = await fetch(`${this.stack.url("account")}${path}`, init);
    return { status: response.status, code: response.headers.get("x-error-code"), body: await response.json() };
  }

  details(accountNumber: string): Promise<Answer> {
    return this.call("GET", this.pathOf(accountNumber));
  }

  /** `keyId`: the management key of the caller. */
  delete(accountNumber: string, keyId = "aaaaaaaaaaaaaaaa"): Promise<Answer> {
    return this.call("DELETE", this.pathOf(accountNumber), undefined, { "x-kapi-actor": `key/${keyId}` });
  }

  pathOf(accountNumber: string): string {
    return `/internal/servers/${this.server.serverId}/accounts/${accountNumber}`;
  }

  /** Calls the control API of the trading simulator about `server`. */
  async control(method: "POST" | "PUT" | "DELETE" | "GET", path: string, body?: unknown): Promise<Answer> {
    const init =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const url = `${this.stack.tradingServerUrl}/control/v1/servers/${this.server.serverId}${path}`;
    const response = await fetch(url, { method, ...init });
    return { status: response.status, code: null, body: await response.json() };
  }

  /** Injects a fault into the trading server. */
  async fault(fault: Record<string, unknown>): Promise<void> {
    const { status } = await this.control("POST", "/faults", fault);
    if (status >= 300) throw new Error(`the fault was not accepted: ${status}`);
  }

  /** Opens a position as a trader; returns its id. */
  async openPosition(accountNumber: string): Promise<string> {
    const order = { symbol: "EURUSD", side: "buy", volume: 0.1 };
    const { status, body } = await this.control("POST", `/accounts/${accountNumber}/orders`, order);
    if (status !== 201) throw new Error(`no position: ${JSON.stringify(body)}`);
    return String(body.positionId);
  }

  /** The access that a login gives; null if the login is rejected. */
  async login(accountNumber: string, password: string): Promise<string | null> {
    const { status, body } = await this.control("POST", `/accounts/${accountNumber}/login`, { password });
    return status === 200 ? String(body.access) : null;
  }

  /**
   * The events of an account, each once, in the order of `accountSequence`. After a crash, events
   * sometimes arrive repeatedly and out of order.
   */
  eventsOf(accountNumber: string): AccountEvent[] {
    const ofAccount = this.accountEvents.filter((accountEvent) => accountEvent.accountNumber === accountNumber);
    const byId = new Map(ofAccount.map((accountEvent) => [accountEvent.eventId, accountEvent]));
    return [...byId.values()].toSorted((a, b) => a.accountSequence - b.accountSequence);
  }

  /** Publishes any value on a topic. */
  async send(topic: TopicContract, key: string, value: unknown): Promise<void> {
    await this.#send(topic, key, value);
  }

  #derivationKeys(): Keyring {
    return configFields.keyring.parse(this.stack.secrets.passwordDerivationKeys);
  }

  #environment(): Record<string, string> {
    return {
      FINANCE_URL: this.neighbours.financeUrl,
      METRICS_URL: this.neighbours.metricsUrl,
      TRADING_SERVER_TIMEOUT_MS: String(TRADING_SERVER_TIMEOUT_MS),
      KAFKA_SESSION_TIMEOUT_MS: String(KAFKA_SESSION_TIMEOUT_MS),
    };
  }

  async #send(topic: TopicContract, key: string, value: unknown): Promise<void> {
    await this.#producer.send(topic, { key, value: JSON.stringify(value) });
  }

  async #start(): Promise<void> {
    const scope = this.#scope;
    this.neighbours = await scope.start("neighbours", async () => {
      const value = await startNeighbours();
      return { value, stop: () => value.stop() };
    });
    this.stack = await scope.start("stack", async () => {
      const value = await startTestStack({
        services: ["trading-simulator", "account"],
        // Prices only change when a test changes them.
        env: { "trading-simulator": { TICK_INTERVAL_MS: "0" }, account: this.#environment() },
      });
      return { value, stop: () => value.stop() };
    });
    const { kafkaBrokers, topicPrefix } = this.stack.environment;
    const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
    this.#producer = await scope.start("producer", () => startProducer(kafka));
    this.client = await scope.start("client", () =>
      startTradingServerClient({
        addressOf: () => ({ url: this.stack.tradingServerUrl, token: this.stack.secrets.tradingServerToken }),
        timeoutMs: 10_000,
      }),
    );
    await this.#follow(kafka, TOPICS.commandEvents, (json) => this.events.push(CommandEvent.parse(json)));
    await this.#follow(kafka, TOPICS.accountEvents, (json) => this.accountEvents.push(AccountEvent.parse(json)));
    this.server = await this.publishServer({ serverId: randomUUID() });
  }

  async #follow(kafka: KafkaConnection, topic: TopicContract, take: (json: unknown) => void): Promise<void> {
    await this.#scope.start(topic.name, () =>
      startLogReader(kafka, {
        topic,
        from: "beginning",
        onBatch: (_partition, messages) => {
          for (const { value } of messages) take(JSON.parse(value.toString("utf8")));
        },
        logger,
        fatal: (error) => {
          throw error;
        },
      }),
    );
  }
}
