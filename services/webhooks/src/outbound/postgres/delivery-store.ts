import {
  cursorPage,
  type DeliveryAttempt,
  type DeliveryStatus,
  listScope,
  MAX_LISTED_DELIVERIES,
  pageStart,
  type Pagination,
  type WebhookDelivery,
  type WebhookKind,
} from "@kapi/contracts";
import { toIso, uuidV5 } from "@kapi/kernel";
import { type Database, instantText, statement } from "@kapi/postgres";

import type { DeliveryQuery, DeliveryStore, LeasedDelivery, AttemptRecord } from "../../domain/ports.ts";

/** Maximum number of stored attempts per delivery; the oldest are dropped. */
export const KEPT_ATTEMPTS = 20;

/** A loose index scan: it has one step per endpoint that has open deliveries. */
export const DUE_ENDPOINTS = statement<{ endpoint_id: string; organization_id: string; due_at: Date }>(
  "webhooks_due_endpoints",
  `with recursive open (endpoint_id, organization_id, due_at) as (
     (select endpoint_id, organization_id, due_at from deliveries where due_at is not null
      order by endpoint_id, due_at limit 1)
     union all
     select next.endpoint_id, next.organization_id, next.due_at from open cross join lateral (
       select d.endpoint_id, d.organization_id, d.due_at from deliveries as d
       where d.due_at is not null and d.endpoint_id > open.endpoint_id
       order by d.endpoint_id, d.due_at limit 1) as next
   )
   select endpoint_id, organization_id, due_at from open where due_at <= $1`,
);

interface LeasedRow {
  readonly day: string;
  readonly endpoint_id: string;
  readonly organization_id: string;
  readonly id: string;
  readonly event_id: string;
  readonly payload: string;
  readonly traceparent: string | null;
  readonly attempt_count: number;
  readonly step: number;
}

/** $1, $2: endpoints and the maximum number of deliveries for each; $3 now; $4 end of the lease. */
export const LEASE = statement<LeasedRow>(
  "webhooks_lease",
  `with picked as materialized (
     select found.* from unnest($1::uuid[], $2::integer[]) as wanted (endpoint_id, room)
       cross join lateral (
         select d.day, d.id from deliveries as d
         where d.endpoint_id = wanted.endpoint_id and d.due_at <= $3
         order by d.due_at limit wanted.room for update skip locked) as found
   ), leased as (
     update deliveries as d set due_at = $4, leased = true
     from picked where d.id = picked.id and d.day = picked.day
     returning d.day, d.endpoint_id, d.id, d.organization_id, d.event_id, d.attempt_count, d.step
   )
   select leased.day::text as day, leased.endpoint_id, leased.organization_id, leased.id, leased.event_id, leased.attempt_count, leased.step,
     e.payload, e.traceparent
   from leased join events as e
     on e.day = leased.day and e.organization_id = leased.organization_id and e.event_id = leased.event_id`,
);

/**
 * $1-$7 attempts, $8 now. The number of attempts is the fencing token: if two processes made the
 * same attempt, the second call changes neither the delivery nor the endpoint. A success clears the
 * endpoint's `failing_since`. If the call has only failures of the endpoint, `failing_since` is set
 * unless it already has a value. The condition uses the status instead of `due_at`, so that no plan
 * scans all open deliveries of an endpoint.
 */
export const RECORD = statement<Record<string, never>>(
  "webhooks_record",
  `with recorded as (
     update deliveries as d set
       status = given.status, due_at = given.due_at, leased = false, step = given.step,
       attempt_count = given.attempt_count + 1,
       attempts = (case when jsonb_array_length(d.attempts) >= ${KEPT_ATTEMPTS} then d.attempts - 0 else d.attempts end)
         || given.attempt,
       completed_at = case when given.due_at is null then $8::timestamptz end
     from unnest($1::date[], $2::uuid[], $3::integer[], $4::text[], $5::timestamptz[], $6::integer[], $7::jsonb[])
       as given (day, id, attempt_count, status, due_at, step, attempt)
     where d.id = given.id and d.day = given.day
       and d.status = 'pending' and d.attempt_count = given.attempt_count
     returning d.endpoint_id, given.status = 'succeeded' as succeeded
   ), tried as (
     select endpoint_id, bool_or(succeeded) as works from recorded group by endpoint_id
   )
   update endpoints as e set failing_since = case when tried.works then null else $8::timestamptz end
   from tried
   where e.id = tried.endpoint_id and (e.failing_since is null) <> tried.works`,
);

