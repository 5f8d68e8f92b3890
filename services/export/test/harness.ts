import {
  accountKey,
  CommandEvent,
  type AnyCommandMessage,
  directoryKey,
  type ServerEntry,
  TOPICS,
} from "@kapi/contracts";
import type { InternalClient } from "@kapi/http";
import { createKafka, startLogReader, startProducer, type Producer } from "@kapi/kafka";
import { createLogger, Health, loadConfig, Scope } from "@kapi/runtime";
import { startTestStack } from "@kapi/local/test-stack";
import {
  anyAccountNumber,
  commandMessage,
  startOwnerClient,
  createTestEnvironment,
  eventually,
  serverEntry,
  type TestEnvironment,
  wrongClock,
} from "@kapi/testkit";

import { ConfigSchema } from "../src/config.ts";
import { startService } from "../src/service.ts";
import { type OwnerServer, startOwnerServer } from "./owner-server.ts";

/**
 * The export service in this process and command-status in another, with real Kafka and PostgreSQL.
 * Stand-ins for account and finance return the history.
 */
export class Harness {
  readonly events: CommandEvent[] = [];
  readonly server: ServerEntry = serverEntry();
  readonly account: OwnerServer;
  readonly finance: OwnerServer;
  readonly commandStatus: InternalClient;
  readonly #producer: Producer;
  readonly #scope: Scope;

  private constructor(parts: Parts) {
    this.account = parts.account;
    this.finance = parts.finance;
    this.commandStatus = parts.commandStatus;
    this.#producer = parts.producer;
    this.#scope = parts.scope;
  }

  static async create(): Promise<Harness> {
    const scope = new Scope({ stopDeadlineMs: 30_000 });
    const environment = await createTestEnvironment({ partitions: 2 });
    await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
    const { serviceTokens } = environment.secrets;
    const owner = async (name: string): Promise<OwnerServer> => {
      const value = await startOwnerServer(serviceTokens.export);
      return scope.start(name, () => ({ value, stop: () => value.stop() }));
    };
    const [account, finance] = await Promise.all([owner("account"), owner("finance")]);
    const logger = createLogger({ service: "test", level: "silent" });
    const { kafkaBrokers, topicPrefix } = environment;
    const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
    const producer = await scope.start("producer", () => startProducer(kafka));
    const stack = await scope.start("command-status", async () => {
      const value = await startTestStack({ services: ["command-status"], environment });
      return { value, stop: () => value.stop() };
    });
    const commandStatus = await scope.start("client", () =>
      startOwnerClient({
        secrets: stack.secrets,
        owner: "command-status",
        baseUrl: stack.url("command-status"),
        timeoutMs: 10_000,
      }),
    );
    const harness = new Harness({ scope, account, finance, commandStatus, producer });
    await harness.publishServer(harness.server);
    await startExport(scope, environment, { account, finance });
    await scope.start("events", () =>
      startLogReader(kafka, {
        topic: TOPICS.commandEvents,
        from: "beginning",
        onBatch: (_partition, messages) => {
          for (const { value } of messages) harness.events.push(CommandEvent.parse(JSON.parse(value.toString("utf8"))));
        },
        logger,
        fatal: unexpected,
      }),
    );
    return harness;
  }

  stop(): Promise<void> {
    return this.#scope.stop();
  }

  /** The message of an export, as the gateway publishes it; by default for a new account. */
  command(overrides: Partial<AnyCommandMessage> = {}): AnyCommandMessage & { readonly accountNumber: string } {
    const { serverId, organizationId } = this.server;
    const accountNumber = overrides.accountNumber ?? anyAccountNumber();
    const operation = "account.history_export" as const;
    const message = commandMessage({
      serverId,
      organizationId,
      operation,
      payload: {},
      reservedCredits: 20,
      ...overrides,
    });
    return { ...message, accountNumber };
  }

  async publish(...messages: readonly AnyCommandMessage[]): Promise<void> {
    await Promise.all(
      messages.map((message) =>
        this.#producer.send(TOPICS.commandsExport, {
          key: accountKey(message.serverId, message.accountNumber ?? ""),
          value: JSON.stringify(message),
        }),
      ),
    );
  }

  async publishServer(server: ServerEntry): Promise<void> {
    const message = { key: directoryKey(server), value: JSON.stringify(server) };
    await this.#producer.send(TOPICS.organizationDirectory, message);
  }

  eventsOf(commandId: string): CommandEvent[] {
    return this.events.filter((event) => event.commandId === commandId);
  }

  /** Waits for the final state of a command; returns its event. */
  final(commandId: string, timeoutMs = 20_000): Promise<CommandEvent> {
    return eventually(
      () => {
        const event = this.eventsOf(commandId).find(({ settlement }) => settlement !== null);
        if (event === undefined) throw new Error(`command ${commandId} is not final`);
        return event;
      },
      { timeoutMs },
    );
  }
}

interface Parts {
  readonly scope: Scope;
  readonly account: OwnerServer;
  readonly finance: OwnerServer;
  readonly commandStatus: InternalClient;
  readonly producer: Producer;
}

async function startExport(
  scope: Scope,
  environment: TestEnvironment,
  owners: { readonly account: OwnerServer; readonly finance: OwnerServer },
): Promise<void> {
  const health = new Health();
  const config = loadConfig(ConfigSchema, {
    ...environment.env,
    SERVICE_TOKEN: environment.secrets.serviceTokens.export,
    HTTP_PORT: "0",
    ACCOUNT_URL: owners.account.url,
    FINANCE_URL: owners.finance.url,
  });
  const logger = createLogger({ service: "export", level: process.env["TEST_LOG_LEVEL"] ?? "silent" });
  const context = { config, logger, health, clock: wrongClock, fatal: unexpected };
  await scope.start("export", async () => {
    const service = new Scope({ stopDeadlineMs: 30_000 });
    await startService({ ...context, scope: service });
    return { value: null, stop: () => service.stop() };
  });
  await eventually(() => health.ready().ok);
}

function unexpected(error: unknown): never {
  throw error;
}
