import { CommandAnswer, type CommandEvent, type AnyCommandMessage } from "@kapi/contracts";
import { statement } from "@kapi/postgres";
import { commandMessage, eventually } from "@kapi/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

import type { CommandRepository, MonthRepository } from "../src/domain/ports.ts";
import { maintainMonths } from "../src/operations/maintain-months.ts";
import { lookUpCommands } from "../src/operations/look-up-commands.ts";
import { readCommands } from "../src/operations/read-commands.ts";
import { createFinalCommandRepository, createCommandLists } from "../src/outbound/postgres/command-lists.ts";
import { REQUESTED_COMMANDS } from "../src/outbound/postgres/command-details.ts";
import { createCommandRepository } from "../src/outbound/postgres/command-repository.ts";
import { createMonthRepository } from "../src/outbound/postgres/month-repository.ts";
import { eventOf } from "./events.ts";
import { createMonthsDatabase, logger, type MonthsDatabase } from "./months-database.ts";

const KEPT_MONTHS = 13;
let testDatabase: MonthsDatabase;
let repository: CommandRepository;
let months: MonthRepository;
/** Each test has its own months, two years after those of the previous test. */
let year = 2030;

beforeAll(async () => {
  testDatabase = await createMonthsDatabase();
  await testDatabase.migrateTo();
  repository = createCommandRepository(testDatabase.database);
  months = createMonthRepository(testDatabase.database);
});
afterAll(() => testDatabase.stop());
beforeEach(() => {
  year += 2;
});

/** The month `count` months after January of the test's year. */
function monthAfter(count: number): string {
  return new Date(Date.UTC(year, count, 1)).toISOString().slice(0, "2030-01-01".length);
}

async function goTo(month: string, by: MonthRepository = months): Promise<void> {
  await testDatabase.setMonth(month);
  const { signal } = new AbortController();
  await maintainMonths({ months: by, keptMonths: KEPT_MONTHS, logger, signal });
}

async function ingest(message: AnyCommandMessage, ...events: CommandEvent[]): Promise<void> {
  await repository.ingestMessages([message], []);
  for (const event of events) await repository.ingestEvents([event], []);
}

async function attached(): Promise<string[]> {
  const text = "select to_char(month, 'YYYY-MM-DD') as month from attached_command_months()";
  return (await testDatabase.sql<{ month: string }>(text)).map(({ month }) => month);
}

const rowsOf = ({ commandId }: AnyCommandMessage) =>
  testDatabase.sql<{ month: string; status: string; messages: number }>(
    "select to_char(month, 'YYYY-MM-DD') as month, status, messages from commands_by_month where command_id = $1",
    [commandId],
  );

const listOf = async ({ organizationId, serverId }: AnyCommandMessage, query = {}) =>
  createCommandLists(testDatabase.database).list({ organizationId, serverId, page: 1, limit: 20, ...query });

