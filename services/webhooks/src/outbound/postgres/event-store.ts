import { accountKey, type WebhookKind, type AccountRef } from "@kapi/contracts";
import { assertDefined, toIso, uuidV5 } from "@kapi/kernel";
import type { Database, Transaction } from "@kapi/postgres";

import { type Endpoint, isCommandKind, subscribesToKind, subscribesToServer } from "../../domain/endpoint.ts";
import { type IncomingEvent, payloadOf } from "../../domain/events.ts";
import type {
  DayStore,
  EndpointName,
  EventStore,
  LeasedDelivery,
  Replay,
  Capacity,
  RecordedEvents,
} from "../../domain/ports.ts";
import { orderBySource, isWaiting, type RecordedSequences, type WaitingEvent } from "../../domain/source-order.ts";
import { dayOf } from "./days.ts";
import { fromRow } from "./endpoint-row.ts";
import {
  ACCOUNT_SEQUENCES,
  type AccountRow,
  START_DELIVERIES,
  HAS_COMMAND_SUBSCRIBERS,
  COUNT_FOR_REPLAY,
  ENABLED_ENDPOINTS,
  FEED,
  FIRST_POSITION,
  INSERT_ACCOUNT_EVENTS,
  INSERT_DELIVERIES,
  INSERT_EVENTS,
  INSERT_ORGANIZATIONS,
  KNOWN_EVENTS,
  LAST_POSITION,
  LIST_FOR_REPLAY,
  LOCK_ORGANIZATIONS,
} from "./event-statements.ts";
import { storeWaiting, overdueEvents, deleteWaiting, waitingEvents } from "./waiting-events.ts";

const DAY_MS = 86_400_000;
/**
 * Maximum age of a duplicate message: topics keep records for 7 days; a day is added as a margin.
 */
const MAX_DUPLICATE_AGE_MS = 8 * DAY_MS;
/**
 * Maximum difference between the clock that stamped an event and the clock that chose its recording
 * day.
 */
const CLOCK_SKEW_MS = DAY_MS;
const NOTHING_RECORDED: RecordedEvents = { recorded: 0, leased: [], more: [], missing: [] };

/** An event with its position in the feed. */
interface NumberedEvent {
  readonly event: IncomingEvent;
  readonly position: number;
  readonly payload: string;
}

/** Events in PostgreSQL, with the deliveries that they start. */
export function createEventStore(database: Database, days: DayStore): EventStore {
  return {
    recordEvents: async (events, readCapacity, nowMs, leaseUntilMs) => {
      await days.keep(dayOf(nowMs));
      return database.transaction((tx) => recordEvents(tx, events, readCapacity, nowMs, leaseUntilMs));
    },
    overdue: (limit) => overdueEvents(database, limit),
    hasCommandSubscribers: async () => (await database.query(HAS_COMMAND_SUBSCRIBERS, []))[0]?.subscribed ?? false,
    lastPosition: async (organizationId) =>
      (await database.query(LAST_POSITION, [organizationId]))[0]?.last_position ?? 0,
    settledPosition: async (organizationId) => {
      // The transaction that records an organization's first event inserts the organization's row.
      // Until the commit, LOCK_ORGANIZATIONS does not find the row, but this insert waits for it.
      await database.query(INSERT_ORGANIZATIONS, [[organizationId]]);
      return (await database.query(LOCK_ORGANIZATIONS, [[organizationId]]))[0]?.last_position ?? 0;
    },
    firstPositionAfter: async (organizationId, after) =>
      (await database.query(FIRST_POSITION, [organizationId, after]))[0]?.position ?? null,
    list: async (organizationId, { after, upTo, kinds, limit }) => {
      const rows = await database.query(FEED, [organizationId, after, upTo, kinds, limit]);
      return rows.map((row) => ({ position: row.position, eventId: row.event_id, payload: row.payload }));
    },
    countForReplay: async (replay, atMost) =>
      (await database.query(COUNT_FOR_REPLAY, [...replayValues(replay), atMost]))[0]?.events ?? 0,
    replay: async (replay, after, limit, nowMs) => {
      const rows = await database.query(LIST_FOR_REPLAY, [...replayValues(replay), after, limit]);
      const last = rows.at(-1);
      if (last === undefined) return null;
      const { id, organizationId } = replay.endpoint;
      await database.query(START_DELIVERIES, [
        id,
        organizationId,
        toIso(nowMs),
        rows.map(({ day }) => day),
        rows.map((row) => uuidV5(id, row.event_id)),
        rows.map((row) => row.event_id),
        rows.map(({ type }) => type),
      ]);
      return last.position;
    },
  };
}

