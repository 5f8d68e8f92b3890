import { CommandAnswer, type CommandEvent, type AnyCommandMessage } from "@kapi/contracts";
import { statement } from "@kapi/postgres";
import { commandMessage, eventually } from "@kapi/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

import type { CommandStore, MonthStore } from "../src/domain/ports.ts";
import { keepMonths } from "../src/operations/keep-months.ts";
import { lookUpCommands } from "../src/operations/look-up-commands.ts";
import { readCommands } from "../src/operations/read-commands.ts";
import { createCommandEnds, createCommandLists } from "../src/outbound/postgres/command-lists.ts";
import { ASKED_COMMANDS } from "../src/outbound/postgres/command-places.ts";
import { createCommandStore } from "../src/outbound/postgres/command-store.ts";
import { createMonthStore } from "../src/outbound/postgres/months.ts";
import { eventOf } from "./events.ts";
import { createMonthsDatabase, logger, type MonthsDatabase } from "./months-database.ts";

const KEPT_MONTHS = 13;
let testDatabase: MonthsDatabase;
let store: CommandStore;
let months: MonthStore;
/** Each test has months of its own, two years after those of the test before. */
let year = 2030;

beforeAll(async () => {
  testDatabase = await createMonthsDatabase();
  await testDatabase.migrateTo();
  store = createCommandStore(testDatabase.database);
  months = createMonthStore(testDatabase.database);
});
afterAll(() => testDatabase.stop());
beforeEach(() => {
  year += 2;
});

/** The month that lies so many months after January of the test's year. */
function monthAfter(count: number): string {
  return new Date(Date.UTC(year, count, 1)).toISOString().slice(0, "2030-01-01".length);
}

async function goTo(month: string, by: MonthStore = months): Promise<void> {
  await testDatabase.setMonth(month);
  const { signal } = new AbortController();
  await keepMonths({ months: by, keptMonths: KEPT_MONTHS, logger, signal });
}

async function takeIn(message: AnyCommandMessage, ...events: CommandEvent[]): Promise<void> {
  await store.takeInMessages([message], []);
  for (const event of events) await store.takeInEvents([event], []);
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
  it("is known by its key for good, with what the interface requires of it, and in no list", async () => {
    await goTo(monthAfter(0));
    const message = commandMessage({ derivationKeyId: "d1", createdAt: `${year}-01-05T10:00:00.000Z` });
    const failed = commandMessage({ ...message, commandId: commandMessage().commandId, idempotencyKey: "refused" });
    await takeIn(message, eventOf(message));
    const end = { status: "failed", attempts: 3, result: null, errorCode: "INSUFFICIENT_FUNDS" } as const;
    await takeIn(failed, eventOf(failed, end));
    expect((await listOf(message)).total).toBe(2);

    await goTo(monthAfter(KEPT_MONTHS));
    expect(await attached()).toContain(monthAfter(0));
    expect(await store.byIds([message.commandId])).toMatchObject([{ json: expect.stringContaining('"payload"') }]);
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
    const lines = await readCommands(store, [message, failed, { ...message, organizationId: failed.commandId }]);
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
    expect(JSON.parse(await lookUpCommands(store, [message.commandId]))).toMatchObject({
      commands: [{ fingerprint: message.fingerprint, organizationId: message.organizationId, derivationKeyId: "d1" }],
    });
    expect(await createCommandEnds(testDatabase.database).finalAmong([message.commandId])).toEqual([message.commandId]);
    for (const query of [{}, { status: "succeeded" }, { idempotencyKey: message.idempotencyKey }])
      expect((await listOf(message, query)).total).toBe(0);
  });

  it("does not come back by a late message or event, which hold up nothing beside them", async () => {
    await goTo(monthAfter(0));
    const message = commandMessage();
    await takeIn(message, eventOf(message));
    await goTo(monthAfter(KEPT_MONTHS + 1));
    const [next, another] = [commandMessage(), commandMessage()];
    const position = (nextOffset: bigint) => ({ topic: `late.${year}`, partition: 0, nextOffset });
    expect(await store.takeInMessages([message, next], [position(5n)])).toMatchObject([{ commandId: next.commandId }]);
    expect(await store.takeInEvents([eventOf(message), eventOf(another)], [position(7n)])).toHaveLength(1);
    expect(await store.positions()).toContainEqual(position(7n));
    expect(await rowsOf(message)).toEqual([]);
    expect(await store.byIds([message.commandId])).toMatchObject([{ json: expect.stringContaining('"succeeded"') }]);
  });

  it("takes no count of another month with it", async () => {
    await goTo(monthAfter(0));
    const first = commandMessage({ createdAt: `${year}-01-31T23:59:58.000Z` });
    const second = commandMessage({ ...first, commandId: commandMessage().commandId });
    await takeIn(first, eventOf(first));
    await testDatabase.setMonth(monthAfter(1));
    await takeIn(second, eventOf(second));
    expect((await listOf(first)).total).toBe(2);
    await goTo(monthAfter(KEPT_MONTHS + 1));
    const { total, commands } = await listOf(first);
    expect(total).toBe(1);
    for await (const command of commands) expect(command).toContain(second.commandId);
    expect((await listOf(first, { from: `${year}-01-01T00:00:00.000Z` })).total).toBe(1);
  });
});