/** $1-$4 leases, $5 now. A lease that another one has replaced has an earlier end. */
const RELEASE = statement<Record<string, never>>(
  "webhooks_release",
  `update deliveries as d set due_at = $5, leased = false
   from unnest($1::date[], $2::uuid[], $3::integer[], $4::timestamptz[])
     as given (day, id, attempt_count, lease_until)
   where d.id = given.id and d.day = given.day
     and d.leased and d.attempt_count = given.attempt_count and d.due_at = given.lease_until`,
);

/**
 * $1 endpoint, $2 limit, $3 now. Cancels nothing while the endpoint is enabled. Running deliveries
 * are not cancelled.
 */
const CANCEL_OPEN = statement<{ id: string }>(
  "webhooks_cancel_open",
  `with picked as materialized (
     select day, id from deliveries
     where endpoint_id = $1 and due_at is not null and (not leased or due_at <= $3)
       and not exists (select from endpoints as e where e.id = $1 and e.status = 'enabled')
     limit $2 for update skip locked
   )
   update deliveries as d set status = 'cancelled', due_at = null, leased = false, completed_at = $3
   from picked where d.id = picked.id and d.day = picked.day
   returning d.id`,
);

const COUNT_OPEN = statement<{ open: number }>(
  "webhooks_count_open",
  `select count(*) as open from (
     select from deliveries where due_at is not null limit $1) as counted`,
);

/** A listed delivery as the database returns it. */
export interface DeliveryRow {
  /** `created_at` with the precision of the database. */
  readonly listed_at: string;
  readonly id: string;
  readonly event_id: string;
  readonly endpoint_id: string;
  readonly type: WebhookKind;
  readonly shown_status: DeliveryStatus;
  readonly attempts: DeliveryAttempt[];
  readonly due_at: Date | null;
  readonly created_at: Date;
  readonly completed_at: Date | null;
}

/** The position before the first delivery of a list. */
const LIST_START = ["infinity", "00000000-0000-0000-0000-000000000000"] as const;

/** A delivery with an expired lease is shown as pending. */
const shownStatus = (now: string): string =>
  `(case when status = 'pending' and leased and due_at > ${now} then 'delivering' else status end)`;
/** The columns of a {@link DeliveryRow}; `now`: an SQL expression. */
export const shownColumns = (now: string): string =>
  `id, event_id, endpoint_id, type, ${shownStatus(now)} as shown_status, attempts, due_at, created_at, completed_at,
   ${instantText("created_at")} as listed_at`;
// $1 endpoint, $2 status, $3 kind, $4 now, $5 from (inclusive), $6 to (exclusive), $7 delivery; a
// filter that is null matches every delivery.
const LISTED = `endpoint_id = $1 and ($2::text is null or ${shownStatus("$4::timestamptz")} = $2)
   and ($3::text is null or type = $3) and created_at >= coalesce($5::timestamptz, '-infinity')
   and created_at < coalesce($6::timestamptz, 'infinity') and ($7::uuid is null or id = $7)`;

/** $8 and $9: time and id of the delivery before the page, $10 limit, $11 offset. */
export const LIST = statement<DeliveryRow>(
  "webhooks_list_deliveries",
  `select ${shownColumns("$4::timestamptz")} from deliveries
   where ${LISTED} and (created_at, id) < ($8::timestamptz, $9::uuid)
   order by created_at desc, id desc limit $10 offset $11`,
);

const COUNT = statement<{ total: number }>(
  "webhooks_count_deliveries",
  `select count(*) as total from (select from deliveries where ${LISTED} limit $8) as counted`,
);

/**
 * The endpoint's id is compared as text, so that no plan scans all deliveries of the endpoint
 * instead of using the index on the delivery's id.
 */
const OF_ENDPOINT = "endpoint_id::text = $1";

/**
 * $1 endpoint, $2 delivery, $3 now. Unless the delivery is running, makes it due now and starts its
 * retry schedule again.
 */
export const REDELIVER = statement<Record<string, never>>(
  "webhooks_redeliver",
  `update deliveries set status = 'pending', due_at = $3, leased = false, step = 0, completed_at = null
   where ${OF_ENDPOINT} and id = $2 and not (leased and due_at > $3)`,
);

const GET = statement<DeliveryRow>(
  "webhooks_get_delivery",
  `select ${shownColumns("$3::timestamptz")} from deliveries where ${OF_ENDPOINT} and id = $2`,
);

