import type { CommandEvent, AnyCommandMessage } from "@kapi/contracts";
import { createPool, type Database } from "@kapi/postgres";
import { createLogger, loadConfig, type Started } from "@kapi/runtime";
import { commandMessage, createTestEnvironment, type TestEnvironment } from "@kapi/testkit";
import { afterAll, beforeAll, beforeEach, expect, it, type Mock, vi } from "vitest";

import { ConfigSchema } from "../src/config.ts";
import type { CommandStore } from "../src/domain/ports.ts";
import { createCommandStore } from "../src/outbound/postgres/command-store.ts";
import { rememberingFinal } from "../src/outbound/postgres/final-commands.ts";
import { migrateDatabase } from "../src/service.ts";
import { eventOf } from "./events.ts";

let environment: TestEnvironment;
let database: Started<Database>;
/** Calls of the database. */
let read: Mock<CommandStore["byIds"]>;
let store: CommandStore;

beforeAll(async () => {
  environment = await createTestEnvironment({ needs: ["postgres"] });
  const logger = createLogger({ service: "command-status", level: "error" });
  const kafka = { KAFKA_BROKERS: "127.0.0.1:1", REDIS_URL: "redis://127.0.0.1:1" };
  await migrateDatabase({ config: loadConfig(ConfigSchema, { ...kafka, ...environment.env, HTTP_PORT: "0" }), logger });
  database = await createPool({
    connectionString: environment.postgresUrl,
    schema: "command_status",
    applicationName: "command-status-test",
    logger,
  });
});
afterAll(async () => {
  await database.stop();
  await environment.stop();
});
beforeEach(() => {
  const rows = createCommandStore(database.value);
  read = vi.fn<CommandStore["byIds"]>((ids) => rows.byIds(ids));
  store = rememberingFinal({ ...rows, byIds: read });
});

async function takeIn(message: AnyCommandMessage, event: CommandEvent = eventOf(message)): Promise<void> {
  await store.takeInMessages([message], []);
  await store.takeInEvents([event], []);
}

it("what is not final is read each time, and remembered once it is final", async () => {
  const message = commandMessage();
  await store.takeInMessages([message], []);
  const [queued] = await store.byIds([message.commandId]);
  expect(queued).toMatchObject({ isFinal: false });
  await store.takeInEvents([eventOf(message)], []);
  const [ended] = await store.byIds([message.commandId]);
  expect(ended).toMatchObject({ isFinal: true });
  expect(read).toHaveBeenCalledTimes(2);
  expect(await store.byIds([message.commandId])).toEqual([ended]);
  expect(read).toHaveBeenCalledTimes(2);
});

it("each is answered in the place that it was asked for, remembered or not", async () => {
  const [first, second, open, unknown] = [commandMessage(), commandMessage(), commandMessage(), commandMessage()];
  await takeIn(first);
  await takeIn(second);
  await store.takeInMessages([open], []);
  await store.byIds([second.commandId]);
  const asked = [unknown, second, open, first, second, unknown].map(({ commandId }) => commandId);
  const answers = await store.byIds(asked);
  expect(answers.map((answer) => (answer === null || answer === "later" ? answer : answer.commandId))).toEqual([
    null,
    second.commandId,
    open.commandId,
    first.commandId,
    second.commandId,
    null,
  ]);
});

it("a large result is read from the database each time", async () => {
  const message = commandMessage();
  await takeIn(message, eventOf(message, { result: { text: "x".repeat(20_000) } }));
  for (let time = 1; time <= 2; time += 1) {
    expect(await store.byIds([message.commandId])).toMatchObject([{ json: expect.stringContaining("xxxxx") }]);
    expect(read).toHaveBeenCalledTimes(time);
  }
});
