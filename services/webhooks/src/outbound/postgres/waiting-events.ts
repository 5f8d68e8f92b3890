/**
 * Events that wait for an older event of their account. The source of an event is the service that
 * publishes it: account or finance. To record events of an account, kapi reads the places of the
 * waiting events of this account. The content of a waiting event is read only when the event is
 * overdue or is recorded.
 */
import { type Queryable, statement, type Transaction } from "@kapi/postgres";

import type { IncomingEvent, Source, SourcePlace } from "../../domain/events.ts";
import {
  type EarlyEvent,
  isWaiting,
  MAX_OTHER_SOURCE_WAIT_MS,
  MAX_WAIT_MS,
  type WaitingEvent,
} from "../../domain/source-order.ts";

/** A stored place: builds before migration 0013 wrote neither `through` nor `after`. */
interface StoredPlace {
  readonly source: Source;
  readonly sequence: number;
  readonly through?: number | null;
  readonly after?: number | null;
}

interface WaitingRow {
  readonly organization_id: string;
  readonly event_id: string;
  readonly server_id: string;
  readonly account_number: string;
  readonly place: StoredPlace;
  readonly for_other_source: boolean;
  readonly waited_ms: number;
}

/** An event as JSON. */
interface ContentRow {
  readonly event: string;
}

/** $1, $2: servers and account numbers. */
const WAITING_EVENTS = statement<WaitingRow>(
  "webhooks_waiting_events",
  `select w.organization_id, w.event_id, w.server_id, w.account_number, w.place, w.for_other_source,
     (extract(epoch from clock_timestamp() - w.waiting_since) * 1000)::float8 as waited_ms
   from unnest($1::uuid[], $2::text[]) as given (server_id, account_number)
     join waiting_events as w on w.server_id = given.server_id and w.account_number = given.account_number`,
);

/**
 * $1: maximum wait for the other source, in milliseconds; $2: maximum wait in all other cases; $3:
 * limit. Longest waits first.
 */
const OVERDUE_EVENTS = statement<ContentRow>(
  "webhooks_overdue_events",
  `select event from (
     (select event, waiting_since from waiting_events
      where for_other_source and waiting_since < now() - $1 * interval '1 millisecond'
      order by waiting_since limit $3)
     union all
     (select event, waiting_since from waiting_events
      where not for_other_source and waiting_since < now() - $2 * interval '1 millisecond'
      order by waiting_since limit $3)) as overdue
   order by waiting_since limit $3`,
);

/**
 * $1-$6: organizations, event ids, servers, account numbers, events as JSON, and whether each event
 * waits only for the other source. Events that already wait are unchanged.
 */
const INSERT_WAITING = statement<never>(
  "webhooks_insert_waiting",
  `insert into waiting_events (organization_id, event_id, server_id, account_number, event, for_other_source)
   select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::boolean[])
   on conflict (organization_id, event_id) do nothing`,
);

/** $1-$3: organizations, event ids, and whether each event waits only for the other source. */
const CHANGE_WAITING = statement<never>(
  "webhooks_change_waiting",
  `update waiting_events as w set for_other_source = given.for_other_source
   from unnest($1::uuid[], $2::uuid[], $3::boolean[]) as given (organization_id, event_id, for_other_source)
   where w.organization_id = given.organization_id and w.event_id = given.event_id`,
);

/** $1, $2: organizations and event ids. */
const DELETE_WAITING = statement<ContentRow>(
  "webhooks_take_waiting",
  `delete from waiting_events as w using unnest($1::uuid[], $2::uuid[]) as given (organization_id, event_id)
   where w.organization_id = given.organization_id and w.event_id = given.event_id
   returning w.event`,
);

/** The waiting events of these accounts, without their content. */
export async function waitingEvents(
  tx: Transaction,
  accounts: readonly { readonly serverId: string; readonly accountNumber: string }[],
): Promise<WaitingEvent[]> {
  if (accounts.length === 0) return [];
  const rows = await tx.query(WAITING_EVENTS, [
    accounts.map(({ serverId }) => serverId),
    accounts.map(({ accountNumber }) => accountNumber),
  ]);
  return rows.map((row) => ({
    organizationId: row.organization_id,
    eventId: row.event_id,
    serverId: row.server_id,
    accountNumber: row.account_number,
    place: fromStored(row.place),
    waitedMs: row.waited_ms,
    isForOtherSource: row.for_other_source,
  }));
}

/** Up to `limit` events whose wait is over. */
export async function overdueEvents(database: Queryable, limit: number): Promise<IncomingEvent[]> {
  const rows = await database.query(OVERDUE_EVENTS, [MAX_OTHER_SOURCE_WAIT_MS, MAX_WAIT_MS, limit]);
  return rows.map(fromContent);
}

/** Removes these events from the waiting events and returns them with their content. */
export async function deleteWaiting(tx: Transaction, waiting: readonly WaitingEvent[]): Promise<IncomingEvent[]> {
  const rows = await tx.query(DELETE_WAITING, [
    waiting.map(({ organizationId }) => organizationId),
    waiting.map(({ eventId }) => eventId),
  ]);
  return rows.map(fromContent);
}

/** Stores new waiting events. For events that wait already, updates `for_other_source`. */
export function storeWaiting(tx: Transaction, early: readonly EarlyEvent[]): void {
  const added: { readonly event: IncomingEvent; readonly isForOtherSource: boolean }[] = [];
  const changed: EarlyEvent[] = [];
  for (const { event, isForOtherSource } of early) {
    if (!isWaiting(event)) added.push({ event, isForOtherSource });
    else if (event.isForOtherSource !== isForOtherSource) changed.push({ event, isForOtherSource });
  }
  if (changed.length > 0) {
    tx.execute(CHANGE_WAITING, [
      changed.map(({ event }) => event.organizationId),
      changed.map(({ event }) => event.eventId),
      changed.map(({ isForOtherSource }) => isForOtherSource),
    ]);
  }
  if (added.length > 0) {
    tx.execute(INSERT_WAITING, [
      added.map(({ event }) => event.organizationId),
      added.map(({ event }) => event.eventId),
      added.map(({ event }) => event.serverId),
      added.map(({ event }) => event.accountNumber),
      added.map(({ event }) => JSON.stringify(event)),
      added.map(({ isForOtherSource }) => isForOtherSource),
    ]);
  }
}

/** The event of a row that {@link storeWaiting} wrote. */
function fromContent(row: ContentRow): IncomingEvent {
  const event = JSON.parse(row.event) as IncomingEvent & { readonly place: StoredPlace };
  return { ...event, place: fromStored(event.place) };
}

function fromStored({ source, sequence, through, after }: StoredPlace): SourcePlace {
  return { source, sequence, through: through ?? null, after: after ?? null };
}