function replayValues({ endpoint, sinceMs, untilMs, kinds, upTo }: Replay): unknown[] {
  const until = untilMs === null ? "infinity" : toIso(untilMs);
  return [endpoint.organizationId, toIso(sinceMs), until, kinds, endpoint.serverIds, upTo];
}

async function recordEvents(
  tx: Transaction,
  given: readonly IncomingEvent[],
  readCapacity: () => Capacity,
  nowMs: number,
  leaseUntilMs: number,
): Promise<RecordedEvents> {
  const organizationIds = [...new Set(given.map(({ organizationId }) => organizationId))];
  const { positions, endpoints } = await lockOrganizations(tx, organizationIds);
  const subscribed = given.filter(({ type, organizationId }) =>
    isSubscribed(type, endpoints.get(organizationId) ?? []),
  );
  if (subscribed.length === 0) return NOTHING_RECORDED;
  const accounts = accountsOf(subscribed);
  const [events, sequences, waiting] = await Promise.all([
    withoutKnown(tx, subscribed, nowMs),
    accountSequences(tx, accounts),
    waitingEvents(tx, accounts),
  ]);
  const { ready, early, missing } = orderBySource(events, waiting, sequences);
  storeWaiting(tx, early);
  if (ready.length === 0) return NOTHING_RECORDED;
  const recordable = await withContent(tx, ready, nowMs);
  const numbered = recordable.map((event) => numberEvent(event, positions, sequences));
  // Also called if `numbered` is empty, because it stores the sequences: they have advanced past
  // the ready events.
  insertEvents(tx, numbered, positions, sequences, nowMs);
  const started = insertDeliveries(tx, numbered, endpoints, readCapacity(), nowMs, leaseUntilMs);
  return { recorded: numbered.length, ...started, missing };
}

/** Command events are recorded only if an endpoint subscribes to them. */
function isSubscribed(type: WebhookKind, endpoints: readonly Endpoint[]): boolean {
  return !isCommandKind(type) || endpoints.some((endpoint) => subscribesToKind(endpoint, type));
}

/**
 * Locks the feeds of these organizations until the transaction ends, and reads their last positions
 * and enabled endpoints. Missing feeds are inserted first: a transaction that waits for the insert
 * of another one holds no lock yet, so the two cannot deadlock.
 */
async function lockOrganizations(tx: Transaction, organizationIds: readonly string[]) {
  tx.execute(INSERT_ORGANIZATIONS, [organizationIds]);
  const [rows, endpoints] = await Promise.all([
    tx.query(LOCK_ORGANIZATIONS, [organizationIds]),
    tx.query(ENABLED_ENDPOINTS, [organizationIds]),
  ]);
  return {
    positions: new Map(rows.map((row) => [row.organization_id, row.last_position])),
    endpoints: Map.groupBy(endpoints.map(fromRow), ({ organizationId }) => organizationId),
  };
}

/** Returns the events once each, without the events that are already recorded. */
async function withoutKnown(
  tx: Transaction,
  events: readonly IncomingEvent[],
  nowMs: number,
): Promise<IncomingEvent[]> {
  if (events.length === 0) return [];
  const first = new Map<string, IncomingEvent>();
  for (const event of events) if (!first.has(event.eventId)) first.set(event.eventId, event);
  const distinct = [...first.values()];
  const known = await tx.query(KNOWN_EVENTS, [
    distinct.map(({ organizationId }) => organizationId),
    distinct.map(({ eventId }) => eventId),
    dayOf(Math.min(...distinct.map((event) => earliestRecording(event, nowMs)))),
  ]);
  const knownIds = new Set(known.map((row) => row.event_id));
  return distinct.filter(({ eventId }) => !knownIds.has(eventId));
}

