import { createPool, type Database } from "@kapi/postgres";
import { createLogger, loadConfig, type Started } from "@kapi/runtime";
import { commandMessage, createTestEnvironment, type TestEnvironment } from "@kapi/testkit";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, it, type Mock, vi } from "vitest";

import { ConfigSchema } from "../src/config.ts";
import type { CommandStore, WholeCommand } from "../src/domain/ports.ts";
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

const idOf = ({ message }: WholeCommand): string => message.commandId;

/** What another process, or this one without its memory, answers. */
const fromDatabase = (commands: readonly WholeCommand[]) =>
  createCommandStore(database.value).byIds(commands.map(idOf));

it("a command that was over before it was written is answered without the database, byte for byte as from it", async () => {
  const words = 'quotes " and \\ and ünïcode\u2028 \n\t and \u{1f600}';
  const creation = commandMessage({ operation: "account.create", accountNumber: null, managedAccountId: null });
  const strange = commandMessage({
    serverId: randomUUID().toUpperCase(),
    requestId: words,
    payload: { amount: 0.1, large: 1e21, small: 1e-7, zero: -0, description: words, nothing: null, list: [1, "2", {}] },
    derivationKeyId: "key-1",
    createdAt: "2026-01-02T03:04:05Z",
    deadlineAt: "2026-01-02T04:04:05.1+01:00",
  });
  const refused = commandMessage();
  const commands: WholeCommand[] = [
    { message: commandMessage(), event: eventOf(commandMessage()) },
    { message: creation, event: eventOf(creation, { accountNumber: "10000009", managedAccountId: randomUUID() }) },
    { message: strange, event: eventOf(strange, { result: { text: words, balanceAfter: 1e21 }, attempts: 7 }) },
    {
      message: refused,
      event: eventOf(refused, { status: "failed", result: null, errorCode: "INTERNAL", errorMessage: words }),
    },
  ].map(({ message, event }) => ({
    message,
    event: { ...event, commandId: message.commandId, organizationId: message.organizationId },
  }));
  await store.insertWhole(commands, []);
  const answers = await store.byIds(commands.map(idOf));
  expect(read).not.toHaveBeenCalled();
  expect(answers).toEqual(await fromDatabase(commands));
  expect(answers.every((answer) => answer !== null && answer !== "later" && answer.isFinal)).toBe(true);
});

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

it("a command that had a row already is answered as its row says, whatever was told later", async () => {
  const message = commandMessage();
  await store.takeInMessages([message], []);
  await store.takeInEvents(
    [eventOf(message, { version: 2, status: "failed", result: null, errorCode: "INTERNAL" })],
    [],
  );
  expect(await store.insertWhole([{ message, event: eventOf(message, { version: 3 }) }], [])).toEqual([]);
  const [answer] = await store.byIds([message.commandId]);
  expect(answer).toEqual((await fromDatabase([{ message, event: eventOf(message) }]))[0]);
  expect(answer).toMatchObject({ json: expect.stringContaining('"status":"failed"') });
});

it("each is answered in the place that it was asked for, remembered or not", async () => {
  const [first, second, open, unknown] = [commandMessage(), commandMessage(), commandMessage(), commandMessage()];
  await store.insertWhole(
    [first, second].map((message) => ({ message, event: eventOf(message) })),
    [],
  );
  await store.takeInMessages([open], []);
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
  await store.insertWhole([{ message, event: eventOf(message, { result: { text: "x".repeat(20_000) } }) }], []);
  for (let time = 1; time <= 2; time += 1) {
    expect(await store.byIds([message.commandId])).toMatchObject([{ json: expect.stringContaining("xxxxx") }]);
    expect(read).toHaveBeenCalledTimes(time);
  }
});
