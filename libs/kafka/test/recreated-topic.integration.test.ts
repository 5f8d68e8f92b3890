/** Consumers of a topic that is deleted and created again. */
import { TOPICS } from "@kapi/contracts";
import type { Started } from "@kapi/runtime";
import { afterAll, beforeAll, expect, test } from "vitest";

import { clusterClient } from "../src/cluster.ts";
import {
  type Consumer,
  createTopics,
  type KafkaConnection,
  type Producer,
  startConsumer,
  startProducer,
  topicIds,
} from "../src/index.ts";
import { logger, ownTopics, PARTITIONS, unexpected, until } from "./support.ts";

let kafka: KafkaConnection;
let drop: () => Promise<void>;
let producer: Started<Producer>;

beforeAll(async () => {
  ({ kafka, drop } = await ownTopics());
  producer = await startProducer(kafka);
});
afterAll(async () => {
  await producer.stop();
  await drop();
});

test("a topic that is deleted and created again is fatal for its consumer", async () => {
  const own = await ownTopics();
  const topic = TOPICS.metricsLatest;
  const sender = await startProducer(own.kafka);
  for (let index = 0; index < 3; index += 1) await sender.value.send(topic, { key: "k", value: "x", partition: 0 });
  const errors: Error[] = [];
  const seen: string[] = [];
  const started = await startConsumer(own.kafka, {
    topics: [topic],
    groupId: "again",
    logger,
    fatal: (error) => void errors.push(error),
    onBatch: (batch) =>
      Promise.resolve(void seen.push(...batch.messages.map(({ value }) => value.toString()))).then(() => ({})),
  });
  await until("the messages are handled", () => seen.length === 3);
  const admin = own.kafka.client().admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [own.kafka.topicName(topic)] });
  await until("the topic is deleted", async () => !(await admin.listTopics()).includes(own.kafka.topicName(topic)));
  await createTopics(own.kafka, { partitions: PARTITIONS, replicationFactor: 1, minInsyncReplicas: 1 });
  await admin.disconnect();
  await until("fatal is called", () => errors.length > 0);
  // The error names either the offset beyond the end or the new topic id, always with these words.
  expect(errors[0]?.message).toMatch(/was deleted and created again/);
  await started.stop();
  await sender.stop();
  await own.drop();
});

test("a committed offset of a deleted topic is fatal for a consumer, even if the new topic has a record at this offset", async () => {
  const topic = TOPICS.metricsSamples;
  for (let index = 0; index < 5; index += 1) await producer.value.send(topic, { key: "k", value: "x", partition: 0 });
  const name = kafka.topicName(topic);
  const groupId = `${kafka.topicPrefix}former`;
  const former = "00000000-0000-4000-8000-000000000000";
  const { client, cluster } = clusterClient(kafka, {});
  await client.connect();
  const coordinator = await cluster.findGroupCoordinator({ groupId });
  const commit = (offset: string, metadata: string | null): Promise<void> => {
    const topics = [{ topic: name, partitions: [{ partition: 0, offset, metadata }] }];
    return coordinator.offsetCommit({ groupId, groupGenerationId: -1, memberId: "", topics });
  };
  await commit("2", former);

  const errors: Error[] = [];
  const seen: string[] = [];
  const join = (fatal: (error: Error) => void): Promise<Started<Consumer>> =>
    startConsumer(kafka, {
      topics: [topic],
      groupId: "former",
      logger,
      fatal,
      onBatch: (batch) =>
        Promise.resolve(void seen.push(...batch.messages.map(({ value }) => value.toString()))).then(() => ({})),
    });
  const refused = await join((error) => void errors.push(error));
  await until("fatal is called", () => errors.length > 0);
  const [id] = await topicIds(kafka, [topic]);
  expect(errors[0]?.message).toContain(`was deleted and created again (its id was ${former} and is ${id})`);
  expect(seen).toEqual([]);
  await refused.stop();

  await commit("0", null);
  await client.disconnect();
  const started = await join(unexpected);
  await until("the messages are handled", () => seen.length === 5);
  await started.stop();
  const admin = kafka.client().admin();
  await admin.connect();
  const [offsets] = await admin.fetchOffsets({ groupId, topics: [name] });
  expect(offsets?.partitions.find(({ partition }) => partition === 0)).toMatchObject({ offset: "5", metadata: id });
  await admin.disconnect();
});
