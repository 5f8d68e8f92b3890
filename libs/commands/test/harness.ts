import { type CommandEvent, CommandEvent as CommandEventSchema, type AnyCommandMessage, TOPICS } from "@kapi/contracts";
import {
  createKafka,
  growTopics,
  partitionOfKey,
  type Message,
  type Producer,
  startGrowthWatch,
  startLogReader,
  startProducer,
  writePartitionGrowth,
} from "@kapi/kafka";
import { systemClock, toIso } from "@kapi/kernel";
import { startPool, type Database, migrate, statement } from "@kapi/postgres";
import { createLogger, Health, type Logger, Scope, type Started } from "@kapi/runtime";
import { createTestEnvironment, eventually } from "@kapi/testkit";

import {
  COMMANDS_MIGRATIONS,
  type CommandStore,
  type CommandWorker,
  startCommandStore,
  startCommandWorker,
} from "../src/index.ts";
import { orderKeyOf } from "../src/entry.ts";
import { FakeTradingServer } from "./fake-trading-server.ts";

const SCHEMA = "worker";
const WORKER = "worker";
const TOPIC = TOPICS.commandsFinance;

export interface InboxRow {
  readonly status: string;
  readonly version: number;
  readonly attempts: number;
  readonly message: string;
  readonly result: string | null;
  readonly error_code: string | null;
  readonly sealed_password: string | null;
}

const INBOX_ROW = statement<InboxRow>("test_inbox_row", "select * from command_inbox where command_id = $1");

const COUNT_OF_SERVER = statement<{ count: number }>(
  "test_count_of_server",
  "select count(*)::integer as count from command_inbox where server_id = $1",
);

/** Real Kafka and PostgreSQL, workers of one group, and a fake trading server. */
export class Harness {
  readonly tradingServer = new FakeTradingServer();
  readonly events: CommandEvent[] = [];
  readonly deadLetters: Message[] = [];
  readonly logger: Logger = createLogger({ service: "test", level: "silent" });
  readonly #scope: Scope;
  #producer: Producer;
  readonly #kafka: ReturnType<typeof createKafka>;
  readonly database: Database;
  /** The worker that was started last. */
  worker: CommandWorker | null = null;
  #workerScope: Scope | null = null;

  private constructor(scope: Scope, kafka: ReturnType<typeof createKafka>, producer: Producer, database: Database) {
    this.#scope = scope;
    this.#kafka = kafka;
    this.#producer = producer;
    this.database = database;
  }

  static async create(): Promise<Harness> {
    const scope = new Scope({ stopDeadlineMs: 30_000 });
    const environment = await createTestEnvironment({ needs: ["kafka", "postgres"], partitions: 2 });
    await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
    const logger = createLogger({ service: "test", level: "silent" });
    const { kafkaBrokers, topicPrefix, postgresUrl: connectionString } = environment;
    const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
    await migrate({ connectionString, schema: SCHEMA, directories: [COMMANDS_MIGRATIONS], logger });
    const database = await scope.start("postgres", () =>
      startPool({ connectionString, schema: SCHEMA, applicationName: "test", logger }),
    );
    const producer = await scope.start("producer", () => startProducer(kafka));
    const harness = new Harness(scope, kafka, producer, database);
    await harness.#follow();
    return harness;
  }

  /** Stops the current worker and starts a new one. */
  async startWorker(): Promise<void> {
    await this.stopWorker();
    this.#workerScope = await this.startAnother();
  }