/**
 * Removes the ready events from the waiting events and loads their content. Leaves out events that
 * a process of the previous release recorded meanwhile, from a repeated message.
 */
async function withContent(
  tx: Transaction,
  ready: readonly (IncomingEvent | WaitingEvent)[],
  nowMs: number,
): Promise<IncomingEvent[]> {
  const waited = ready.filter(isWaiting);
  const taken = waited.length === 0 ? [] : await withoutKnown(tx, await deleteWaiting(tx, waited), nowMs);
  const contents = new Map(taken.map((event) => [event.eventId, event]));
  return ready.flatMap((one) => {
    const event = isWaiting(one) ? contents.get(one.eventId) : one;
    return event === undefined ? [] : [event];
  });
}

/**
 * The earliest time at which the event can have been recorded: CLOCK_SKEW_MS before its timestamp,
 * but at most MAX_DUPLICATE_AGE_MS ago. A timestamp in the future is wrong, so it is not used.
 */
function earliestRecording({ timestamp }: IncomingEvent, nowMs: number): number {
  const happenedMs = Date.parse(timestamp);
  const oldestMs = nowMs - MAX_DUPLICATE_AGE_MS;
  return happenedMs > nowMs ? oldestMs : Math.max(oldestMs, happenedMs - CLOCK_SKEW_MS);
}

const accountOf = ({ serverId, accountNumber }: IncomingEvent): string | null =>
  serverId === null || accountNumber === null ? null : accountKey(serverId, accountNumber);

interface AccountSequence extends AccountRef, RecordedSequences {
  /** The last `accountSequence`. */
  last: number;
}

/** The distinct accounts of events with a place. */
function accountsOf(events: readonly IncomingEvent[]): readonly AccountRef[] {
  const accounts = new Map<string, AccountRef>();
  for (const { place, serverId, accountNumber } of events) {
    if (place === null || serverId === null || accountNumber === null) continue;
    accounts.set(accountKey(serverId, accountNumber), { serverId, accountNumber });
  }
  return [...accounts.values()];
}

/**
 * How far the accounts are recorded, by account key. For an account without a row, sequence 1 is
 * the next event of each source.
 */
async function accountSequences(
  tx: Transaction,
  accounts: readonly AccountRef[],
): Promise<Map<string, AccountSequence>> {
  const rows = accounts.length === 0 ? [] : await tx.query(ACCOUNT_SEQUENCES, columnsOf(accounts));
  const known = new Map<string, AccountRow>(rows.map((row) => [accountKey(row.server_id, row.account_number), row]));
  return new Map(
    accounts.map((account) => {
      const key = accountKey(account.serverId, account.accountNumber);
      const row = known.get(key);
      return [key, { ...account, ...(row === undefined ? createRecordedSequences() : fromAccountRow(row)) }];
    }),
  );
}

function createRecordedSequences(): RecordedSequences & { last: number } {
  return { last: 0, account: { sequence: 0, through: 0 }, finance: { sequence: 0, through: 0 } };
}

function fromAccountRow(row: AccountRow): RecordedSequences & { last: number } {
  return {
    last: row.last_sequence,
    account: { sequence: row.account_sequence, through: row.account_through },
    finance: { sequence: row.finance_sequence, through: row.finance_through },
  };
}

function columnsOf(accounts: readonly AccountRef[]): [string[], string[]] {
  return [accounts.map(({ serverId }) => serverId), accounts.map(({ accountNumber }) => accountNumber)];
}

function numberEvent(
  event: IncomingEvent,
  positions: Map<string, number>,
  sequences: ReadonlyMap<string, AccountSequence>,
): NumberedEvent {
  const position = assertDefined(positions.get(event.organizationId), "the last position of an organization") + 1;
  positions.set(event.organizationId, position);
  const key = accountOf(event);
  const account = event.place !== null && key !== null ? sequences.get(key) : undefined;
  if (account !== undefined) account.last += 1;
  return { event, position, payload: payloadOf(event, account?.last ?? null) };
}

