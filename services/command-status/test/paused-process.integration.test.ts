/**
 * A process is paused for longer than its Kafka session timeout, with a statement on its way to the
 * database. Another process takes over the partitions; then the statement arrives.
 */
import { type AnyCommandMessage, TOPICS } from "@kapi/contracts";
import { createKafka, startProducer } from "@kapi/kafka";
import { startPool, type Database, statement } from "@kapi/postgres";
import { createLogger, type Started } from "@kapi/runtime";
import { startTestStack, type TestStack } from "@kapi/local/test-stack";
import { commandMessage, createTestEnvironment, eventually, type TestEnvironment } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { LateConnection } from "./late-connection.ts";
import { type Running, startRunning } from "./running.ts";

/** The minimum that the broker allows. */
const SESSION_TIMEOUT_MS = 6_000;
const TAKE_OVER_TIMEOUT_MS = 40_000;
/** How many times the message of a command was ingested. 2: the late statement has run too. */
const TIMES_INGESTED = statement<{ messages: number }>(
  "test_times_ingested",
  "select messages from commands_by_month where command_id = $1",
);
const POSITIONS = statement<{ partition: number; next_offset: number }>(
  "test_positions",
  "select partition, next_offset from positions where topic = 'commands.finance' order by partition",
);

let environment: TestEnvironment;
let late: LateConnection;
let stack: TestStack;
let database: Started<Database>;
let other: Running | undefined;

beforeAll(async () => {
  environment = await createTestEnvironment({ partitions: 1 });
  late = await LateConnection.to(environment.postgresUrl);
  stack = await startTestStack({
    services: ["command-status"],
    environment,
    env: { "command-status": { POSTGRES_URL: late.url, KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS) } },
  });
  const logger = createLogger({ service: "test", level: "error" });
  const { postgresUrl: connectionString } = environment;
  database = await startPool({ connectionString, schema: "command_status", applicationName: "test", logger });
});
afterAll(async () => {
  await other?.stop();
  await database.stop();
  await stack.stop();
  late.close();
  await environment.stop();
});

const timesIngested = async ({ commandId }: AnyCommandMessage): Promise<number> =>
  (await database.value.query(TIMES_INGESTED, [commandId]))[0]?.messages ?? 0;

/** Starts a producer. `publish` sends a message to the only partition. */
async function startPublishing(): Promise<{
  publish(message: AnyCommandMessage): Promise<unknown>;
  stop(): Promise<void>;
}> {
  const { kafkaBrokers, topicPrefix } = environment;
  const logger = createLogger({ service: "test", level: "error" });
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
  const { value, stop } = await startProducer(kafka);
  const publish = (message: AnyCommandMessage): Promise<unknown> =>
    value.send(TOPICS.commandsFinance, { key: message.commandId, value: JSON.stringify(message) });
  return { publish, stop };
}

it("a late write of a paused process lowers no stored position, and no command is lost", async () => {
  const publishing = await startPublishing();
  const paused = stack.process("command-status");
  const [first, held, next] = [commandMessage(), commandMessage(), commandMessage()];
  await publishing.publish(first);
  await eventually(async () => expect(await timesIngested(first)).toBe(1));

  late.hold();
  await publishing.publish(held);
  await eventually(() => late.holds("take_in_messages"));
  paused.kill("SIGSTOP");
  other = await startRunning(environment);
  await publishing.publish(next);
  await eventually(async () => expect(await timesIngested(next)).toBe(1), { timeoutMs: TAKE_OVER_TIMEOUT_MS });
  expect(await timesIngested(held)).toBe(1);
  const before = await database.value.query(POSITIONS, []);

  late.release();
  await eventually(async () => expect(await timesIngested(held)).toBe(2));
  expect(await database.value.query(POSITIONS, [])).toEqual(before);
  paused.kill("SIGCONT");
  expect((await other.client.request("POST", "/internal/commands/caught-up", {})).status).toBe(200);
  await publishing.stop();
});