describe("a month that may be dropped", () => {
  it("stays while a command in it is not final", async () => {
    await goTo(monthAfter(0));
    const message = commandMessage();
    await takeIn(message, eventOf(message, { status: "leased", result: null }));
    await goTo(monthAfter(KEPT_MONTHS + 1));
    expect(await attached()).toContain(monthAfter(0));
    expect(await months.drop(monthAfter(0))).toBe("open");
    await store.takeInEvents([eventOf(message, { version: 2, status: "expired", result: null })], []);
    await goTo(monthAfter(KEPT_MONTHS + 1));
    expect(await attached()).not.toContain(monthAfter(0));
    expect(await store.byIds([message.commandId])).toMatchObject([{ json: expect.stringContaining('"expired"') }]);
  });

  it("and is being read is dropped as soon as that ends, and meanwhile commands are taken in", async () => {
    await goTo(monthAfter(0));
    const message = commandMessage();
    await takeIn(message, eventOf(message));
    // Months of earlier tests go now, so that this turn has one month to drop.
    await goTo(monthAfter(KEPT_MONTHS));
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<undefined>();
    const { promise: reads, resolve: isReading } = Promise.withResolvers<undefined>();
    const reader = testDatabase.database.transaction(async (tx) => {
      expect(await createCommandStore(tx).byIds([message.commandId])).toHaveLength(1);
      isReading(undefined);
      await mayEnd;
    });
    await reads;
    const calls: string[] = [];
    const recorded: MonthStore = {
      ...months,
      keepOutcomes: (month, page) => {
        calls.push(`read ${month}`);
        return months.keepOutcomes(month, page);
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
    await takeIn(next, eventOf(next));
    expect(await attached()).toContain(monthAfter(0));
    expect(await store.byIds([next.commandId])).toMatchObject([{ isFinal: true }]);
    end(undefined);
    await reader;
    await dropping;
    expect(await attached()).not.toContain(monthAfter(0));
    expect(calls.filter((call) => call === `read ${monthAfter(0)}`)).toHaveLength(1);
  });
});

describe("a new command", () => {
  it("makes the partition of its month where it is missing", async () => {
    await testDatabase.setMonth(monthAfter(0));
    expect(await attached()).not.toContain(monthAfter(0));
    const [message, other] = [commandMessage(), commandMessage()];
    await takeIn(message, eventOf(message));
    expect(await rowsOf(message)).toEqual([{ month: monthAfter(0), status: "succeeded", messages: 1 }]);
    expect(await attached()).toEqual(expect.arrayContaining([monthAfter(0), monthAfter(1), monthAfter(2)]));
    await testDatabase.setMonth(monthAfter(3));
    await store.takeInEvents([eventOf(other)], []);
    expect(await rowsOf(other)).toMatchObject([{ month: monthAfter(3) }]);
  });

  it.each(["message", "event"])(
    "whose %s comes first as the month changes is one row, in the month before",
    async (first) => {
      await goTo(monthAfter(0));
      const message = commandMessage();
      const take = (by: CommandStore, kind: string) =>
        kind === "message" ? by.takeInMessages([message], []) : by.takeInEvents([eventOf(message)], []);
      let other: Promise<unknown> = Promise.resolve();
      await testDatabase.database.transaction(async (tx) => {
        await take(createCommandStore(tx), first);
        await testDatabase.setMonth(monthAfter(1));
        other = take(store, first === "message" ? "event" : "message");
        await eventually(async () => {
          const text = `select count(*)::integer as waiting from pg_stat_activity
          where datname = current_database() and wait_event = 'transactionid'`;
          expect(await testDatabase.sql(text)).toEqual([{ waiting: 1 }]);
        });
      });
      await other;
      expect(await rowsOf(message)).toEqual([{ month: monthAfter(0), status: "succeeded", messages: 1 }]);
      expect((await listOf(message)).total).toBe(1);
      await take(store, "message");
      await take(store, "event");
      expect(await rowsOf(message)).toEqual([{ month: monthAfter(0), status: "succeeded", messages: 2 }]);
      expect((await listOf(message)).total).toBe(1);
    },
  );

  it("is where it belongs in a batch of many, of which some are known and some are not, in any order of ids", async () => {
    await goTo(monthAfter(0));
    const messages = Array.from({ length: 60 }, () => commandMessage());
    await store.takeInMessages(
      messages.filter((_, index) => index % 3 === 0),
      [],
    );
    await testDatabase.setMonth(monthAfter(1));
    await store.takeInEvents(
      messages.map((message) => eventOf(message)),
      [],
    );
    await store.takeInMessages(messages, []);
    for (const [index, message] of messages.entries())
      expect(await rowsOf(message)).toMatchObject([
        { month: monthAfter(index % 3 === 0 ? 0 : 1), status: "succeeded" },
      ]);
  });
});

it("a command is found by month and id together, also with a plan that was made while partitions were empty", async () => {
  await goTo(monthAfter(0));
  const plan = await testDatabase.database.transaction(async (tx) => {
    await tx.query(
      statement("test_prepare", `prepare asked (uuid[]) as select commands.status from ${ASKED_COMMANDS}`),
      [],
    );
    return tx.query(statement<{ "QUERY PLAN": string }>("test_explain", "explain execute asked ('{}')"), []);
  });
  const conditions = plan.map((row) => row["QUERY PLAN"]).filter((line) => /Cond: .*month = /.test(line));
  expect(conditions.length).toBeGreaterThanOrEqual(4);
  for (const condition of conditions) expect(condition).toContain("command_id = ");
});