/** Deliveries in PostgreSQL: leases, attempts and lists. */
export function createDeliveryStore(database: Database): DeliveryStore {
  return {
    dueEndpoints: async (nowMs) => {
      const rows = await database.query(DUE_ENDPOINTS, [toIso(nowMs)]);
      return rows.map((row) => ({
        endpointId: row.endpoint_id,
        organizationId: row.organization_id,
        dueAtMs: row.due_at.getTime(),
      }));
    },
    lease: async (wanted, nowMs, leaseUntilMs) => {
      const values = [[...wanted.keys()], [...wanted.values()], toIso(nowMs), toIso(leaseUntilMs)];
      return (await database.query(LEASE, values)).map((row) => leasedFromRow(row, leaseUntilMs));
    },
    record: async (attempts, nowMs) => {
      await database.query(RECORD, recordValues(attempts, nowMs));
    },
    release: async (deliveries, nowMs) => {
      await database.query(RELEASE, [
        ...nameColumns(deliveries),
        deliveries.map(({ attemptCount }) => attemptCount),
        deliveries.map(({ leaseUntilMs }) => toIso(leaseUntilMs)),
        toIso(nowMs),
      ]);
    },
    cancelOpen: async (endpointId, limit, nowMs) =>
      (await database.query(CANCEL_OPEN, [endpointId, limit, toIso(nowMs)])).length,
    countOpen: async (atMost) => (await database.query(COUNT_OPEN, [atMost]))[0]?.open ?? 0,
    list: (endpointId, query) => list(database, endpointId, query),
    redeliver: async (endpointId, deliveryId, nowMs) => {
      const values = [endpointId, deliveryId, toIso(nowMs)];
      await database.query(REDELIVER, values);
      const [row] = await database.query(GET, values);
      return row === undefined ? null : toWire(row);
    },
  };
}

async function list(
  database: Database,
  endpointId: string,
  query: DeliveryQuery,
): Promise<{ deliveries: WebhookDelivery[]; pagination: Pagination }> {
  const { status = null, type = null, from = null, to = null, eventId, nowMs } = query;
  const start = pageStart("deliveries", query);
  // An event has one delivery to an endpoint. The delivery's id follows from endpoint and event.
  const deliveryId = eventId === undefined ? null : uuidV5(endpointId, eventId);
  const values = [endpointId, status, type, toIso(nowMs), from, to, deliveryId];
  const isShown = start.offset < MAX_LISTED_DELIVERIES;
  const [rows, counted] = await Promise.all([
    // One delivery more shows whether another page follows.
    isShown ? database.query(LIST, [...values, ...(start.after ?? LIST_START), start.limit + 1, start.offset]) : [],
    database.query(COUNT, [...values, MAX_LISTED_DELIVERIES]),
  ]);
  const read = { rows, total: counted[0]?.total ?? 0 };
  const page = cursorPage("deliveries", listScope({ endpointId }), start, read, (row) => [row.listed_at, row.id]);
  return { deliveries: page.rows.map(toWire), pagination: page.pagination };
}

function nameColumns(deliveries: readonly LeasedDelivery[]): unknown[] {
  return [deliveries.map(({ day }) => day), deliveries.map(({ id }) => id)];
}

function recordValues(attempts: readonly AttemptRecord[], nowMs: number): unknown[] {
  return [
    ...nameColumns(attempts.map(({ delivery }) => delivery)),
    attempts.map(({ delivery }) => delivery.attemptCount),
    attempts.map(({ outcome }) => outcome.status),
    attempts.map(({ outcome }) => (outcome.dueAtMs === null ? null : toIso(outcome.dueAtMs))),
    attempts.map(({ delivery, outcome }) => (outcome.status === "succeeded" ? 0 : delivery.step + 1)),
    attempts.map(({ outcome }) => JSON.stringify(outcome.attempt)),
    toIso(nowMs),
  ];
}

function leasedFromRow(row: LeasedRow, leaseUntilMs: number): LeasedDelivery {
  return {
    day: row.day,
    endpointId: row.endpoint_id,
    organizationId: row.organization_id,
    id: row.id,
    eventId: row.event_id,
    payload: row.payload,
    attemptCount: row.attempt_count,
    step: row.step,
    leaseUntilMs,
    traceparent: row.traceparent ?? undefined,
  };
}

/** A delivery as the API shows it. */
export function toWire(row: DeliveryRow): WebhookDelivery {
  const nextAttemptAt = row.shown_status === "pending" ? row.due_at : null;
  return {
    id: row.id,
    eventId: row.event_id,
    endpointId: row.endpoint_id,
    type: row.type,
    status: row.shown_status,
    attempts: row.attempts,
    nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    completedAt: row.completed_at?.toISOString() ?? null,
  };
}
