/** The event feed: no event is missed or repeated, also with concurrent commits. */
import { randomUUID } from "node:crypto";

import { EventsAnswer, type WebhookKind } from "@kapi/contracts";
import { type Database, statement } from "@kapi/postgres";
import { Scope } from "@kapi/runtime";
import { eventually, TestClock } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { IncomingEvent } from "../src/domain/events.ts";
import type { DayStore, EventStore, RecordedEvents } from "../src/domain/ports.ts";
import { KEPT_DAYS, keepDays } from "../src/operations/keep-days.ts";
import { listEvents } from "../src/operations/list-events.ts";
import { replayWebhook } from "../src/operations/replay-webhook.ts";
import { createEndpointStore } from "../src/outbound/postgres/endpoint-store.ts";
import { createEventStore } from "../src/outbound/postgres/event-store.ts";
import { DUE_ENDPOINTS, LEASE, LIST, RECORD, REDELIVER } from "../src/outbound/postgres/delivery-store.ts";
import { FEED, KNOWN_EVENTS } from "../src/outbound/postgres/event-statements.ts";
import { anyEvent, at, logger, startStore, type TestStore } from "./event-store.ts";

const DAY_MS = 86_400_000;
const scope = new Scope();
const clock = new TestClock(Date.now());
let database: Database;
let days: DayStore;
let store: EventStore;
let recordEvents: TestStore["recordEvents"];

beforeAll(async () => {
  ({ database, days, store, recordEvents } = await startStore(scope, clock));
});
afterAll(() => scope.stop());

const event = (organizationId: string, change: Partial<IncomingEvent> = {}): IncomingEvent =>
  anyEvent(organizationId, clock.nowMs(), change);

async function page(organizationId: string, after?: string, limit = 100, kinds?: WebhookKind[]) {
  const query = { limit, ...(after === undefined ? {} : { after }), ...(kinds === undefined ? {} : { kinds }) };
  return EventsAnswer.parse(JSON.parse(await listEvents(store, organizationId, query)));
}

/** All events after a cursor, page by page. */
async function readAll(organizationId: string, limit: number, after?: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = after; ;) {
    const { events, next } = await page(organizationId, cursor, limit);
    ids.push(...events.map(({ id }) => id));
    if (events.length === 0) return ids;
    cursor = next;
  }
}

it("a reader that continues from `next` gets every event of the feed once, even while events are being written", async () => {
  const organizationId = randomUUID();
  const written: string[] = [];
  let writing = true;
  const writers = Array.from({ length: 8 }, async () => {
    for (let round = 0; round < 25; round += 1) {
      const events = Array.from({ length: 1 + (round % 4) }, () => event(organizationId));
      await recordEvents(events);
      written.push(...events.map(({ eventId }) => eventId));
    }
  });
  const read: string[] = [];
  const reader = (async () => {
    for (let cursor: string | undefined; ;) {
      const more = writing;
      const { events, next } = await page(organizationId, cursor, 3);
      read.push(...events.map(({ id }) => id));
      if (!more && events.length === 0) return;
      cursor = next;
    }
  })();
  await Promise.all(writers);
  writing = false;
  await reader;
  expect(read).toHaveLength(written.length);
  expect(new Set(read)).toEqual(new Set(written));
});

it("the feed numbers the events of each account without a gap, in the order of the feed, even if events are repeated", async () => {
  const organizationId = randomUUID();
  const serverId = randomUUID();
  const events = Array.from({ length: 60 }, (_, index) =>
    event(organizationId, {
      serverId,
      accountNumber: `1000000${index % 3}`,
      place: at("account", 1 + Math.floor(index / 3)),
    }),
  );
  await Promise.all([events.slice(0, 40), events.slice(20), events, events.slice(30, 50)].map(recordEvents));
  const { events: sent } = await page(organizationId);
  expect(sent).toHaveLength(60);
  for (const number of ["10000000", "10000001", "10000002"]) {
    const sequences = sent.filter(({ data }) => data.accountNumber === number).map(({ data }) => data.accountSequence);
    expect(sequences).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    const ids = sent.filter(({ data }) => data.accountNumber === number).map(({ id }) => id);
    expect(ids).toEqual(events.filter(({ accountNumber }) => accountNumber === number).map(({ eventId }) => eventId));
  }
});

const MAKE_OVERDUE = statement<never>(
  "make_overdue",
  "update waiting_events set waiting_since = now() - interval '6 minutes' where event_id = $1::uuid",
);

