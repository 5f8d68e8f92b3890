/** SQL to record and read events. */
import { statement } from "@kapi/postgres";

import { ENDPOINT_COLUMNS, type EndpointRow } from "./endpoint-row.ts";

/** An organization, and the position of its newest event. */
export interface OrganizationRow {
  readonly organization_id: string;
  readonly last_position: number;
}

/**
 * $1: organizations. The rows are locked in a fixed order, so that two processes cannot deadlock.
 */
export const LOCK_ORGANIZATIONS = statement<OrganizationRow>(
  "webhooks_lock_organizations",
  `select organization_id, last_position from organizations where organization_id = any($1::uuid[])
   order by organization_id for update`,
);

/** $1: organizations; known ones are unchanged. */
export const INSERT_ORGANIZATIONS = statement<Record<string, never>>(
  "webhooks_insert_organizations",
  `insert into organizations (organization_id, last_position)
   select id, 0 from unnest($1::uuid[]) as given (id) order by id
   on conflict (organization_id) do nothing`,
);

/**
 * $1, $2: organizations and event ids; $3: the first possible recording day. The organization is
 * the first column of the index.
 */
export const KNOWN_EVENTS = statement<{ event_id: string }>(
  "webhooks_known_events",
  `select known.event_id
   from unnest($1::uuid[], $2::uuid[]) as given (organization_id, event_id)
     cross join lateral (select e.event_id from events as e
       where e.organization_id = given.organization_id and e.event_id = given.event_id and e.day >= $3::date limit 1) as known`,
);

/**
 * How far the events of an account are recorded. `last_sequence` is the newest `accountSequence`,
 * which callers see. The other columns are `sequence` and `through` of each source (see
 * RecordedSource). Null: unknown, for example because release 0.1.0 recorded an event after these
 * columns were last written.
 */
export interface AccountRow {
  readonly server_id: string;
  readonly account_number: string;
  readonly last_sequence: number;
  readonly account_sequence: number | null;
  readonly finance_sequence: number | null;
  readonly account_through: number | null;
  readonly finance_through: number | null;
}

/** $1, $2: servers and account numbers. */
export const ACCOUNT_SEQUENCES = statement<AccountRow>(
  "webhooks_account_sequences",
  `select a.server_id, a.account_number, a.last_sequence,
     case when a.numbered_sequence = a.last_sequence then a.account_sequence end as account_sequence,
     case when a.numbered_sequence = a.last_sequence then a.finance_sequence end as finance_sequence,
     case when a.numbered_sequence = a.last_sequence then a.account_through end as account_through,
     case when a.numbered_sequence = a.last_sequence then a.finance_through end as finance_through
   from unnest($1::uuid[], $2::text[]) as given (server_id, account_number)
     join accounts as a on a.server_id = given.server_id and a.account_number = given.account_number`,
);

/** $1: organizations. */
export const ENABLED_ENDPOINTS = statement<EndpointRow>(
  "webhooks_enabled_endpoints",
  `select ${ENDPOINT_COLUMNS} from endpoints where organization_id = any($1::uuid[]) and status = 'enabled'`,
);

/**
 * $1 day, $2 time, $3-$9 events, $10-$11 organizations and their last positions, $12-$18 accounts
 * and their sequences.
 */
export const INSERT_EVENTS = statement<Record<string, never>>(
  "webhooks_insert_events",
  `with moved as (
     update organizations as o set last_position = given.last_position
     from unnest($10::uuid[], $11::bigint[]) as given (organization_id, last_position)
     where o.organization_id = given.organization_id
   ), counted as (
     insert into accounts
       (server_id, account_number, last_sequence, numbered_sequence, account_sequence, finance_sequence,
        account_through, finance_through)
     select server_id, account_number, last_sequence, last_sequence, account_sequence, finance_sequence,
       account_through, finance_through
     from unnest($12::uuid[], $13::text[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[])
       as given (server_id, account_number, last_sequence, account_sequence, finance_sequence, account_through,
         finance_through)
     on conflict (server_id, account_number) do update
       set last_sequence = excluded.last_sequence, numbered_sequence = excluded.numbered_sequence,
         account_sequence = excluded.account_sequence, finance_sequence = excluded.finance_sequence,
         account_through = excluded.account_through, finance_through = excluded.finance_through
   )
   insert into events (day, created_at, organization_id, event_id, position, type, server_id, payload, traceparent)
   select $1::date, $2::timestamptz, given.*
   from unnest($3::uuid[], $4::uuid[], $5::bigint[], $6::text[], $7::uuid[], $8::text[], $9::text[]) as given`,
);