function insertEvents(
  tx: Transaction,
  numbered: readonly NumberedEvent[],
  positions: ReadonlyMap<string, number>,
  sequences: ReadonlyMap<string, AccountSequence>,
  nowMs: number,
): void {
  const accounts = [...sequences.values()];
  tx.execute(INSERT_EVENTS, [
    dayOf(nowMs),
    toIso(nowMs),
    numbered.map(({ event }) => event.organizationId),
    numbered.map(({ event }) => event.eventId),
    numbered.map(({ position }) => position),
    numbered.map(({ event }) => event.type),
    numbered.map(({ event }) => event.serverId),
    numbered.map(({ payload }) => payload),
    numbered.map(({ event }) => event.traceparent ?? null),
    [...positions.keys()],
    [...positions.values()],
    accounts.map(({ serverId }) => serverId),
    accounts.map(({ accountNumber }) => accountNumber),
    accounts.map(({ last }) => last),
    accounts.map(({ account }) => account.sequence),
    accounts.map(({ finance }) => finance.sequence),
    accounts.map(({ account }) => account.through),
    accounts.map(({ finance }) => finance.through),
  ]);
  insertAccountEvents(tx, numbered, nowMs);
}

/** Inserts the events of accounts into `account_events`, for reads by account. */
function insertAccountEvents(tx: Transaction, numbered: readonly NumberedEvent[], nowMs: number): void {
  const listed = numbered.filter(({ event }) => accountOf(event) !== null);
  if (listed.length === 0) return;
  tx.execute(INSERT_ACCOUNT_EVENTS, [
    dayOf(nowMs),
    listed.map(({ event }) => event.serverId),
    listed.map(({ event }) => event.accountNumber),
    listed.map(({ position }) => position),
    listed.map(({ event }) => event.organizationId),
    listed.map(({ event }) => event.eventId),
  ]);
}

function insertDeliveries(
  tx: Transaction,
  numbered: readonly NumberedEvent[],
  endpoints: ReadonlyMap<string, readonly Endpoint[]>,
  capacity: Capacity,
  nowMs: number,
  leaseUntilMs: number,
): Pick<RecordedEvents, "leased" | "more"> {
  const day = dayOf(nowMs);
  const [now, leaseUntil] = [toIso(nowMs), toIso(leaseUntilMs)];
  const leased: LeasedDelivery[] = [];
  const more = new Map<string, EndpointName>();
  const columns = {
    ids: [] as string[],
    endpointIds: [] as string[],
    organizationIds: [] as string[],
    eventIds: [] as string[],
    types: [] as string[],
    dueAt: [] as string[],
    leased: [] as boolean[],
  };
  for (const { event, payload } of numbered) {
    for (const endpoint of endpoints.get(event.organizationId) ?? []) {
      if (!isRecipient(event, endpoint)) continue;
      const { id: endpointId, organizationId } = endpoint;
      const name = { organizationId, endpointId };
      const isLeased = capacity.reserve(name);
      const id = uuidV5(endpointId, event.eventId);
      columns.ids.push(id);
      columns.endpointIds.push(endpointId);
      columns.organizationIds.push(organizationId);
      columns.eventIds.push(event.eventId);
      columns.types.push(event.type);
      columns.dueAt.push(isLeased ? leaseUntil : now);
      columns.leased.push(isLeased);
      const { eventId, traceparent } = event;
      if (!isLeased) more.set(endpointId, name);
      else leased.push({ day, ...name, id, eventId, payload, attemptCount: 0, step: 0, leaseUntilMs, traceparent });
    }
  }
  if (columns.ids.length > 0) tx.execute(INSERT_DELIVERIES, [day, now, ...Object.values(columns)]);
  return { leased, more: [...more.values()] };
}

function isRecipient(event: IncomingEvent, endpoint: Endpoint): boolean {
  if (event.onlyFor !== null) return event.onlyFor === endpoint.id;
  return subscribesToKind(endpoint, event.type) && subscribesToServer(endpoint, event.serverId);
}
