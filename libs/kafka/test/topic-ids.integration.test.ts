import { TOPICS } from "@kapi/contracts";
import { afterAll, beforeAll, expect, it } from "vitest";

import { createTopics, type KafkaConnection, topicIds } from "../src/index.ts";
import { ownTopics, PARTITIONS, until } from "./support.ts";

const ASKED = [TOPICS.tradingValuations, TOPICS.metricsSamples, TOPICS.metricsLatest];

let kafka: KafkaConnection;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ kafka, drop } = await ownTopics());
});

afterAll(() => drop());

it("a topic keeps its id until it is deleted, and a topic created again has another id", async () => {
  const first = await topicIds(kafka, ASKED);
  expect(new Set(first).size).toBe(ASKED.length);
  for (const id of first) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  expect(await topicIds(kafka, ASKED)).toEqual(first);

  const admin = kafka.client().admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [kafka.topicName(TOPICS.metricsSamples)] });
  await admin.disconnect();
  await until("the topic is deleted", async () => (await topicIds(kafka, ASKED))[1] === null);
  expect(await topicIds(kafka, ASKED)).toEqual([first[0], null, first[2]]);

  await createTopics(kafka, { partitions: PARTITIONS, replicationFactor: 1, minInsyncReplicas: 1 });
  const [valuations, samples, latest] = await topicIds(kafka, ASKED);
  expect([valuations, latest]).toEqual([first[0], first[2]]);
  expect(samples).not.toBe(first[1]);
  expect(samples).not.toBeNull();
});
