import { TOPICS } from "@kapi/contracts";
import { topicIds } from "@kapi/kafka";
import { startPool, type Database, statement } from "@kapi/postgres";
import { createLogger, type Started } from "@kapi/runtime";
import { commandMessage, eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { createTopicIdRepository } from "../src/outbound/postgres/topic-id-repository.ts";
import { type Running, startRunning } from "./running.ts";

const DELETED_TOPIC_ID = "00000000-0000-4000-8000-000000000000";
const TOPIC = TOPICS.commandsFinance;
const SET_ID = statement("test_set_topic_id", "update positions set topic_id = $2 where topic = $1");

let running: Running;
let database: Started<Database>;

beforeAll(async () => {
  running = await startRunning();
  const { postgresUrl: connectionString } = running.environment;
  const logger = createLogger({ service: "test", level: "error" });
  database = await startPool({ connectionString, schema: "command_status", applicationName: "test", logger });
});
afterAll(async () => {
  await database.stop();
  await running.stop();
});

it("a stored topic id is kept; while it is the id of a deleted topic, caught-up answers 500, even if the offsets are reached", async () => {
  const caughtUp = () => running.client.request("POST", "/internal/commands/caught-up");
  await running.producer.send(TOPIC, { key: "k", value: JSON.stringify(commandMessage()), partition: 0 });
  await eventually(async () => expect((await caughtUp()).status).toBe(200), { timeoutMs: 20_000 });
  const repository = createTopicIdRepository(database.value);
  const [topicId] = await topicIds(running.kafka, [TOPIC]);
  expect(await repository.findAll()).toContainEqual({ topic: TOPIC.name, topicId });

  const other = { topic: TOPIC.name, topicId: DELETED_TOPIC_ID };
  expect(await repository.storeIfMissing([{ ...other, partitions: [0] }])).toEqual([{ topic: TOPIC.name, topicId }]);
  await database.value.query(SET_ID, [TOPIC.name, DELETED_TOPIC_ID]);
  await expect(caughtUp()).rejects.toThrow("answered 500");
  await database.value.query(SET_ID, [TOPIC.name, topicId]);
  expect((await caughtUp()).status).toBe(200);
});
