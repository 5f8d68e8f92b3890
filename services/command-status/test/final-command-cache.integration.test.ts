import type { CommandEvent, AnyCommandMessage } from "@kapi/contracts";
import { startPool, type Database } from "@kapi/postgres";
import { createLogger, loadConfig, type Started } from "@kapi/runtime";
import { commandMessage, createTestEnvironment, type TestEnvironment } from "@kapi/testkit";
import { afterAll, beforeAll, beforeEach, expect, it, type Mock, vi } from "vitest";

import { ConfigSchema } from "../src/config.ts";
import type { CommandRepository } from "../src/domain/ports.ts";
import { createCommandRepository } from "../src/outbound/postgres/command-repository.ts";
import { withFinalCommandCache } from "../src/outbound/postgres/final-command-cache.ts";
import { migrateDatabase } from "../src/service.ts";
import { eventOf } from "./events.ts";

let environment: TestEnvironment;
let database: Started<Database>;
/** Reads that reach the database. */
let read: Mock<CommandRepository["byIds"]>;
let repository: CommandRepository;

beforeAll(async () => {
  environment = await createTestEnvironment({ needs: ["postgres"] });
  const logger = createLogger({ service: "command-status", level: "error" });
  const kafka = { KAFKA_BROKERS: "127.0.0.1:1", REDIS_URL: "redis://127.0.0.1:1" };
  await migrateDatabase({ config: loadConfig(ConfigSchema, { ...kafka, ...environment.env, HTTP_PORT: "0" }), logger });
  database = await startPool({
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
  const rows = createCommandRepository(database.value);
  read = vi.fn<CommandRepository["byIds"]>((ids) => rows.byIds(ids));
  repository = withFinalCommandCache({ ...rows, byIds: read });
});

async function ingest(message: AnyCommandMessage, event: CommandEvent = eventOf(message)): Promise<void> {
  await repository.ingestMessages([message], []);
  await repository.ingestEvents([event], []);
}

it("a command is read from the database each time until it is final, and then from the cache", async () => {
  const message = commandMessage();
  await repository.ingestMessages([message], []);
  const [queued] = await repository.byIds([message.commandId]);
  expect(queued).toMatchObject({ isFinal: false });
  await repository.ingestEvents([eventOf(message)], []);
  const [ended] = await repository.byIds([message.commandId]);
  expect(ended).toMatchObject({ isFinal: true });
  expect(read).toHaveBeenCalledTimes(2);
  expect(await repository.byIds([message.commandId])).toEqual([ended]);
  expect(read).toHaveBeenCalledTimes(2);
});

it("commands are returned in the order of the ids, cached or not", async () => {
  const [first, second, open, unknown] = [commandMessage(), commandMessage(), commandMessage(), commandMessage()];
  await ingest(first);
  await ingest(second);
  await repository.ingestMessages([open], []);
  await repository.byIds([second.commandId]);
  const asked = [unknown, second, open, first, second, unknown].map(({ commandId }) => commandId);
  const answers = await repository.byIds(asked);
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
  await ingest(message, eventOf(message, { result: { text: "x".repeat(20_000) } }));
  for (let time = 1; time <= 2; time += 1) {
    expect(await repository.byIds([message.commandId])).toMatchObject([{ json: expect.stringContaining("xxxxx") }]);
    expect(read).toHaveBeenCalledTimes(time);
  }
});