/** $1 day, $2-$6 the events that belong to an account. */
export const INSERT_ACCOUNT_EVENTS = statement<Record<string, never>>(
  "webhooks_insert_account_events",
  `insert into account_events (day, server_id, account_number, position, organization_id, event_id)
   select $1::date, given.*
   from unnest($2::uuid[], $3::text[], $4::bigint[], $5::uuid[], $6::uuid[]) as given`,
);

/** $1 day, $2 time, $3-$9 deliveries. */
export const INSERT_DELIVERIES = statement<Record<string, never>>(
  "webhooks_insert_deliveries",
  `insert into deliveries (day, created_at, status, id, endpoint_id, organization_id, event_id, type, due_at, leased)
   select $1::date, $2::timestamptz, 'pending', given.*
   from unnest($3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::timestamptz[], $9::boolean[]) as given`,
);

/** Whether any enabled endpoint subscribes to command events. */
export const HAS_COMMAND_SUBSCRIBERS = statement<{ subscribed: boolean }>(
  "webhooks_has_command_subscribers",
  `select exists (select from endpoints
     where status = 'enabled' and kinds && array['command.succeeded', 'command.failed', 'command.expired']) as subscribed`,
);

/** $1: organization. */
export const LAST_POSITION = statement<{ last_position: number }>(
  "webhooks_last_position",
  "select last_position from organizations where organization_id = $1",
);

/** $1 organization, $2 position (exclusive). */
export const FIRST_POSITION = statement<{ position: number }>(
  "webhooks_first_position",
  "select position from events where organization_id = $1 and position > $2 order by position limit 1",
);

/** $1 organization, positions from $2 (exclusive) to $3 (inclusive), $4 kinds, $5 limit. */
export const FEED = statement<{ position: number; event_id: string; payload: string }>(
  "webhooks_feed",
  `select position, event_id, payload from events
   where organization_id = $1 and position > $2 and position <= $3 and type = any($4::text[])
   order by position limit $5`,
);

/**
 * $1 organization, $2 since, $3 until, $4 kinds, $5 servers or null, $6 last position. The
 * condition on `day` only selects partitions.
 */
const REPLAYED = `organization_id = $1 and created_at >= $2 and created_at < $3 and type = any($4::text[])
     and ($5::uuid[] is null or server_id is null or server_id = any($5::uuid[]))
     and type <> 'webhook.test' and position <= $6
     and day >= ($2::timestamptz at time zone 'UTC')::date and day <= ($3::timestamptz at time zone 'UTC')::date`;

/** $1-$6 as in {@link REPLAYED}, $7 the number up to which events are counted. */
export const COUNT_FOR_REPLAY = statement<{ events: number }>(
  "webhooks_count_for_replay",
  `select count(*) as events from (select from events where ${REPLAYED} limit $7) as counted`,
);

/** $1-$6 as in {@link REPLAYED}, $7 the position after which the list begins, $8 limit. */
export const LIST_FOR_REPLAY = statement<{ position: number; day: string; event_id: string; type: string }>(
  "webhooks_list_for_replay",
  `select position, day::text as day, event_id, type from events where ${REPLAYED} and position > $7
   order by position limit $8`,
);

/** $1 endpoint, $2 organization, $3 now, $4-$7 deliveries. Open deliveries are unchanged. */
export const START_DELIVERIES = statement<Record<string, never>>(
  "webhooks_begin_deliveries",
  `insert into deliveries as d
     (endpoint_id, organization_id, created_at, due_at, status, leased, day, id, event_id, type)
   select $1::uuid, $2::uuid, $3::timestamptz, $3::timestamptz, 'pending', false, given.*
   from unnest($4::date[], $5::uuid[], $6::uuid[], $7::text[]) as given
   on conflict (id, day) do update
     set status = 'pending', due_at = excluded.due_at, leased = false, step = 0, completed_at = null
     where d.due_at is null`,
);
