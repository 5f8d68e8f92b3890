/** How far a consumer group has read a topic, compared with an end of the topic. */
import { TOPICS } from "@kapi/contracts";
import type { Started } from "@kapi/runtime";
import { afterAll, beforeAll, expect, test } from "vitest";

import {
  type Consumer,
  hasGroupReached,
  type KafkaConnection,
  startConsumer,
  startProducer,
  topicEnd,
} from "../src/index.ts";
import { deleteRecords, logger, ownTopics, unexpected, until } from "./support.ts";

const TOPIC = TOPICS.tradingEvents;

let kafka: KafkaConnection;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ kafka, drop } = await ownTopics());
});
afterAll(() => drop());

async function publish(count: number): Promise<void> {
  const producer = await startProducer(kafka);
  for (let index = 0; index < count; index += 1) await producer.value.send(TOPIC, { key: `k${index}`, value: "x" });
  await producer.stop();
}

function read(groupId: string, isDurable: () => boolean): Promise<Started<Consumer>> {
  return startConsumer(kafka, {
    groupId,
    topics: [TOPIC],
    logger,
    fatal: unexpected,
    maxWaitTimeInMs: 20,
    onBatch: async () => {
      await until("the effect is durable", isDurable);
      return {};
    },
  });
}

test("every group has reached the end of an empty topic", async () => {
  expect(await hasGroupReached(kafka, TOPIC, "nobody", await topicEnd(kafka, TOPIC))).toBe(true);
});

test("a group reaches an end as soon as the effects of all records before the end are durable, whatever records follow", async () => {
  await publish(20);
  const end = await topicEnd(kafka, TOPIC);
  let isDurable = false;
  const consumer = await read("reader", () => isDurable);
  expect(await hasGroupReached(kafka, TOPIC, "reader", end)).toBe(false);
  isDurable = true;
  await until("the end is reached", async () => (await hasGroupReached(kafka, TOPIC, "reader", end)) === true);
  await consumer.stop();
  await publish(20);
  expect(await hasGroupReached(kafka, TOPIC, "reader", end)).toBe(true);
  expect(await hasGroupReached(kafka, TOPIC, "reader", await topicEnd(kafka, TOPIC))).toBe(false);
  expect(await hasGroupReached(kafka, TOPIC, "nobody", end)).toBe(false);
});

test("a group has reached an end if all records before the end were deleted", async () => {
  const end = await topicEnd(kafka, TOPIC);
  for (const [partition, offset] of end.offsets) {
    if (offset > 0n) await deleteRecords(kafka, TOPIC, partition, offset);
  }
  expect(await hasGroupReached(kafka, TOPIC, "nobody", end)).toBe(true);
});

test("an end that was read from a deleted topic does not count for the topic that was created again", async () => {
  const end = await topicEnd(kafka, TOPIC);
  const before = { ...end, topicId: "00000000-0000-0000-0000-000000000001" };
  expect(await hasGroupReached(kafka, TOPIC, "reader", before)).toBe("recreated");
});