describe("a command whose month was dropped", () => {
  it("is still found by its id, with the required fields, and is in no list", async () => {
    await goTo(monthAfter(0));
    const message = commandMessage({ derivationKeyId: "d1", createdAt: `${year}-01-05T10:00:00.000Z` });
    const failed = commandMessage({ ...message, commandId: commandMessage().commandId, idempotencyKey: "refused" });
    await ingest(message, eventOf(message));
    const end = { status: "failed", attempts: 3, result: null, errorCode: "INSUFFICIENT_FUNDS" } as const;
    await ingest(failed, eventOf(failed, end));
    expect((await listOf(message)).pagination.total).toBe(2);

    await goTo(monthAfter(KEPT_MONTHS));
    expect(await attached()).toContain(monthAfter(0));
    expect(await repository.byIds([message.commandId])).toMatchObject([{ json: expect.stringContaining('"payload"') }]);
    await goTo(monthAfter(KEPT_MONTHS + 1));
    expect(await attached()).not.toContain(monthAfter(0));

    const short = (one: AnyCommandMessage) => ({
      id: one.commandId,
      operation: one.operation,
      serverId: one.serverId,
      idempotencyKey: one.idempotencyKey,
      createdAt: one.createdAt,
      createdBy: one.createdBy,
      result: null,
    });
    const lines = await readCommands(repository, [message, failed, { ...message, organizationId: failed.commandId }]);
    const [first = "", second = "", third] = lines.split("\n");
    expect(JSON.parse(first)).toEqual({
      command: { ...short(message), status: "succeeded", attempts: 1, errorCode: null },
    });
    expect(JSON.parse(second)).toEqual({
      command: { ...short(failed), status: "failed", attempts: 3, errorCode: "INSUFFICIENT_FUNDS" },
    });
    expect(third).toBe("");
    for (const line of [first, second])
      expect(CommandAnswer.strict().parse(JSON.parse(line))).toEqual(JSON.parse(line));
    expect(JSON.parse(await lookUpCommands(repository, [message.commandId]))).toMatchObject({
      commands: [{ fingerprint: message.fingerprint, organizationId: message.organizationId, derivationKeyId: "d1" }],
    });
    expect(await createFinalCommandRepository(testDatabase.database).findFinal([message.commandId])).toEqual([
      message.commandId,
    ]);
    for (const query of [{}, { status: "succeeded" }, { idempotencyKey: message.idempotencyKey }])
      expect((await listOf(message, query)).pagination.total).toBe(0);
  });

  it("is not stored again by a late message or event, and such a late record delays no other record", async () => {
    await goTo(monthAfter(0));
    const message = commandMessage();
    await ingest(message, eventOf(message));
    await goTo(monthAfter(KEPT_MONTHS + 1));
    const [next, another] = [commandMessage(), commandMessage()];
    const position = (nextOffset: bigint) => ({ topic: `late.${year}`, partition: 0, nextOffset });
    expect(await repository.ingestMessages([message, next], [position(5n)])).toMatchObject([
      { commandId: next.commandId },
    ]);
    expect(await repository.ingestEvents([eventOf(message), eventOf(another)], [position(7n)])).toHaveLength(1);
    expect(await repository.positions()).toContainEqual(position(7n));
    expect(await rowsOf(message)).toEqual([]);
    expect(await repository.byIds([message.commandId])).toMatchObject([
      { json: expect.stringContaining('"succeeded"') },
    ]);
  });

  it("is no longer counted, while commands of other months are", async () => {
    await goTo(monthAfter(0));
    const first = commandMessage({ createdAt: `${year}-01-31T23:59:58.000Z` });
    const second = commandMessage({ ...first, commandId: commandMessage().commandId });
    await ingest(first, eventOf(first));
    await testDatabase.setMonth(monthAfter(1));
    await ingest(second, eventOf(second));
    expect((await listOf(first)).pagination.total).toBe(2);
    await goTo(monthAfter(KEPT_MONTHS + 1));
    const {
      pagination: { total },
      commands,
    } = await listOf(first);
    expect(total).toBe(1);
    const listed: string[] = [];
    for await (const command of commands) listed.push(command);
    expect(listed).toEqual([expect.stringContaining(second.commandId)]);
    expect((await listOf(first, { from: `${year}-01-01T00:00:00.000Z` })).pagination.total).toBe(1);
  });
});

describe("a month past its retention", () => {
  it("stays while a command in it is not final", async () => {
    await goTo(monthAfter(0));
    const message = commandMessage();
    await ingest(message, eventOf(message, { status: "leased", result: null }));
    await goTo(monthAfter(KEPT_MONTHS + 1));
    expect(await attached()).toContain(monthAfter(0));
    expect(await months.drop(monthAfter(0))).toBe("open");
    await repository.ingestEvents([eventOf(message, { version: 2, status: "expired", result: null })], []);
    await goTo(monthAfter(KEPT_MONTHS + 1));
    expect(await attached()).not.toContain(monthAfter(0));
    expect(await repository.byIds([message.commandId])).toMatchObject([{ json: expect.stringContaining('"expired"') }]);
  });

  it("is dropped after the end of a transaction that reads it, and commands are ingested meanwhile", async () => {
    await goTo(monthAfter(0));
    const message = commandMessage();
    await ingest(message, eventOf(message));
    // Drop the months of earlier tests first, so that the next round has one month to drop.
    await goTo(monthAfter(KEPT_MONTHS));
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<undefined>();
    const { promise: reads, resolve: isReading } = Promise.withResolvers<undefined>();
    const reader = testDatabase.database.transaction(async (tx) => {
      expect(await createCommandRepository(tx).byIds([message.commandId])).toHaveLength(1);
      isReading(undefined);
      await mayEnd;
    });
    await reads;
    const calls: string[] = [];
    const recorded: MonthRepository = {
      ...months,
      archiveOutcomes: (month, page) => {
        calls.push(`read ${month}`);
        return months.archiveOutcomes(month, page);
      },
      drop: async (month) => {
        const outcome = await months.drop(month);
        calls.push(`${outcome} ${month}`);
        return outcome;
      },
    };
    const dropping = goTo(monthAfter(KEPT_MONTHS + 1), recorded);
    await eventually(() => calls.includes(`used ${monthAfter(0)}`));
    const next = commandMessage();
    await ingest(next, eventOf(next));
    expect(await attached()).toContain(monthAfter(0));
    expect(await repository.byIds([next.commandId])).toMatchObject([{ isFinal: true }]);
    end(undefined);
    await reader;
    await dropping;
    expect(await attached()).not.toContain(monthAfter(0));
    expect(calls.filter((call) => call === `read ${monthAfter(0)}`)).toHaveLength(1);
  });
});

