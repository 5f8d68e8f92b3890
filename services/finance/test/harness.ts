import { randomUUID } from "node:crypto";

import {
  accountKey,
  CommandEvent,
  type AnyCommandMessage,
  directoryKey,
  FinanceEvent,
  type ServerEntry,
  TOPICS,
  type TradingEvent,
} from "@kapi/contracts";
import { createKafka, startLogReader, startProducer, type KafkaConnection, type Producer } from "@kapi/kafka";
import { startPool, type Database, statement } from "@kapi/postgres";
import { createLogger, Health, loadConfig, Scope } from "@kapi/runtime";
import {
  anyAccountNumber,
  callerHeaders,
  createTestEnvironment,
  eventually,
  serverEntry,
  type TestEnvironment,
  wrongClock,
} from "@kapi/testkit";
import { startTradingServerClient, type TradingServerClient } from "@kapi/trading-server";

import { ConfigSchema } from "../src/config.ts";
import { startService } from "../src/service.ts";
import { startTradingServer, type TradingServerProcess } from "./trading-server-process.ts";

const TRADING_SERVER_TIMEOUT_MS = 1_500;
const RECONCILIATION_INTERVAL_MS = 300;

/** A log line. */
export type LogEntry = Readonly<Record<string, unknown>>;

export interface TransactionRow {
  readonly sequence: number;
  readonly event_sequence: number;
  readonly type: string;
  readonly amount_minor: number;
  readonly balance_after_minor: number;
  readonly command_id: string | null;
  readonly request_id: string | null;
}

const TRANSACTIONS = statement<TransactionRow>(
  "test_transactions",
  `select sequence, event_sequence, type, amount_minor, balance_after_minor, command_id, request_id from transactions
   where server_id = $1 and account_number = $2 order by sequence`,
);
const GAPS = statement<{ account_number: string; needed_sequence: number }>(
  "test_gaps",
  "select account_number, needed_sequence from ledger_gaps where server_id = $1",
);
const UNBALANCED = statement<{ what: string }>(
  "test_unbalanced",
  `select transaction_id::text as what from entries group by transaction_id
   having sum(amount_minor) <> 0 or count(*) <> 2 or count(distinct ledger) <> 2
   union all
   select a.account_number from ledger_accounts a
   left join entries e on e.ledger = 'account/' || a.server_id || '/' || a.account_number
   group by a.server_id, a.account_number having a.balance_minor <> coalesce(sum(e.amount_minor), 0)`,
);

/**
 * The finance service in this process and the trading simulator in another, with real Kafka and
 * PostgreSQL.
 */
export class Harness {
  readonly events: CommandEvent[] = [];
  readonly financeEvents: FinanceEvent[] = [];
  readonly server: ServerEntry;
  readonly environment: TestEnvironment;
  readonly tradingServer: TradingServerProcess;
  readonly client: TradingServerClient;
  readonly producer: Producer;
  readonly database: Database;
  /** Log lines of the service, from level info. */
  readonly log: LogEntry[] = [];
  readonly #scope: Scope;
  #service: Scope | null = null;

  private constructor(parts: Parts) {
    this.#scope = parts.scope;
    this.environment = parts.environment;
    this.tradingServer = parts.tradingServer;
    this.server = parts.server;
    this.client = parts.client;
    this.producer = parts.producer;
    this.database = parts.database;
  }

  static async create(): Promise<Harness> {
    const scope = new Scope({ stopDeadlineMs: 30_000 });
    const environment = await createTestEnvironment({ needs: ["kafka", "postgres"], partitions: 2 });
    await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
    const { env, kafkaBrokers, topicPrefix, postgresUrl: connectionString } = environment;
    const tradingServer = await scope.start("trading server", async () => {
      const value = await startTradingServer(env);
      return { value, stop: () => value.stop() };
    });
    const logger = createLogger({ service: "test", level: "silent" });
    const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
    const producer = await scope.start("producer", () => startProducer(kafka));
    const server = serverEntry({ tradingServerUrl: tradingServer.url });
    const client = await scope.start("client", () =>
      startTradingServerClient({
        addressOf: () => ({ url: tradingServer.url, token: environment.secrets.tradingServerToken }),
        timeoutMs: 10_000,
      }),
    );
    await client.configure(server.serverId, server.configuration);
    await publishServer(producer, server);
    const pool = { connectionString, schema: "finance", applicationName: "test", logger };
    const database = await scope.start("postgres", () => startPool(pool));
    const harness = new Harness({ scope, environment, tradingServer, server, client, producer, database });
    await harness.startService();
    await harness.#follow(kafka);
    return harness;
  }

