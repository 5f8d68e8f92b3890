import {
  type DeliveryAttempt,
  type DeliveryStatus,
  MAX_LISTED_DELIVERIES,
  type WebhookDelivery,
  type WebhookKind,
} from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { type Database, statement } from "@kapi/postgres";

import type { DeliveryStore, LeasedDelivery, AttemptRecord } from "../../domain/ports.ts";

/** Maximum number of stored attempts per delivery; the oldest are dropped. */
export const KEPT_ATTEMPTS = 20;

/** A loose index scan: one step per endpoint with open deliveries, regardless of their number. */
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

/** $1, $2: endpoints and the number of deliveries for each; $3 now; $4 end of the lease. */
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
 * $1-$7 attempts, $8 now. The number of attempts is the fencing token: if two processes made an
 * attempt, the second record changes neither the delivery nor the endpoint. An endpoint fails since
 * its first failure without a success in the same call. The condition uses the status instead of
 * `due_at`, so that no plan scans all open deliveries of an endpoint.
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

const RELEASE = statement<Record<string, never>>(
  "webhooks_release",
  `update deliveries as d set due_at = $4, leased = false
   from unnest($1::date[], $2::uuid[], $3::integer[]) as given (day, id, attempt_count)
   where d.id = given.id and d.day = given.day
     and d.leased and d.attempt_count = given.attempt_count`,
);

/** $1 endpoint, $2 limit, $3 now. Running deliveries are not cancelled. */
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

interface DeliveryRow {
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

/** A delivery with an expired lease is shown as pending. */
const shownStatus = (now: string): string =>
  `(case when status = 'pending' and leased and due_at > ${now} then 'delivering' else status end)`;
const shownColumns = (now: string): string =>
  `id, event_id, endpoint_id, type, ${shownStatus(now)} as shown_status, attempts, due_at, created_at, completed_at`;
// $1 endpoint, $2 status, $3 kind, $4 now, $5 event, $6 from, $7 to.
const LISTED = `endpoint_id = $1 and ($2::text is null or ${shownStatus("$4::timestamptz")} = $2)
   and ($3::text is null or type = $3) and ($5::uuid is null or event_id = $5)
   and created_at >= coalesce($6::timestamptz, '-infinity') and created_at < coalesce($7::timestamptz, 'infinity')`;

/** A delivery with its key in the list. */
interface ListedRow extends DeliveryRow {
  /** `created_at` with microseconds. */
  readonly listed_at: string;
}

/** $8 limit, $9 offset, $10 and $11 the key that the page begins behind, or null. */
export const LIST = statement<ListedRow>(
  "webhooks_list_deliveries",
  `select ${shownColumns("$4::timestamptz")},
     to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as listed_at
   from deliveries where ${LISTED}
     and created_at <= coalesce($10::timestamptz, 'infinity')
     and ($10::timestamptz is null or (created_at, id) < ($10::timestamptz, $11::uuid))
   order by created_at desc, id desc limit $8 offset $9`,
);

const COUNT = statement<{ total: number }>(
  "webhooks_count_deliveries",
  `select count(*) as total from (select from deliveries where ${LISTED} limit $8) as counted`,
);

/**
 * The id is compared as text, so that no plan scans all deliveries of the endpoint instead of using
 * the index on the delivery's id.
 */
const OF_ENDPOINT = "endpoint_id::text = $1";

/**
 * $1 endpoint, $2 delivery, $3 now. A running delivery is unchanged; every other delivery is due
 * now.
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
        toIso(nowMs),
      ]);
    },
    cancelOpen: async (endpointId, limit, nowMs) =>
      (await database.query(CANCEL_OPEN, [endpointId, limit, toIso(nowMs)])).length,
    countOpen: async (atMost) => (await database.query(COUNT_OPEN, [atMost]))[0]?.open ?? 0,
    list: async (endpointId, { offset, after, limit, status, type, eventId, from, to, nowMs }) => {
      const values = [endpointId, status, type, toIso(nowMs), eventId, from, to];
      const shown = Math.min(limit, Math.max(0, MAX_LISTED_DELIVERIES - offset));
      // One row more than the page has: the row shows whether a delivery follows the page.
      const range = [shown + 1, offset, after?.[0] ?? null, after?.[1] ?? null];
      const [found, counted] = await Promise.all([
        shown === 0 ? [] : database.query(LIST, [...values, ...range]),
        database.query(COUNT, [...values, MAX_LISTED_DELIVERIES]),
      ]);
      const rows = found.slice(0, shown);
      const end = found.length > shown ? rows.at(-1) : undefined;
      return {
        deliveries: rows.map(toWire),
        total: counted[0]?.total ?? 0,
        last: end === undefined ? null : [end.listed_at, end.id],
      };
    },
    redeliver: async (endpointId, deliveryId, nowMs) => {
      const values = [endpointId, deliveryId, toIso(nowMs)];
      await database.query(REDELIVER, values);
      const [row] = await database.query(GET, values);
      return row === undefined ? null : toWire(row);
    },
  };
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

function toWire(row: DeliveryRow): WebhookDelivery {
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
