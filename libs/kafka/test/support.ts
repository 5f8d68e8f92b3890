import { randomBytes } from "node:crypto";

import { TOPICS, type TopicContract } from "@kapi/contracts";
import { delay, systemClock } from "@kapi/kernel";
import { createLogger, type Logger } from "@kapi/runtime";
import type { Cluster } from "kafkajs";

import { createKafka, createTopics, type KafkaConnection, type TopicOverride } from "../src/index.ts";

export const PARTITIONS = 4;
export const logger: Logger = createLogger({ service: "kafka-test", level: "error" });
const POLL_MS = 10;
const DEADLINE_MS = 20_000;

/** Creates every topic with a new prefix, in the Kafka of the test run. `drop` deletes them. */
export async function ownTopics(
  overrides: Readonly<Record<string, TopicOverride>> = {},
): Promise<{ kafka: KafkaConnection; drop: () => Promise<void> }> {
  const brokers = process.env["KAFKA_BROKERS"];
  if (brokers === undefined) throw new Error("KAFKA_BROKERS is not set: run the tests with npm test");
  const topicPrefix = `test-${randomBytes(6).toString("hex")}.`;
  const kafka = createKafka({ brokers: brokers.split(","), clientId: "kafka-test", topicPrefix, logger });
  await createTopics(kafka, { partitions: PARTITIONS, replicationFactor: 1, minInsyncReplicas: 1, overrides });
  const drop = async (): Promise<void> => {
    const admin = kafka.client().admin();
    await admin.connect();
    await admin.deleteTopics({ topics: Object.values(TOPICS).map((topic) => kafka.topicName(topic)) });
    await admin.disconnect();
  };
  return { kafka, drop };
}

/** Waits until `condition` holds. Fails after 20 s, with `what` in the error. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = systemClock.nowMs() + DEADLINE_MS;
  while (!(await condition())) {
    if (systemClock.nowMs() > deadlineMs) throw new Error(`waited longer than ${DEADLINE_MS} ms: ${what}`);
    await delay(POLL_MS);
  }
}

/**
 * The `fatal` of a test that expects no fatal error. It throws an uncaught exception, which fails
 * the test run.
 */
export function unexpected(error: Error): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** Removes the records of one partition before `offset`, as retention would. */
export async function deleteRecords(
  kafka: KafkaConnection,
  topic: TopicContract,
  partition: number,
  offset: bigint,
): Promise<void> {
  const admin = kafka.client().admin();
  await admin.connect();
  const name = kafka.topicName(topic);
  await admin.fetchTopicOffsets(name);
  await admin.deleteTopicRecords({ topic: name, partitions: [{ partition, offset: offset.toString() }] });
  await admin.disconnect();
}

/**
 * A connection whose produce requests go through `onProduce`. `records` is the number of records in
 * the request; `produce` sends the request.
 */
export function watchProduce(
  kafka: KafkaConnection,
  onProduce: (records: number, produce: () => Promise<unknown>) => Promise<unknown>,
): KafkaConnection {
  const findBroker = async (cluster: Cluster, node: { nodeId: string }): Promise<object> => {
    const broker = await cluster.findBroker(node);
    const produce: typeof broker.produce = (request) => {
      const records = request.topicData.flatMap(({ partitions }) => partitions.flatMap((data) => data.messages));
      return onProduce(records.length, () => broker.produce(request));
    };
    return { produce };
  };
  return withCluster(kafka, (cluster) =>
    withMethods(cluster, { findBroker: (node: { nodeId: string }) => findBroker(cluster, node) }),
  );
}

/** `cluster` with some methods replaced. */
export function withMethods(cluster: Cluster, methods: Partial<Record<keyof Cluster, unknown>>): Cluster {
  return new Proxy(cluster, {
    get: (target, name) => {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/**
 * A connection whose producers and readers use the cluster object that `change` returns. A consumer
 * keeps using its original cluster object. So `change` must modify this object itself to affect the
 * requests of a consumer.
 */
export function withCluster(kafka: KafkaConnection, change: (cluster: Cluster) => Cluster): KafkaConnection {
  return {
    ...kafka,
    client: (tuning) => {
      const client = kafka.client(tuning);
      const consumerOf = client.consumer.bind(client);
      client.consumer = (config) =>
        consumerOf({
          ...config,
          partitionAssigners: (config.partitionAssigners ?? []).map(
            (assigner) => (given) => assigner({ ...given, cluster: change(given.cluster) }),
          ),
        });
      return client;
    },
  };
}

/** A request of kafkajs to a broker, and the decoder of its response. */
interface Sent {
  readonly request: { readonly apiKey: number };
  readonly response: { decode(response: Buffer): Promise<unknown> };
}

/** A connection whose requests with the API key `kind` go through `change`; `send` sends one. */
export function changeRequests(
  kafka: KafkaConnection,
  kind: number,
  change: (sent: Sent, send: (sent: Sent) => Promise<unknown>) => Promise<unknown>,
): KafkaConnection {
  interface Pool {
    send(sent: Sent): Promise<unknown>;
  }
  return withCluster(kafka, (cluster) => {
    const { connectionPoolBuilder } = cluster as unknown as {
      connectionPoolBuilder: { build(address: object): Promise<Pool> };
    };
    const build = connectionPoolBuilder.build.bind(connectionPoolBuilder);
    connectionPoolBuilder.build = async (address) => {
      const pool = await build(address);
      const send = pool.send.bind(pool);
      pool.send = (sent) => (sent.request.apiKey === kind ? change(sent, send) : send(sent));
      return pool;
    };
    return cluster;
  });
}

/** A connection whose fetch responses go through `change` before they are decoded. */
export function changeFetched(kafka: KafkaConnection, change: (response: Buffer) => Buffer): KafkaConnection {
  const FETCH = 1;
  return changeRequests(kafka, FETCH, (sent, send) => {
    const { response } = sent;
    return send({ ...sent, response: { ...response, decode: (bytes) => response.decode(change(bytes)) } });
  });
}