describe("a new command", () => {
  it("creates the missing partition of its month", async () => {
    await testDatabase.setMonth(monthAfter(0));
    expect(await attached()).not.toContain(monthAfter(0));
    const [message, other] = [commandMessage(), commandMessage()];
    await ingest(message, eventOf(message));
    expect(await rowsOf(message)).toEqual([{ month: monthAfter(0), status: "succeeded", messages: 1 }]);
    expect(await attached()).toEqual(expect.arrayContaining([monthAfter(0), monthAfter(1), monthAfter(2)]));
    await testDatabase.setMonth(monthAfter(3));
    await repository.ingestEvents([eventOf(other)], []);
    expect(await rowsOf(other)).toMatchObject([{ month: monthAfter(3) }]);
  });

  it.each(["message", "event"])(
    "whose %s comes first while the month changes has one row, in the earlier month",
    async (first) => {
      await goTo(monthAfter(0));
      const message = commandMessage();
      const take = (by: CommandRepository, kind: string) =>
        kind === "message" ? by.ingestMessages([message], []) : by.ingestEvents([eventOf(message)], []);
      let other: Promise<unknown> = Promise.resolve();
      await testDatabase.database.transaction(async (tx) => {
        await take(createCommandRepository(tx), first);
        await testDatabase.setMonth(monthAfter(1));
        other = take(repository, first === "message" ? "event" : "message");
        await eventually(async () => {
          const text = `select count(*)::integer as waiting from pg_stat_activity
          where datname = current_database() and wait_event = 'transactionid'`;
          expect(await testDatabase.sql(text)).toEqual([{ waiting: 1 }]);
        });
      });
      await other;
      expect(await rowsOf(message)).toEqual([{ month: monthAfter(0), status: "succeeded", messages: 1 }]);
      expect((await listOf(message)).pagination.total).toBe(1);
      await take(repository, "message");
      await take(repository, "event");
      expect(await rowsOf(message)).toEqual([{ month: monthAfter(0), status: "succeeded", messages: 2 }]);
      expect((await listOf(message)).pagination.total).toBe(1);
    },
  );

  it("is in the right month in a batch of known and unknown commands, in any order of ids", async () => {
    await goTo(monthAfter(0));
    const messages = Array.from({ length: 60 }, () => commandMessage());
    await repository.ingestMessages(
      messages.filter((_, index) => index % 3 === 0),
      [],
    );
    await testDatabase.setMonth(monthAfter(1));
    await repository.ingestEvents(
      messages.map((message) => eventOf(message)),
      [],
    );
    await repository.ingestMessages(messages, []);
    for (const [index, message] of messages.entries())
      expect(await rowsOf(message)).toMatchObject([
        { month: monthAfter(index % 3 === 0 ? 0 : 1), status: "succeeded" },
      ]);
  });
});

it("a command is found by month and id, also with a plan that was made while partitions were empty", async () => {
  await goTo(monthAfter(0));
  const plan = await testDatabase.database.transaction(async (tx) => {
    await tx.query(
      statement("test_prepare", `prepare asked (uuid[]) as select commands.status from ${REQUESTED_COMMANDS}`),
      [],
    );
    return tx.query(statement<{ "QUERY PLAN": string }>("test_explain", "explain execute asked ('{}')"), []);
  });
  const conditions = plan.map((row) => row["QUERY PLAN"]).filter((line) => /Cond: .*month = /.test(line));
  expect(conditions.length).toBeGreaterThanOrEqual(4);
  for (const condition of conditions) expect(condition).toContain("command_id = ");
});
