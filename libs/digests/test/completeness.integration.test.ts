/** When a day is complete, on a real Kafka. */
import { TOPICS } from "@kapi/contracts";
import { createKafka, createTopics, startConsumer, startProducer } from "@kapi/kafka";
import { createLogger, Scope } from "@kapi/runtime";
import { createTestEnvironment, eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { DayCompleteness } from "../src/completeness.ts";

const GROUP = "test.trading-events";
const logger = createLogger({ service: "test", level: "silent" });
const scope = new Scope({ stopDeadlineMs: 30_000 });
let kafka: ReturnType<typeof createKafka>;
let publish: (key: string) => Promise<void>;

beforeAll(async () => {
  const environment = await createTestEnvironment({ needs: ["kafka"], partitions: 2 });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const { kafkaBrokers, topicPrefix } = environment;
  kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
  await createTopics(kafka, { partitions: 2, replicationFactor: 1, minInsyncReplicas: 1 });
  const producer = await scope.start("producer", () => startProducer(kafka));
  publish = async (key) => {
    await producer.send(TOPICS.tradingEvents, { key, value: "{}" });
  };
});
afterAll(() => scope.stop());

it("a day is complete only after the consumer group has committed every event that was published before the first check of the day", async () => {
  const completeness = new DayCompleteness(kafka, GROUP);
  for (const key of ["a", "b", "c", "d"]) await publish(key);
  expect(await completeness.has("2026-03-02")).toBe(false);
  const consumer = await startConsumer(kafka, {
    groupId: GROUP,
    topics: [TOPICS.tradingEvents],
    logger,
    onBatch: () => Promise.resolve({}),
    fatal: (error) => {
      throw error;
    },
  });
  await eventually(async () => expect(await completeness.has("2026-03-02")).toBe(true), { timeoutMs: 20_000 });
  await consumer.stop();
  // This event is published after the end of the topic was noted for 2026-03-02. So only later
  // days wait for this event.
  await publish("e");
  expect(await completeness.has("2026-03-02")).toBe(true);
  expect(await completeness.has("2026-03-01")).toBe(true);
  expect(await completeness.has("2026-03-03")).toBe(false);
});
