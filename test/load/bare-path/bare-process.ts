/**
 * The base of every process of the bare path (docs/testing.md): kapi's libraries, and its topics
 * under another prefix, without error handling.
 */
import type { TopicContract } from "@kapi/contracts";
import {
  type ConsumerOptions,
  startConsumer,
  createKafka,
  startProducer,
  type Message,
  type Producer,
} from "@kapi/kafka";
import { createLogger } from "@kapi/runtime";
import pg from "pg";

/** Prefix of the topics, which kapi's services do not read. */
export const TOPIC_PREFIX = "bare-path.";
/** As many as kapi's own topics have on one machine. */
export const PARTITIONS = 4;
export const ORGANIZATION_ID = "01900000-0000-7000-8000-000000000001";
export const SERVER_ID = "01900000-0000-7000-8000-000000000002";
/** Separates texts that are joined in one SQL parameter; no text contains it. */
export const SEPARATOR = "\x1f";
const POOL_SIZE = 8;

/** Ends the process, because the measurements of a failed bare path are useless. */
export function fatal(error: unknown): never {
  console.error(error);
  process.exit(1);
}

/** A connection to the topics of the bare path in the cluster that `environment` names. */
export function bareKafka(clientId: string, environment: Readonly<Record<string, string | undefined>> = process.env) {
  const logger = createLogger({ service: "bare-path", level: "error" });
  const brokers = (environment["KAFKA_BROKERS"] ?? "").split(",");
  return { kafka: createKafka({ brokers, clientId, topicPrefix: TOPIC_PREFIX, logger }), logger };
}

/** Publishes without waiting for the acknowledgement. A failed publish ends the process. */
export type Publish = (topic: TopicContract, key: string, value: string, headers?: Record<string, string>) => void;

/** One process of the bare path, connected to Kafka and PostgreSQL. */
export interface BareProcess extends ReturnType<typeof bareKafka> {
  readonly producer: Producer;
  readonly publish: Publish;
  /** Runs a named statement. */
  readonly query: <Row extends object>(name: string, text: string, values: readonly unknown[]) => Promise<Row[]>;
  /**
   * Reads a topic. `intervals` are approximately those with which the replaced service reads this
   * topic while no caller waits for the effect of a message.
   */
  readonly consume: (
    topic: TopicContract,
    intervals: Pick<ConsumerOptions, "minIntervalMs"> | Pick<ConsumerOptions, "busyIntervalMs">,
    handle: (messages: readonly Message[], partition: number) => Promise<void>,
  ) => Promise<void>;
  /** Reports to the parent process that this process is ready. */
  readonly hello: (details: Record<string, unknown>) => void;
}

/**
 * Connects a process of the bare path to Kafka and PostgreSQL. `name` is the service that this
 * process replaces, such as `finance`. `minIntervalMs` is the minimum time between two requests of
 * the producer.
 */
export async function bareProcess(name: string, minIntervalMs?: number): Promise<BareProcess> {
  const { kafka, logger } = bareKafka(name);
  const pool = new pg.Pool({ connectionString: process.env["POSTGRES_URL"] ?? "", max: POOL_SIZE });
  const { value: producer } = await startProducer(kafka, minIntervalMs === undefined ? {} : { minIntervalMs });
  return {
    kafka,
    logger,
    producer,
    publish: (topic, key, value, headers) => {
      producer.send(topic, { key, value, ...(headers === undefined ? {} : { headers }) }).catch(fatal);
    },
    query: async <Row extends object>(statement: string, text: string, values: readonly unknown[]) =>
      (await pool.query<Row & pg.QueryResultRow>({ name: statement, text, values: [...values] })).rows,
    consume: async (topic, intervals, handle) => {
      await startConsumer(kafka, {
        groupId: `${name}.${topic.name}`,
        topics: [topic],
        ...intervals,
        logger,
        fatal,
        onBatch: async ({ messages, partition }) => {
          await handle(messages, partition);
          return {};
        },
      });
    },
    hello: (details) => process.stdout.write(`${JSON.stringify(details)}\n`),
  };
}

/** The parsed value of each message, without validation. */
export function parsed<T>(messages: readonly Message[]): T[] {
  return messages.map(({ value }) => JSON.parse(value.toString("utf8")) as T);
}
