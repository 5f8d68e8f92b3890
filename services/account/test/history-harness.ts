import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

import { COMMANDS_MIGRATIONS, type CommandStore, startCommandStore } from "@kapi/commands";
import { AccountEvent, accountKey, type TopicContract, TOPICS, type TradingEvent } from "@kapi/contracts";
import { DIGESTS_MIGRATIONS, startDigestMaker } from "@kapi/digests";
import { createHttpServer, type FastifyInstance } from "@kapi/http";
import { createKafka, startLogReader, startProducer, type KafkaConnection, type Producer } from "@kapi/kafka";
import { systemClock, toIso } from "@kapi/kernel";
import { startPool, type Database, isTransient, migrate, statement } from "@kapi/postgres";
import { createLogger, Health, Scope } from "@kapi/runtime";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { anyAccountNumber, eventually, serverEntry } from "@kapi/testkit";
import { startTradingServerClient, type TradingServerClient } from "@kapi/trading-server";
import { startTradingEventConsumer } from "@kapi/trading-server/event-feed";

import { type HistoryFeed, startHistoryFeed } from "../src/history-feed.ts";
import { registerHistoryRoutes } from "../src/inbound/http/history-routes.ts";
import { createDigestReader } from "../src/outbound/postgres/digest-reader.ts";
import { createDigestTable } from "../src/outbound/postgres/digest-table.ts";

const logger = createLogger({ service: "test", level: process.env["TEST_LOG_LEVEL"] ?? "silent" });
const EVENTS_GROUP = "account.trading-events";
const MIGRATIONS = fileURLToPath(new URL("../migrations", import.meta.url));

const INSERT_SERVER = statement(
  "test-insert-server",
  `insert into servers (server_id, organization_id, directory_version, status, server_name, company_name, currency,
     environment, supported_leverage) values ($1, $2, 1, 'active', 'Test', 'Test', 'USD', 'demo', '{100}')`,
);
const INSERT_ACCOUNT = statement(
  "test-insert-account",
  `insert into accounts (id, organization_id, server_id, account_number, account_name, status, currency, leverage,
     initial_balance_minor, created_at, updated_at) values ($1, $2, $3, $4, 'Test', 'active', 'USD', 100, 0, $5, $5)`,
);
const ADD_MICROSECONDS = statement(
  "test-add-microseconds",
  `update deals set executed_at = executed_at + n * interval '1 microsecond' where server_id = $1 and account_number = $2`,
);
const SET_STATUS = statement(
  "test-set-status",
  `update accounts set status = $3, deletion_due_at = case when $3 = 'deleting' then now() end
   where server_id = $1 and account_number = $2`,
);
const GAPS = statement<{ account_number: string; needed_sequence: number }>(
  "test-gaps",
  "select account_number, needed_sequence from feed_gaps where server_id = $1",
);
const ROWS = statement<{ rows: unknown }>(
  "test-rows",
  `select jsonb_build_object(
     'feeds', (select jsonb_agg(f) from feeds f where f.server_id = $1 and f.account_number = $2),
     'orders', (select jsonb_agg(o order by o.n) from orders o where o.server_id = $1 and o.account_number = $2),
     'positions', (select jsonb_agg(p order by p.n) from positions p where p.server_id = $1 and p.account_number = $2),
     'deals', (select jsonb_agg(d order by d.n) from deals d where d.server_id = $1 and d.account_number = $2)) as rows`,
);

/** A response of an internal route. */
export interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read bodies of any shape
  readonly body: any;
}

/**
 * The history of the account service in this process, with the trading simulator as a process, and
 * real Kafka and PostgreSQL.
 */
export class HistoryHarness {
  readonly organizationId = randomUUID();
  readonly serverId = randomUUID();
  readonly accountEvents: AccountEvent[] = [];
  readonly #scope = new Scope({ stopDeadlineMs: 30_000 });
  #stack!: TestStack;
  #kafka!: KafkaConnection;
  #producer!: Producer;
  #store!: CommandStore;
  #app!: FastifyInstance;
  #consumer: Scope | null = null;
  database!: Database;
  client!: TradingServerClient;
  history!: HistoryFeed;

  static async create(): Promise<HistoryHarness> {
    const harness = new HistoryHarness();
    await harness.#start();
    return harness;
  }

