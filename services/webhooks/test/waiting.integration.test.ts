/**
 * Events that wait for older events of their own source, or for the other source of their account:
 * how long they wait, and which of their contents the store reads.
 */
import { randomUUID } from "node:crypto";

import { type Database, type Statement, statement } from "@kapi/postgres";
import { Scope } from "@kapi/runtime";
import { TestClock } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { IncomingEvent } from "../src/domain/events.ts";
import { MAX_OTHER_SOURCE_WAIT_MS, MAX_WAIT_MS } from "../src/domain/source-order.ts";
import { KNOWN_EVENTS } from "../src/outbound/postgres/event-statements.ts";
import { createEventStore } from "../src/outbound/postgres/event-store.ts";
import { anyEvent, at, startStore, type TestStore } from "./event-store.ts";

const scope = new Scope();
const clock = new TestClock(Date.now());
let harness: TestStore;

beforeAll(async () => {
  harness = await startStore(scope, clock);
});
afterAll(() => scope.stop());

/** Returns a function that creates events of one account of a new organization. */
function eventsOfAccount(): (...place: Parameters<typeof at>) => IncomingEvent {
  const [organizationId, account] = [randomUUID(), { serverId: randomUUID(), accountNumber: "10000001" }];
  return (...place) => anyEvent(organizationId, clock.nowMs(), { ...account, place: at(...place) });
}

const FEED_OF = statement<{ event_id: string }>(
  "feed_of",
  "select event_id from events where organization_id = $1 order by position",
);

async function feedOf({ organizationId }: IncomingEvent): Promise<string[]> {
  return (await harness.database.query(FEED_OF, [organizationId])).map((row) => row.event_id);
}

const idsOf = (events: readonly IncomingEvent[]): string[] => events.map(({ eventId }) => eventId);

const LET_WAIT = statement<never>(
  "let_wait",
  "update waiting_events set waiting_since = waiting_since - $1 * interval '1 millisecond' where event_id = any($2)",
);

/** Sets the start of the wait back: the events have then waited too long for the other source. */
async function letWaitForOther(events: readonly IncomingEvent[]): Promise<void> {
  await harness.database.query(LET_WAIT, [MAX_OTHER_SOURCE_WAIT_MS + 1, idsOf(events)]);
}

it("after one wait for an unavailable source, later events do not wait for it; when the source is back, events wait for it again", async () => {
  const of = eventsOfAccount();
  const [created, initial] = [of("account", 1, 1, 0), of("finance", 1, 1, 1)];
  await harness.recordEvents([created, initial]);
  const [call, closed, stopOut] = [of("account", 2, 3, 2), of("account", 3, 5, 4), of("account", 4, 7, 6)];
  await harness.recordEvents([call]);
  await harness.recordEvents([stopOut, closed]);
  expect(await feedOf(created)).toEqual(idsOf([created, initial]));
  expect(await harness.store.overdue(10)).toEqual([]);
  await letWaitForOther([call, stopOut]);
  const overdue = await harness.store.overdue(10);
  expect(idsOf(overdue)).toEqual([call.eventId]);
  const { serverId, accountNumber } = created;
  const missing = { serverId, accountNumber, source: "finance", first: 2, last: 2, reason: "other_source" };
  expect((await harness.recordEvents(overdue)).missing).toEqual([missing]);
  const later = of("account", 5, 9, 8);
  expect(await harness.recordEvents([later])).toMatchObject({ recorded: 1, missing: [] });
  const sent = [created, initial, call, closed, stopOut, later];
  expect(await feedOf(created)).toEqual(idsOf(sent));

  const old = [2, 4, 6, 8].map((through, index) => of("finance", index + 2, through, through - 1));
  const [next, newest] = [of("account", 6, 12, 11), of("finance", 6, 11, 9)];
  await harness.recordEvents([...old.slice(0, 2), next]);
  await harness.recordEvents(old.slice(2));
  await harness.recordEvents([newest]);
  expect(await feedOf(created)).toEqual(idsOf([...sent, ...old, newest, next]));
});