it("the store records events in the order of their source; after the maximum wait, it records an event although an older event is missing", async () => {
  const organizationId = randomUUID();
  const account = { serverId: randomUUID(), accountNumber: "10000002" };
  const of = (...place: Parameters<typeof at>) => event(organizationId, { ...account, place: at(...place) });
  const [one, two, three] = [of("finance", 1), of("finance", 2), of("finance", 3)];
  const [five, six, other] = [of("finance", 5), of("finance", 6), of("account", 1)];
  await recordEvents([three, six]);
  await recordEvents([three, other]);
  expect(await readAll(organizationId, 10)).toEqual([other.eventId]);
  await recordEvents([two]);
  await recordEvents([one]);
  const recorded = [other, one, two, three];
  expect(await readAll(organizationId, 10)).toEqual(recorded.map(({ eventId }) => eventId));
  await recordEvents([five]);
  expect(await store.overdue(10)).toEqual([]);
  await database.query(MAKE_OVERDUE, [six.eventId]);
  const { missing } = await recordEvents(await store.overdue(10));
  expect(missing).toEqual([{ ...account, source: "finance", first: 4, last: 4, reason: "overdue" }]);
  await recordEvents([six, one]);
  const { events } = await page(organizationId);
  expect(events.map(({ id }) => id)).toEqual([...recorded, five, six].map(({ eventId }) => eventId));
  expect(events.map(({ data }) => data.accountSequence)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(await store.overdue(10)).toEqual([]);
});

it("the feed has the events of two sources in the order of the trading server, even if they arrive in another order", async () => {
  const organizationId = randomUUID();
  const account = { serverId: randomUUID(), accountNumber: "10000003" };
  const of = (...place: Parameters<typeof at>) => event(organizationId, { ...account, place: at(...place) });
  const [created, initial] = [of("account", 1, 1, 0), of("finance", 1, 1, 1)];
  const [deal, profit, commission] = [of("account", 2, 3, 1), of("finance", 2, 2, 3), of("finance", 3, 3, 3)];
  const [closed, deposit, deleted] = [of("account", 3, 4, 3), of("finance", 4, 5, 4), of("account", 4, 6, 5)];
  const all = [created, initial, deal, profit, commission, closed, deposit, deleted];
  for (const early of [[deleted, closed], [initial], [commission], [deal]]) await recordEvents(early);
  expect(await readAll(organizationId, 10)).toEqual([]);
  await recordEvents([created]);
  expect(await readAll(organizationId, 10)).toEqual([created, initial, deal].map(({ eventId }) => eventId));
  await recordEvents([profit]);
  const { missing } = await recordEvents([deposit, closed]);
  expect(missing).toEqual([]);
  expect(await readAll(organizationId, 10)).toEqual(all.map(({ eventId }) => eventId));
});

it("the feed returns exact pages: by kind, after `now`, and after any cursor", async () => {
  const organizationId = randomUUID();
  expect(await page(organizationId)).toEqual({ events: [], next: "e0" });
  const kinds: WebhookKind[] = ["deal.executed", "margin.call"];
  const events = Array.from({ length: 11 }, (_, index) =>
    event(organizationId, { type: kinds[index % 2] ?? "deal.executed" }),
  );
  await recordEvents(events);
  const ids = events.map(({ eventId }) => eventId);
  for (const limit of [1, 3, 5, 11, 12]) expect(await readAll(organizationId, limit)).toEqual(ids);
  const calls = await page(organizationId, undefined, 3, ["margin.call"]);
  expect(calls.events.map(({ id }) => id)).toEqual([ids[1], ids[3], ids[5]]);
  const rest = await page(organizationId, calls.next, 10, ["margin.call"]);
  expect(rest.events.map(({ id }) => id)).toEqual([ids[7], ids[9]]);
  expect((await page(organizationId, rest.next, 10)).events).toEqual([]);
  expect(await readAll(organizationId, 4, calls.events[0]?.cursor)).toEqual(ids.slice(2));
  const now = await page(organizationId, "now");
  expect(now.events).toEqual([]);
  const later = event(organizationId);
  await recordEvents([later]);
  expect((await page(organizationId, now.next)).events.map(({ id }) => id)).toEqual([later.eventId]);
  await expect(page(organizationId, "e-1")).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  await expect(page(organizationId, "elsewhere and more")).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
});

const BLOCKED = statement<{ pid: number }>(
  "blocked_on_organization",
  "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%organizations%'",
);

it.each([
  ["the first event of the organization, whose recording is running", 0],
  ["an event whose recording is running, and one that a process recorded whose clock is ahead", 1],
])("a replay to a new endpoint has %s", async (_what, earlier) => {
  const organizationId = randomUUID();
  const ahead = Array.from({ length: earlier }, () => event(organizationId));
  const capacity = () => ({ reserve: () => false });
  await store.recordEvents(ahead, capacity, clock.nowMs() + 100, clock.nowMs());
  const [written, committing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow: Database = {
    query: (called, values) => database.query(called, values),
    stream: (called, values, batchRows) => database.stream(called, values, batchRows),
    transaction: (work) =>
      database.transaction(async (tx) => {
        const done = await work(tx);
        written.resolve();
        await committing.promise;
        return done;
      }),
  };
  const slowStore = createEventStore(slow, days);
  const running = slowStore.recordEvents([event(organizationId)], capacity, clock.nowMs(), clock.nowMs());
  await written.promise;
  const secret = { keyId: "k1", iv: "", ciphertext: "", tag: "" };
  const draft = { url: "https://hooks.example.com/", description: "", kinds: null, serverIds: null, secret };
  const endpoints = createEndpointStore(database);
  const endpointId = randomUUID();
  await endpoints.create({ id: endpointId, organizationId, ...draft }, 1, clock.nowMs(), null);
  const since = new Date(clock.nowMs()).toISOString();
  const dependencies = { endpoints, events: store, clock, onDue: () => undefined };
  const replay = replayWebhook(dependencies, { organizationId, endpointId }, { since });
  const blocked = eventually(async () => expect(await database.query(BLOCKED, [])).toHaveLength(1));
  await Promise.race([replay, blocked]);
  committing.resolve();
  await running;
  expect(await replay).toEqual({ events: earlier + 1 });
});

const BY_NAME = /using deliveries_\d+_pkey/;
const BY_OPEN = /using deliveries_\d+_endpoint_id_due_at_idx/;
const BY_LIST = /using deliveries_\d+_endpoint_id_created_at_idx/;
const BY_EVENT = /using events_\d+_pkey/;
const BY_PLACE = /using events_\d+_organization_id_position_idx/;
const ID = randomUUID();
const NOW = new Date().toISOString();
const TODAY = NOW.slice(0, "2026-01-01".length);

it.each([
  [
    "recording attempts",
    "the primary key of deliveries",
    RECORD,
    [[TODAY], [ID], [0], ["failed"], [null], [1], ["{}"], NOW],
    [BY_NAME],
  ],
  [
    "leasing",
    "the index of open deliveries, then primary keys",
    LEASE,
    [[ID], [5], NOW, NOW],
    [BY_OPEN, BY_NAME, BY_EVENT],
  ],
  ["finding due endpoints", "the index of open deliveries", DUE_ENDPOINTS, [NOW], [BY_OPEN]],
  ["redelivering", "the primary key of deliveries", REDELIVER, [ID, ID, NOW], [BY_NAME]],
  [
    "the list of deliveries",
    "the index by creation time",
    LIST,
    [ID, null, null, NOW, null, null, null, "infinity", ID, 10, 0],
    [BY_LIST],
  ],
  ["finding repeated events", "the primary key of events", KNOWN_EVENTS, [[ID], [ID], TODAY], [BY_EVENT]],
  ["the feed", "the index by position", FEED, [ID, 0, 9, ["deal.executed"], 10], [BY_PLACE]],
] as const)(
  "%s uses %s, even before PostgreSQL has statistics of the day's partition",
  async (_what, _way, { name, text }, values, indexes) => {
    const plan = statement<Record<"QUERY PLAN", string>>(`explain_${name}`, `explain ${text}`);
    const rows = await database.query(plan, values);
    const lines = rows.map((row) => row["QUERY PLAN"]).filter((line) => /using (deliveries|events)_2/.test(line));
    for (const line of lines)
      expect(
        indexes.some((index) => index.test(line)),
        line,
      ).toBe(true);
    for (const index of indexes) expect(lines.some((line) => index.test(line))).toBe(true);
  },
);

it("the feed contains only the organization's events", async () => {
  const organizationId = randomUUID();
  await recordEvents([event(organizationId), event(randomUUID()), event(organizationId)]);
  expect(await readAll(organizationId, 10)).toHaveLength(2);
});

const INSERT_FEED = statement<never>("insert_feed", "insert into organizations values ($1, 0)");
const WAITING_INSERTS = statement<{ count: number }>(
  "waiting_inserts",
  `select count(*)::integer as count from pg_locks join pg_stat_activity using (pid)
   where not granted and query like '%insert into organizations%'`,
);

it("two batches with events of the same new organizations do not deadlock", async () => {
  const [first = "", second = "", third = ""] = Array.from({ length: 3 }, () => randomUUID()).toSorted();
  const insertsWait = (count: number): Promise<void> =>
    eventually(async () => expect(await database.query(WAITING_INSERTS, [])).toEqual([{ count }]));
  const recordings: Promise<RecordedEvents>[] = [];
  await database
    .transaction(async (tx) => {
      await tx.query(INSERT_FEED, [second]);
      // This batch has inserted its first feed, and waits for the second.
      recordings.push(recordEvents([event(first), event(second), event(third)]));
      await insertsWait(1);
      // Meanwhile another batch inserts the third feed.
      await recordEvents([event(third)]);
      recordings.push(recordEvents([event(first), event(third)]));
      await insertsWait(2);
      throw new Error("rolled back");
    })
    .catch(() => undefined);
  await Promise.all(recordings);
  expect(await readAll(first, 10)).toHaveLength(2);
  expect(await readAll(third, 10)).toHaveLength(3);
});

it("the store recognizes a repeated event days later, even with a wrong timestamp", async () => {
  const organizationId = randomUUID();
  const timestamps = [clock.nowMs(), clock.nowMs() + 3 * DAY_MS, 0].map((ms) => new Date(ms).toISOString());
  const events = timestamps.map((timestamp) => event(organizationId, { timestamp }));
  await recordEvents(events);
  clock.advance(2 * DAY_MS);
  await recordEvents(events);
  clock.advance(5 * DAY_MS);
  await recordEvents(events);
  expect(await readAll(organizationId, 10)).toHaveLength(3);
});

const OF_DAY = statement<{ events: number }>(
  "events_of_day",
  "select count(*)::integer as events from events where day = $1::date",
);

it("dropping days blocks no reader; a day that a transaction reads is dropped by a later run", async () => {
  const organizationId = randomUUID();
  const kept = event(organizationId);
  await recordEvents([kept]);
  const [today, tomorrow] = [0, DAY_MS].map((ms) => new Date(clock.nowMs() + ms).toISOString().slice(0, TODAY.length));
  await days.keep(tomorrow ?? "");
  await database.transaction(async (tx) => {
    expect((await tx.query(OF_DAY, [today]))[0]?.events).toBeGreaterThan(0);
    expect(await days.dropBefore(tomorrow ?? "")).toBe(0);
    expect(await readAll(organizationId, 10)).toEqual([kept.eventId]);
  });
  expect(await days.dropBefore(tomorrow ?? "")).toBeGreaterThan(0);
  expect(await readAll(organizationId, 10)).toEqual([]);
  await days.keep(today ?? "");
});

it("the store recognizes a repeated event across midnight if the clock of the first recording was behind", async () => {
  const organizationId = randomUUID();
  const midnightMs = Math.ceil(clock.nowMs() / DAY_MS) * DAY_MS;
  const late = event(organizationId, { timestamp: new Date(midnightMs + 4 * 60_000).toISOString() });
  for (const nowMs of [midnightMs - 5 * 60_000, midnightMs + 5 * 60_000]) {
    await store.recordEvents([late], () => ({ reserve: () => false }), nowMs, nowMs);
  }
  expect(await readAll(organizationId, 10)).toEqual([late.eventId]);
});

it(`the store keeps events for ${KEPT_DAYS} days, and a cursor of a dropped event stays valid`, async () => {
  const organizationId = randomUUID();
  const old = event(organizationId);
  await recordEvents([old]);
  const { next } = await page(organizationId);
  clock.advance((KEPT_DAYS - 1) * DAY_MS);
  const young = event(organizationId);
  await recordEvents([young]);
  await keepDays({ days, clock, logger });
  expect(await readAll(organizationId, 10)).toEqual([old.eventId, young.eventId]);
  clock.advance(2 * DAY_MS);
  await keepDays({ days, clock, logger });
  expect(await readAll(organizationId, 10)).toEqual([young.eventId]);
  expect(await readAll(organizationId, 10, next)).toEqual([young.eventId]);
});

it("a waiting event is in the feed once, even if a process of the previous release records it", async () => {
  const organizationId = randomUUID();
  const serverId = randomUUID();
  const of = (sequence: number) => event(organizationId, { serverId, place: at("account", sequence) });
  const [first, missing, waiting, next] = [of(1), of(2), of(3), of(4)];
  await recordEvents([first]);
  await recordEvents([waiting]);
  await database.query(
    statement<never>(
      "record_as_before",
      `with moved as (
         update organizations set last_position = last_position + 1 where organization_id = $1 returning last_position
       ), counted as (
         update accounts set last_sequence = last_sequence + 1 where server_id = $2
       )
       insert into events (day, created_at, organization_id, event_id, position, type, server_id, payload)
       select ($5::timestamptz at time zone 'UTC')::date, $5::timestamptz, $1, $3, last_position, 'margin.call', $2, $4
       from moved`,
    ),
    [organizationId, serverId, waiting.eventId, "{}", new Date(clock.nowMs()).toISOString()],
  );
  await recordEvents([next]);
  await recordEvents([missing]);
  const feed = await database.query(
    statement<{ event_id: string }>("feed_of_upgrade", "select event_id from events where organization_id = $1"),
    [organizationId],
  );
  expect(feed.map((row) => row.event_id).toSorted()).toEqual(
    [first, waiting, next, missing].map(({ eventId }) => eventId).toSorted(),
  );
  const left = await database.query(
    statement<{ event_id: string }>("waiting_of_upgrade", "select event_id from waiting_events where server_id = $1"),
    [serverId],
  );
  expect(left).toEqual([]);
});