  get stack(): TestStack {
    return this.#stack;
  }

  /** Starts reading `trading.events`. Uncommitted events are read again after a stop. */
  async startConsumer(): Promise<void> {
    this.#consumer = new Scope({ stopDeadlineMs: 30_000 });
    await this.#consumer.start("trading events", () =>
      startTradingEventConsumer({
        kafka: this.#kafka,
        groupId: EVENTS_GROUP,
        queue: this.history.queue,
        isTransient,
        logger,
        fatal: (error) => {
          throw error;
        },
      }),
    );
  }

  async stopConsumer(): Promise<void> {
    await this.#consumer?.stop();
    this.#consumer = null;
  }

  async stop(): Promise<void> {
    await this.stopConsumer();
    await this.#scope.stop();
  }

  /** Opens an account on the trading server, and inserts its row by default; returns its number. */
  async openAccount(
    options: { readonly known?: boolean; readonly balanceMinor?: number; readonly accountNumber?: string } = {},
  ): Promise<string> {
    const { accountNumber = anyAccountNumber() } = options;
    if (options.known !== false) await this.makeKnown(accountNumber);
    const [outcome] = await this.client.change(this.serverId, [
      {
        type: "create",
        reference: randomUUID(),
        accountNumber,
        accountName: "Test account",
        leverage: 100,
        currency: "USD",
        initialBalanceMinor: options.balanceMinor ?? 10_000_000,
        tradingPassword: "Trading-1",
        investorPassword: "Investor-1",
      },
    ]);
    if (outcome?.status !== "applied") throw new Error(`no account: ${JSON.stringify(outcome)}`);
    return accountNumber;
  }

  /**
   * Inserts the row of an active account. In the service the row exists, as `pending`, before the
   * account's first event.
   */
  async makeKnown(accountNumber: string, serverId: string = this.serverId): Promise<void> {
    const values = [randomUUID(), this.organizationId, serverId, accountNumber, toIso(Date.now())];
    await this.database.query(INSERT_ACCOUNT, values);
  }

  /**
   * Waits until the account's events are booked, then adds microseconds to the times of its deals:
   * 1 to the first deal, 2 to the second, and so on. Some trading servers send microseconds.
   */
  async addMicroseconds(accountNumber: string): Promise<void> {
    await this.booked(accountNumber);
    await this.database.query(ADD_MICROSECONDS, [this.serverId, accountNumber]);
  }

  async makeServer(serverId: string): Promise<void> {
    await this.database.query(INSERT_SERVER, [serverId, this.organizationId]);
  }

  async setStatus(accountNumber: string, status: string): Promise<void> {
    await this.database.query(SET_STATUS, [this.serverId, accountNumber, status]);
  }

  /** Calls the trading server's control API for the account; returns the response body. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read bodies of any shape
  async trade(method: "POST" | "DELETE", accountNumber: string, path: string, body: unknown = {}): Promise<any> {
    return this.control(method, `/accounts/${accountNumber}${path}`, body);
  }

  async control(method: "POST" | "DELETE" | "PUT", path: string, body: unknown = {}): Promise<unknown> {
    const url = `${this.#stack.tradingServerUrl}/control/v1/servers/${this.serverId}${path}`;
    const headers = { "content-type": "application/json" };
    const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Calls an internal route for the account. */
  async get(accountNumber: string, path: string, serverId: string = this.serverId): Promise<Answer> {
    const answer = await this.#app.inject({ url: `/internal/servers/${serverId}/accounts/${accountNumber}${path}` });
    return { status: answer.statusCode, body: answer.json() };
  }

  /** The digests of deals of some accounts. */
  async dealDigests(
    date: string,
    accountNumbers: readonly string[],
    serverId: string = this.serverId,
  ): Promise<Answer> {
    const url = `/internal/servers/${serverId}/digests`;
    const answer = await this.#app.inject({ method: "POST", url, payload: { date, accountNumbers } });
    return { status: answer.statusCode, body: answer.json() };
  }

  /** Makes digests of these servers until `stop` is called, as a process of the service does. */
  startDigests(...serverIds: readonly string[]): { readonly stop: () => Promise<void> } {
    const { database } = this;
    return startDigestMaker({
      service: "account",
      database,
      table: createDigestTable(database, systemClock),
      serverIds: () => serverIds,
      kafka: this.#kafka,
      groupId: EVENTS_GROUP,
      // A test may run in the first minutes of a day.
      graceMs: 0,
      clock: systemClock,
      logger,
    });
  }

  /** Publishes events as a trading server does. */
  async publish(...events: readonly TradingEvent[]): Promise<void> {
    for (const event of events) {
      const key = accountKey(event.serverId, event.accountNumber);
      await this.#producer.send(TOPICS.tradingEvents, { key, value: JSON.stringify(event) });
    }
  }

  /** A second history feed with its own memory, like that of another process of the service. */
  anotherFeed(): Promise<HistoryFeed> {
    return startHistoryFeed({
      scope: this.#scope,
      store: this.#store,
      client: this.client,
      clock: systemClock,
      logger,
    });
  }

  /** Publishes any record. */
  async send(topic: TopicContract, key: string, value: unknown): Promise<void> {
    await this.#producer.send(topic, { key, value: JSON.stringify(value) });
  }

  /** Waits until the trading server's last event of the account is booked; returns the sequence. */
  async booked(accountNumber: string): Promise<number> {
    const target = (await this.client.eventSequence(this.serverId, accountNumber)) ?? 0;
    const account = { serverId: this.serverId, accountNumber };
    return eventually(async () => {
      const booked = (await this.history.reader.bookedSequence(account)) ?? 0;
      return booked >= target && booked;
    });
  }

  eventsOf(accountNumber: string): AccountEvent[] {
    return this.accountEvents.filter((accountEvent) => accountEvent.accountNumber === accountNumber);
  }

  gaps(serverId = this.serverId): Promise<{ account_number: string; needed_sequence: number }[]> {
    return this.database.query(GAPS, [serverId]);
  }

  /** All history rows of an account. */
  async rows(accountNumber: string): Promise<unknown> {
    const [row] = await this.database.query(ROWS, [this.serverId, accountNumber]);
    return row?.rows;
  }

  async #start(): Promise<void> {
    const scope = this.#scope;
    this.#stack = await scope.start("stack", async () => {
      // Prices only change when a test changes them.
      const env = { "trading-simulator": { TICK_INTERVAL_MS: "0" } };
      const value = await startTestStack({ services: ["trading-simulator"], env });
      return { value, stop: () => value.stop() };
    });
    const { postgresUrl: connectionString, kafkaBrokers, topicPrefix } = this.#stack.environment;
    const { secrets } = this.#stack;
    const schema = "account";
    await migrate({
      connectionString,
      schema,
      directory: MIGRATIONS,
      directories: [COMMANDS_MIGRATIONS, DIGESTS_MIGRATIONS],
      logger,
    });
    const pool = { connectionString, schema, applicationName: "test", logger };
    this.database = await scope.start("postgres", () => startPool(pool));
    this.#kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
    this.#producer = await scope.start("producer", () => startProducer(this.#kafka));
    this.client = await scope.start("client", () =>
      startTradingServerClient({
        addressOf: () => ({ url: this.#stack.tradingServerUrl, token: secrets.tradingServerToken }),
        timeoutMs: 3_000,
      }),
    );
    await this.client.configure(this.serverId, serverEntry().configuration);
    await this.makeServer(this.serverId);
    const { database } = this;
    const producer = this.#producer;
    this.#store = await scope.start("store", () =>
      startCommandStore({ worker: "account", database, producer, clock: systemClock, logger }),
    );
    this.history = await startHistoryFeed({
      scope,
      store: this.#store,
      client: this.client,
      clock: systemClock,
      logger,
    });
    this.#app = createHttpServer({ logger, health: new Health(), clock: systemClock });
    registerHistoryRoutes(this.#app, { ...this.history, digests: createDigestReader(this.database) });
    await scope.start("account events", () =>
      startLogReader(this.#kafka, {
        topic: TOPICS.accountEvents,
        from: "beginning",
        onBatch: (_partition, messages) => {
          for (const { value } of messages)
            this.accountEvents.push(AccountEvent.parse(JSON.parse(value.toString("utf8"))));
        },
        logger,
        fatal: (error) => {
          throw error;
        },
      }),
    );
    await this.startConsumer();
  }
}
