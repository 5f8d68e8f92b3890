/**
 * Release 0.1.0 has one table of commands, this release a partition per month. During a rollout
 * processes of both releases write the same rows.
 */
import type { AnyCommandMessage } from "@kapi/contracts";
import { RetryableError } from "@kapi/kafka";
import { statement } from "@kapi/postgres";
import { commandMessage, eventually } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { CommandRepository, MonthRepository } from "../src/domain/ports.ts";
import { retried } from "../src/inbound/kafka/consumers.ts";
import { maintainMonths } from "../src/operations/maintain-months.ts";
import { createCommandLists } from "../src/outbound/postgres/command-lists.ts";
import { createCommandRepository } from "../src/outbound/postgres/command-repository.ts";
import { createMonthRepository } from "../src/outbound/postgres/month-repository.ts";
import { eventOf } from "./events.ts";
import { createMonthsDatabase, logger, type MonthsDatabase } from "./months-database.ts";
import { oldStore } from "./old-release.ts";

const OLD_MONTH = "0001-01-01";
/** More commands than one call of `backfillIds` handles. */
const EARLIER_COMMANDS = 2_500;
const server = (({ organizationId, serverId }) => ({ organizationId, serverId }))(commandMessage());
const anyCommand = (): AnyCommandMessage => commandMessage({ serverId: server.serverId });

let testDatabase: MonthsDatabase;
let old: ReturnType<typeof oldStore>;
let repository: CommandRepository;
let months: MonthRepository;
const earlier = Array.from({ length: EARLIER_COMMANDS }, anyCommand);
/** Commands that this release stored in the partition of a month. */
const byMonth: AnyCommandMessage[] = [];

beforeAll(async () => {
  testDatabase = await createMonthsDatabase();
  await testDatabase.migrateTo("0002");
  old = oldStore(testDatabase.database);
  repository = createCommandRepository(testDatabase.database);
  months = createMonthRepository(testDatabase.database);
  await testDatabase.sql("insert into positions values ('commands.finance', 0, 1)");
  await old.ingestMessages(earlier);
  await old.ingestEvents(earlier.slice(10).map((message) => eventOf(message)));
  await testDatabase.migrateTo();
  await months.createPartitions();
});
afterAll(() => testDatabase.stop());

const rowsOf = ({ commandId }: AnyCommandMessage) =>
  testDatabase.sql<{ month: string; status: string; messages: number }>(
    "select to_char(month, 'YYYY-MM-DD') as month, status, messages from commands_by_month where command_id = $1",
    [commandId],
  );
const isOneRowOf = async (message: AnyCommandMessage, month: string): Promise<void> => {
  expect(await rowsOf(message)).toEqual([{ month, status: "succeeded", messages: 1 }]);
  expect(await repository.byIds([message.commandId])).toMatchObject([
    { fingerprint: message.fingerprint, isFinal: true },
  ]);
};
const keep = (keptMonths = 13): Promise<void> =>
  maintainMonths({ months, keptMonths, logger, signal: new AbortController().signal });

it("for a day after the migration, both releases store commands in the old table, and read each other's commands", async () => {
  // `ourEvent`: this release stores only the event; `ourMessage`: only the message. With
  // `EventFirst`, the named release stores the event, and then the other release the message.
  const [ours, theirs, ourEvent, ourMessage, ourEventFirst, theirEventFirst] = Array.from(
    { length: 6 },
    anyCommand,
  ) as [
    AnyCommandMessage,
    AnyCommandMessage,
    AnyCommandMessage,
    AnyCommandMessage,
    AnyCommandMessage,
    AnyCommandMessage,
  ];
  await repository.ingestMessages([ours, ourMessage], []);
  await old.ingestMessages([theirs, ourEvent]);
  await repository.ingestEvents(
    [ours, ourEvent, ourEventFirst].map((one) => eventOf(one)),
    [],
  );
  await old.ingestEvents([theirs, ourMessage, theirEventFirst].map((one) => eventOf(one)));
  await old.ingestMessages([ourEventFirst]);
  await repository.ingestMessages([theirEventFirst], []);
  await keep();
  for (const one of [ours, theirs, ourEvent, ourMessage, ourEventFirst, theirEventFirst]) {
    await isOneRowOf(one, OLD_MONTH);
    expect(await old.byIds([one.commandId])).toEqual([{ command_id: one.commandId, status: "succeeded" }]);
    const { organizationId, serverId } = one;
    const lists = createCommandLists(testDatabase.database);
    expect((await lists.list({ organizationId, serverId, page: 1, limit: 10 })).pagination.total).toBe(1);
  }
  earlier.push(ourEventFirst);
});