  async startService(): Promise<void> {
    await this.stopService();
    const scope = new Scope({ stopDeadlineMs: 30_000 });
    this.#service = scope;
    const health = new Health();
    const config = loadConfig(ConfigSchema, {
      ...this.environment.env,
      HTTP_PORT: "0",
      TRADING_SERVER_TIMEOUT_MS: String(TRADING_SERVER_TIMEOUT_MS),
      RECONCILIATION_INTERVAL_MS: String(RECONCILIATION_INTERVAL_MS),
      // Without a grace time, yesterday's digests are made also in the first minutes of a day.
      DIGEST_GRACE_MS: "0",
    });
    const logger = createLogger({
      service: "finance",
      level: "info",
      destination: { write: (line) => this.#take(line) },
    });
    const fatal = (error: unknown): void => {
      throw error;
    };
    await startService({ config, scope, logger, health, clock: wrongClock, fatal });
    await eventually(() => health.ready().ok);
  }

  /**
   * Calls an internal route: with `token`, or else as a service that may call the route. Returns
   * status, error code and body.
   */
  async call(method: "GET" | "DELETE", path: string, token?: string) {
    const url = this.log.findLast((entry) => typeof entry["url"] === "string")?.["url"];
    const whole = `/internal/servers/${path}`;
    const headers =
      token === undefined
        ? callerHeaders(this.environment.secrets, "finance", method, whole)
        : { "x-service-token": token };
    const response = await fetch(String(url) + whole, { method, headers });
    const body: unknown = await response.json();
    return { status: response.status, errorCode: response.headers.get("x-error-code"), body };
  }

  async stopService(): Promise<void> {
    await this.#service?.stop();
    this.#service = null;
  }

  async stop(): Promise<void> {
    await this.stopService();
    await this.#scope.stop();
  }

  /** Opens an account on the trading server; returns its number. */
  async openAccount(initialBalanceMinor = 0, accountNumber = anyAccountNumber()): Promise<string> {
    const [outcome] = await this.client.change(this.server.serverId, [
      {
        type: "create",
        reference: randomUUID(),
        accountNumber,
        accountName: "Test account",
        leverage: 100,
        currency: "USD",
        initialBalanceMinor,
        tradingPassword: "Trading-1",
        investorPassword: "Investor-1",
      },
    ]);
    if (outcome?.status !== "applied") throw new Error(`no account: ${JSON.stringify(outcome)}`);
    return accountNumber;
  }

  /** Publishes commands as the gateway does. */
  async publish(...messages: readonly AnyCommandMessage[]): Promise<void> {
    await Promise.all(
      messages.map((message) =>
        this.producer.send(TOPICS.commandsFinance, {
          key: accountKey(message.serverId, message.accountNumber ?? ""),
          value: JSON.stringify(message),
        }),
      ),
    );
  }

  publishServer(server: ServerEntry): Promise<void> {
    return publishServer(this.producer, server);
  }

  /** Injects a fault of the trading server. */
  async fault(fault: Readonly<Record<string, unknown>>): Promise<void> {
    await this.tradingServer.control("POST", `/servers/${this.server.serverId}/faults`, fault);
  }

  transactions(accountNumber: string, serverId: string = this.server.serverId): Promise<TransactionRow[]> {
    return this.database.query(TRANSACTIONS, [serverId, accountNumber]);
  }

  /** The stored gaps of a server. */
  gaps(serverId: string): Promise<{ account_number: string; needed_sequence: number }[]> {
    return this.database.query(GAPS, [serverId]);
  }

  /** Publishes an event as a trading server does. */
  async publishEvent(event: TradingEvent | undefined): Promise<void> {
    if (event === undefined) throw new Error("no event");
    const key = accountKey(event.serverId, event.accountNumber);
    await this.producer.send(TOPICS.tradingEvents, { key, value: JSON.stringify(event) });
  }

  /**
   * Transactions that do not have two entries in different ledgers with the sum zero, and accounts
   * whose entries do not sum to their balance.
   */
  unbalanced(): Promise<{ what: string }[]> {
    return this.database.query(UNBALANCED, []);
  }

  /** The balance on the trading server, minor units. */
  async balanceMinor(accountNumber: string): Promise<number> {
    const snapshot = await this.client.snapshot(this.server.serverId, accountNumber);
    if (snapshot === null) throw new Error(`no account ${accountNumber}`);
    return snapshot.balanceMinor;
  }

  eventsOf(commandId: string): CommandEvent[] {
    return this.events.filter((event) => event.commandId === commandId);
  }

  /** Waits for the final state of a command; returns its event. */
  final(commandId: string, timeoutMs = 15_000): Promise<CommandEvent> {
    return eventually(
      () => {
        const event = this.eventsOf(commandId).find(({ settlement }) => settlement !== null);
        if (event === undefined) throw new Error(`command ${commandId} is not final`);
        return event;
      },
      { timeoutMs },
    );
  }

  #take(line: string): void {
    if (process.env["TEST_LOG_LEVEL"] !== undefined) process.stderr.write(line);
    const entry: unknown = JSON.parse(line);
    if (typeof entry === "object" && entry !== null) this.log.push({ ...entry });
  }

  async #follow(kafka: KafkaConnection): Promise<void> {
    const logger = createLogger({ service: "test", level: "silent" });
    const fatal = (error: Error): void => {
      throw error;
    };
    const follow = (topic: typeof TOPICS.commandEvents | typeof TOPICS.financeEvents, take: (json: unknown) => void) =>
      this.#scope.start(topic.name, () =>
        startLogReader(kafka, {
          topic,
          from: "beginning",
          onBatch: (_partition, messages) => {
            for (const { value } of messages) take(JSON.parse(value.toString("utf8")));
          },
          logger,
          fatal,
        }),
      );
    await follow(TOPICS.commandEvents, (json) => this.events.push(CommandEvent.parse(json)));
    await follow(TOPICS.financeEvents, (json) => this.financeEvents.push(FinanceEvent.parse(json)));
  }
}

interface Parts {
  readonly scope: Scope;
  readonly environment: TestEnvironment;
  readonly tradingServer: TradingServerProcess;
  readonly server: ServerEntry;
  readonly client: TradingServerClient;
  readonly producer: Producer;
  readonly database: Database;
}

async function publishServer(producer: Producer, server: ServerEntry): Promise<void> {
  await producer.send(TOPICS.organizationDirectory, { key: directoryKey(server), value: JSON.stringify(server) });
}