  /** Starts one more worker of the same group; the caller stops it. */
  async startAnother(): Promise<Scope> {
    const scope = new Scope({ stopDeadlineMs: 30_000 });
    const health = new Health();
    const { logger, database } = this;
    const store = await scope.start("store", () =>
      startCommandStore({ worker: WORKER, database, producer: this.#producer, clock: systemClock, logger }),
    );
    this.worker = await scope.start("worker", () =>
      startCommandWorker({
        worker: WORKER,
        topic: TOPIC,
        store,
        kafka: this.#kafka,
        executor: this.tradingServer.executor,
        clock: systemClock,
        logger,
        health,
        fatal: (error) => {
          throw error;
        },
      }),
    );
    await eventually(() => health.ready().ok);
    return scope;
  }

  /** Starts a store without a worker. The store stands for another process of the service. */
  startStore(): Started<CommandStore> {
    const { database, logger } = this;
    return startCommandStore({ worker: WORKER, database, producer: this.#producer, clock: systemClock, logger });
  }

  async stopWorker(): Promise<void> {
    await this.#workerScope?.stop();
    this.#workerScope = null;
  }

  async stop(): Promise<void> {
    this.tradingServer.release();
    await this.stopWorker();
    await this.#scope.stop();
  }

  /** Publishes commands as the gateway does. */
  async publish(...messages: readonly AnyCommandMessage[]): Promise<void> {
    await Promise.all(
      messages.map((message) =>
        this.#producer.send(TOPIC, { key: orderKeyOf(message), value: JSON.stringify(message) }),
      ),
    );
  }

  /** Publishes a command in the span of `traceparent`. */
  async publishIn(traceparent: string, message: AnyCommandMessage): Promise<void> {
    await this.#producer.send(TOPIC, { key: orderKeyOf(message), value: JSON.stringify(message), traceparent });
  }

  /** Sends a command to a partition that is not the one of its key. */
  async publishMisplaced(partition: number, message: AnyCommandMessage): Promise<void> {
    await this.#producer.send(TOPIC, { key: orderKeyOf(message), value: JSON.stringify(message), partition });
  }

  /**
   * Grows the topics and publishes the phase `done`, without the phases before. The caller has
   * stopped its worker.
   */
  async grow(partitions: number): Promise<void> {
    const { logger } = this;
    await growTopics(this.#kafka, partitions);
    const at = toIso(systemClock.nowMs());
    await writePartitionGrowth(this.#producer, { phase: "done", partitions, at, grownAt: at, growing: false });
    await this.#scope.start("growth", () => startGrowthWatch(this.#kafka, { logger }));
    this.#producer = await this.#scope.start("producer of new partitions", () => startProducer(this.#kafka));
  }

  /** Publishes a value that need not be a command message. */
  async publishRaw(key: string, value: string): Promise<void> {
    await this.#producer.send(TOPIC, { key, value });
  }

  /** Grows the topics without a record of the growth, as another tool does. */
  growByHand(partitions: number): Promise<void> {
    return growTopics(this.#kafka, partitions);
  }

  /** The partition of a command in a topic with `partitions` partitions. */
  partitionAmong(message: AnyCommandMessage, partitions: number): number {
    return partitionOfKey(orderKeyOf(message), partitions);
  }

  /** The partition of a command now. */
  partitionOf(message: AnyCommandMessage): number {
    return this.#producer.partitionOf(TOPIC, orderKeyOf(message));
  }

  /** The number of a server's commands in the inbox. */
  async countOf(serverId: string): Promise<number> {
    return (await this.database.query(COUNT_OF_SERVER, [serverId]))[0]?.count ?? 0;
  }

  /** The inbox row of a command. */
  async row(commandId: string): Promise<InboxRow | undefined> {
    return (await this.database.query(INBOX_ROW, [commandId]))[0];
  }

  /** The published states of a command, in the order of the topic. */
  eventsOf(commandId: string): CommandEvent[] {
    return this.events.filter((event) => event.commandId === commandId);
  }

  /** Waits for the event in which a command has `status`. */
  until(commandId: string, status: CommandEvent["status"], timeoutMs = 15_000): Promise<CommandEvent> {
    return eventually(
      () => {
        const event = this.eventsOf(commandId).find((candidate) => candidate.status === status);
        if (event === undefined) {
          const seen = this.eventsOf(commandId).map((candidate) => candidate.status);
          throw new Error(`command ${commandId} is not ${status}; events: ${seen.join(", ")}`);
        }
        return event;
      },
      { timeoutMs },
    );
  }

  async #follow(): Promise<void> {
    const fatal = (error: Error): void => {
      throw error;
    };
    const { logger } = this;
    await this.#scope.start("events", () =>
      startLogReader(this.#kafka, {
        topic: TOPICS.commandEvents,
        from: "beginning",
        onBatch: (_partition, messages) => {
          for (const { value } of messages) {
            this.events.push(CommandEventSchema.parse(JSON.parse(value.toString("utf8"))));
          }
        },
        logger,
        fatal,
      }),
    );
    await this.#scope.start("dead letters", () =>
      startLogReader(this.#kafka, {
        topic: TOPICS.deadLetter,
        from: "beginning",
        onBatch: (_partition, messages) => {
          this.deadLetters.push(...messages);
        },
        logger,
        fatal,
      }),
    );
  }
}