it("a day after the migration, new commands are stored by month, and old commands keep their one row", async () => {
  const [month = ""] = (
    await testDatabase.sql<{ month: string }>("select to_char(current_command_month(), 'YYYY-MM-DD') as month")
  ).map((row) => row.month);
  await testDatabase.sql("update command_placement set monthly_from = now()");
  const [open, openToo, begun] = [...earlier.slice(0, 2), anyCommand()] as [
    AnyCommandMessage,
    AnyCommandMessage,
    AnyCommandMessage,
  ];
  await repository.ingestEvents([eventOf(open)], []);
  await isOneRowOf(open, OLD_MONTH);
  await repository.ingestMessages([openToo], []);
  expect(await rowsOf(openToo)).toEqual([{ month: OLD_MONTH, status: "queued", messages: 2 }]);
  await repository.ingestMessages([begun], []);
  await repository.ingestEvents([eventOf(begun)], []);
  await isOneRowOf(begun, month);

  expect(await months.backfillIds()).toBe(true);
  await repository.ingestEvents(
    earlier.slice(2, 10).map((message) => eventOf(message)),
    [],
  );
  await repository.ingestEvents([eventOf(openToo)], []);
  await keep();
  expect(await months.backfillIds()).toBe(false);
  byMonth.push(begun);
  const [{ missing } = { missing: null }] = await testDatabase.sql<{ missing: number | null }>(
    `select count(*)::integer as missing from commands left join command_ids as known using (command_id)
     where known.created_at is distinct from commands.created_at or known.month <> commands.month
       or encode(known.fingerprint, 'hex') <> commands.fingerprint`,
  );
  expect(missing).toBe(0);
});

it("a day after the migration, release 0.1.0 can change only commands of the old table, so that this release finds every command", async () => {
  const refused = /release 0\.1\.0 can no longer store commands/;
  const [unknown, started, placed] = [anyCommand(), anyCommand(), byMonth[0] ?? anyCommand()];
  await expect(old.ingestMessages([unknown])).rejects.toThrow(refused);
  await expect(old.ingestEvents([eventOf(started)])).rejects.toThrow(refused);
  await expect(old.ingestEvents([eventOf(placed)])).rejects.toThrow(refused);
  for (const one of [unknown, started]) expect(await rowsOf(one)).toEqual([]);
  expect(await rowsOf(placed)).toHaveLength(1);

  const [known] = earlier as [AnyCommandMessage];
  await old.ingestEvents([eventOf(known)]);
  await isOneRowOf(known, OLD_MONTH);
  await repository.ingestMessages([unknown], []);
  await repository.ingestEvents([eventOf(unknown)], []);
  expect(await repository.byIds([unknown.commandId])).toMatchObject([{ isFinal: true }]);
});

it("the old table is dropped after the retention; its commands are still found, and new commands are stored", async () => {
  await keep(2);
  expect(await rowsOf(earlier[0] ?? anyCommand())).toHaveLength(1);
  const later = "(date_trunc('month', now()) + interval '4 months')::date";
  const [{ month } = { month: "" }] = await testDatabase.sql<{ month: string }>(
    `select to_char(${later}, 'YYYY-MM-DD') as month`,
  );
  await testDatabase.setMonth(month);
  await keep(2);
  expect(await testDatabase.sql("select to_regclass('commands')::text as name")).toEqual([{ name: null }]);
  const again = await repository.byIds(earlier.map(({ commandId }) => commandId));
  for (const [index, found] of again.entries())
    expect(found).toMatchObject({ fingerprint: earlier[index]?.fingerprint, isFinal: true });
  const next = anyCommand();
  await repository.ingestMessages([next], []);
  await repository.ingestEvents([eventOf(next)], []);
  await isOneRowOf(next, month);
});

it("a batch that conflicts with a concurrent statement of release 0.1.0 fails with a retryable error, and its retry succeeds", async () => {
  const race = await createMonthsDatabase();
  try {
    await race.migrateTo("0003");
    // Index entries are written in the order in which the indexes were created. The insert of
    // release 0.1.0 pauses after the entry of the primary key, before that of `commands_place`.
    await race.sql(`create function pause(id uuid) returns uuid language plpgsql immutable as $$
      begin perform pg_advisory_xact_lock_shared(1); return id; end $$`);
    await race.sql("create index commands_pause on commands (pause(command_id))");
    await race.sql("insert into positions values ('commands.finance', 0, 1)");
    await race.migrateTo();
    const ours = createCommandRepository(race.database);
    const message = anyCommand();
    const waiting = (event: string) =>
      eventually(async () => {
        const text = `select wait_event from pg_stat_activity where datname = current_database() and wait_event = '${event}'`;
        expect(await race.sql(text)).toHaveLength(1);
      });
    let first: Promise<unknown> = Promise.resolve();
    let second: Promise<unknown> = Promise.resolve();
    await race.database.transaction(async (tx) => {
      await tx.query(statement("test_pause", "select pg_advisory_xact_lock(1)"), []);
      first = oldStore(race.database).ingestMessages([message]);
      await waiting("advisory");
      second = retried(() => ours.ingestMessages([message], [])).catch((error: unknown) => error);
      await waiting("spectoken");
    });
    await first;
    expect(await second).toBeInstanceOf(RetryableError);
    expect(await ours.ingestMessages([message], [])).toMatchObject([{ commandId: message.commandId, readable: true }]);
    expect(await race.sql("select messages, month::text from commands_by_month")).toEqual([
      { messages: 2, month: OLD_MONTH },
    ]);
  } finally {
    await race.stop();
  }
});