it("the store finds events that have waited too long for the other source, even if they first waited for their own source", async () => {
  const of = eventsOfAccount();
  await harness.recordEvents([of("account", 1, 1, 0)]);
  const [first, second, own] = [of("finance", 1, 2, 1), of("finance", 2, 5, 4), of("finance", 4, 8, 1)];
  await harness.recordEvents([second]);
  await harness.recordEvents([first, own]);
  await letWaitForOther([second, own]);
  expect(idsOf(await harness.store.overdue(10))).toEqual([second.eventId]);
  await harness.recordEvents([second]);
  expect(await harness.store.overdue(10)).toEqual([]);
});

type Watch = (called: Statement<unknown>, values: readonly unknown[], rows: readonly Record<string, unknown>[]) => void;

/** The database; `watch` is called for each query in a transaction. */
function watched(database: Database, watch: Watch): Database {
  return {
    query: (called, values) => database.query(called, values),
    stream: (called, values, batchRows) => database.stream(called, values, batchRows),
    transaction: (work) =>
      database.transaction((tx) =>
        work({
          execute: (called, values) => tx.execute(called, values),
          query: async <Row>(called: Statement<Row>, values: readonly unknown[]): Promise<Row[]> => {
            const rows = await tx.query(called, values);
            watch(called, values, rows as Record<string, unknown>[]);
            return rows;
          },
        }),
      ),
  };
}

it("the store reads the content of a waiting event only if it records the event", async () => {
  const of = eventsOfAccount();
  const created = of("account", 1, 1, 0);
  await harness.recordEvents([created]);
  await harness.recordEvents(
    Array.from({ length: 300 }, (_, index) => of("account", index + 2, 3 * index + 4, 3 * index + 3)),
  );
  const [first, second] = [of("finance", 1, 3, 1), of("finance", 2, 6, 4)];
  const read = { contents: 0, known: 0 };
  const database = watched(harness.database, ({ name }, values, rows) => {
    read.contents += rows.filter((row) => typeof row["event"] === "string").length;
    if (name === KNOWN_EVENTS.name) read.known += (values[1] as string[]).length;
  });
  const store = createEventStore(database, harness.days);
  const record = (events: readonly IncomingEvent[]) =>
    store.recordEvents(events, () => ({ reserve: () => false }), clock.nowMs(), clock.nowMs());
  expect(await record([first, second])).toMatchObject({ recorded: 4, missing: [] });
  expect(read).toEqual({ contents: 2, known: 4 });
});

const INSERT_AS_IN_0_1_0 = statement<never>(
  "insert_as_in_0_1_0",
  `insert into waiting_events (organization_id, event_id, server_id, account_number, event)
   values ($1::uuid, $2::uuid, $3::uuid, $4, $5)`,
);

it("the store records a waiting event that release 0.1.0 stored without `through` and `after`", async () => {
  const of = eventsOfAccount();
  const [created, waiting, missing] = [of("account", 1, 1, 0), of("account", 3), of("account", 2)];
  await harness.recordEvents([created]);
  const { organizationId, eventId, serverId, accountNumber } = waiting;
  const event = JSON.stringify({ ...waiting, place: { source: "account", sequence: 3 } });
  await harness.database.query(INSERT_AS_IN_0_1_0, [organizationId, eventId, serverId, accountNumber, event]);
  await harness.recordEvents([missing]);
  expect(await feedOf(created)).toEqual(idsOf([created, missing, waiting]));
});

const RECORD_IN_OTHER_PROCESS = statement<never>(
  "record_in_other_process",
  `insert into events (day, created_at, organization_id, event_id, position, type, server_id, payload)
   values (current_date, now(), $1::uuid, $2::uuid, $3, 'margin.call', $4::uuid, '{}')`,
);

it("an account does not wait again for missing events if another process recorded the event that follows them", async () => {
  const of = eventsOfAccount();
  const [created, waiting, next] = [of("account", 1, 1, 0), of("account", 3, 3, 0), of("account", 4, 4, 0)];
  await harness.recordEvents([created]);
  await harness.recordEvents([waiting]);
  await harness.database.query(LET_WAIT, [MAX_WAIT_MS + 1, idsOf([waiting])]);
  const { organizationId, eventId, serverId } = waiting;
  await harness.database.query(RECORD_IN_OTHER_PROCESS, [organizationId, eventId, 1_000, serverId]);
  const [missing] = (await harness.recordEvents([waiting])).missing;
  expect(missing).toMatchObject({ source: "account", first: 2, last: 2, reason: "overdue" });
  expect(await harness.recordEvents([next])).toMatchObject({ recorded: 1, missing: [] });
});
