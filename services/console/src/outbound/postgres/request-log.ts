/** The request log in PostgreSQL, partitioned by day. */
import type { ConsoleRequest, ConsoleRequestsAnswer, ListRequestsQuery } from "@kapi/contracts";
import { type Clock, toIso, uuidV7TimeMs } from "@kapi/kernel";
import { type Database, type Statement, statement } from "@kapi/postgres";

import { dayKey, dayOf, keptDays, type RequestLogStore, type RequestRows } from "../../domain/request-log.ts";

/**
 * Maximum number of requests that are compared for one page, if the query has several filters, or
 * only an account number without its server.
 */
const MAX_SEARCHED_REQUESTS = 10_000;
/** Stored instead of a status, if the caller disconnected before the response. */
const NO_RESPONSE = 0;
const STATUSES_PER_CLASS = 100;
/** The id after all ids. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

const STORED_COUNTS = statement<{ organization_id: string; day: string; stored: number }>(
  "requests_stored_counts",
  `select organization_id, day::text as day, stored from request_days
   where organization_id = any($1::uuid[]) and day = any($2::date[])`,
);

/** Requests that are stored already are neither stored nor counted again. */
const INSERT = statement<Record<string, never>>(
  "requests_insert",
  `with inserted as (
     insert into requests (day, organization_id, id, at, request_id, operation, method, server_id, account_number, status,
       error_code, duration_ms, actor_type, actor_id, address, credits_charged, command_id)
     select * from unnest($1::date[], $2::uuid[], $3::uuid[], $4::timestamptz[], $5::text[], $6::text[], $7::text[],
       $8::uuid[], $9::text[], $10::smallint[], $11::text[], $12::integer[], $13::text[], $14::text[], $15::text[],
       $16::integer[], $17::uuid[])
     on conflict do nothing
     returning organization_id, day
   )
   insert into request_days as kept (organization_id, day, stored)
   select organization_id, day, count(*) from inserted group by organization_id, day order by organization_id, day
   on conflict (organization_id, day) do update set stored = kept.stored + excluded.stored`,
);

const INSERT_OMITTED = statement<Record<string, never>>(
  "requests_insert_omitted",
  `insert into omitted_requests (day, organization_id, minute, record_id, reads, others)
   select * from unnest($1::date[], $2::uuid[], $3::timestamptz[], $4::uuid[], $5::integer[], $6::integer[])
   on conflict do nothing`,
);

/** Changes the row of a key at most once a minute. */
const UPSERT_USES = statement<Record<string, never>>(
  "requests_upsert_key_uses",
  `insert into key_uses as kept (key_id, organization_id, used_at, address)
   select given.* from unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::text[])
     as given (key_id, organization_id, used_at, address)
   order by key_id
   on conflict (key_id) do update set used_at = excluded.used_at, address = excluded.address
     where kept.organization_id = excluded.organization_id
       and kept.used_at + interval '1 minute' <= excluded.used_at`,
);

interface RequestRow {
  readonly id: string;
  readonly request_id: string;
  readonly operation: string;
  readonly method: string;
  readonly server_id: string | null;
  readonly account_number: string | null;
  /** 0: no response. */
  readonly status: number;
  readonly error_code: string | null;
  readonly duration_ms: number;
  readonly actor_type: "key" | "user";
  readonly actor_id: string;
  readonly address: string | null;
  readonly credits_charged: number;
  readonly command_id: string | null;
}
const COLUMNS = `id, request_id, operation, method, server_id, account_number, status, error_code, duration_ms, actor_type,
     actor_id, address, credits_charged, command_id`;

/** A row of a page. All fields of the request are null if no request matches. */
type ListedRow = { readonly [Name in keyof RequestRow]: RequestRow[Name] | null } & {
  /** Number of requests that were compared with the filters. */
  readonly searched: number;
  readonly last_searched: string | null;
};

// $1: organization; $2 and $3: a time and an id, the page has only requests before them; $4: `from`
// (inclusive); $5: `to` (exclusive); $6 and $7: the days of `from` and `to`.
const IN_TIME = `organization_id = $1 and (at, id) < ($2::timestamptz, $3::uuid)
         and at >= $4::timestamptz and at < $5::timestamptz and day >= $6::date and day <= $7::date`;
/**
 * Where the rows of a page come from, by the filter whose index is used. $10-$16: the filters, null
 * if not given.
 */
const SOURCES = {
  requestId: `requests where ${IN_TIME} and request_id = $14`,
  accountNumber: `requests where ${IN_TIME} and server_id = $15 and account_number = $16`,
  code: `requests where ${IN_TIME} and error_code = $12`,
  status: `unnest($10::smallint[]) as wanted (wanted_status) cross join lateral (
         select at, ${COLUMNS} from requests where ${IN_TIME} and status = wanted_status
         order by at desc, id desc limit $8) as matching`,
  operation: `requests where ${IN_TIME} and operation = $11`,
  actor: `requests where ${IN_TIME} and actor_id = $13`,
  serverId: `requests where ${IN_TIME} and server_id = $15`,
} as const;
type Filter = keyof typeof SOURCES;
/** The filters, beginning with the one that usually matches the fewest requests. */
const FILTERS = Object.keys(SOURCES) as Filter[];

/** $8: maximum number of requests to compare with the filters; $9: maximum number to return. */
const listText = (source: string): string =>
  `with searched as materialized (
     select at, ${COLUMNS} from ${source}
     order by at desc, id desc limit $8
   ), found as (
     select ${COLUMNS} from searched
     where ($10::smallint[] is null or status = any($10)) and ($11::text is null or operation = $11)
       and ($12::text is null or error_code = $12) and ($13::text is null or actor_id = $13)
       and ($14::text is null or request_id = $14) and ($15::uuid is null or server_id = $15)
       and ($16::text is null or account_number = $16)
     order by at desc, id desc limit $9
   )
   select total.searched, total.last_searched, found.*
   from (select count(*)::integer as searched,
       (select id from searched order by at, id limit 1) as last_searched from searched) as total
     left join found on true
   order by found.id desc`;

const LIST_ALL = statement<ListedRow>("requests_list", listText(`requests where ${IN_TIME}`));
const LIST_BY: Readonly<Record<Filter, Statement<ListedRow>>> = {
  requestId: statement("requests_list_by_request_id", listText(SOURCES.requestId)),
  accountNumber: statement("requests_list_by_account", listText(SOURCES.accountNumber)),
  code: statement("requests_list_by_code", listText(SOURCES.code)),
  status: statement("requests_list_by_status", listText(SOURCES.status)),
  operation: statement("requests_list_by_operation", listText(SOURCES.operation)),
  actor: statement("requests_list_by_actor", listText(SOURCES.actor)),
  serverId: statement("requests_list_by_server", listText(SOURCES.serverId)),
};

const OMITTED = statement<{ reads: number; others: number }>(
  "requests_omitted",
  `select coalesce(sum(reads), 0)::bigint as reads, coalesce(sum(others), 0)::bigint as others from omitted_requests
   where organization_id = $1 and minute >= $2 and minute < $3`,
);

const GET = statement<RequestRow>(
  "requests_get",
  `select ${COLUMNS} from requests where organization_id = $1 and id = $2 and day = $3::date`,
);

/**
 * The last use of each key: the newer of its newest stored request and its use in `key_uses`. That
 * table also has uses whose requests are not stored, but a key's row changes at most once a minute.
 */
const LAST_USES = statement<{ key_id: string; used_at: Date; address: string | null }>(
  "requests_last_key_uses",
  `select distinct on (key_id) key_id, used_at, address from (
     select key_id, used_at, address from key_uses where organization_id = $1 and key_id = any($2::text[])
     union all
     select wanted.key_id, newest.at, newest.address from unnest($2::text[]) as wanted (key_id)
       cross join lateral (select at, address from requests where organization_id = $1 and actor_id = wanted.key_id
         order by at desc, id desc limit 1) as newest
   ) as uses order by key_id, used_at desc`,
);

const KEEP_DAY = statement<Record<string, never>>("requests_keep_day", "select keep_request_day($1::date)");
const DROP_DAYS = statement<{ dropped: number }>("requests_drop_days", "select drop_request_days($1::date) as dropped");

/** Creates the store. `clock` has the time of the database. */
export function createRequestLogStore(database: Database, clock: Clock): RequestLogStore {
  const kept = new Set<string>();
  return {
    storedCounts: async (organizationIds, days) => {
      const rows = await database.query(STORED_COUNTS, [organizationIds, days]);
      return new Map(rows.map((row) => [dayKey(row.organization_id, row.day), row.stored]));
    },
    insert: (rows) => insert(database, rows),
    list: (organizationId, query) => list(database, organizationId, query, clock.nowMs()),
    get: async (organizationId, id) => {
      const [row] = await database.query(GET, [organizationId, id, dayOf(uuidV7TimeMs(id))]);
      return row === undefined ? null : fromRow(row);
    },
    lastUses: async (organizationId, keyIds) => {
      const rows = await database.query(LAST_USES, [organizationId, keyIds]);
      return new Map(rows.map((row) => [row.key_id, { at: row.used_at.toISOString(), address: row.address }]));
    },
    keepDay: async (day) => {
      if (kept.has(day)) return;
      await database.query(KEEP_DAY, [day]);
      kept.add(day);
    },
    dropDaysBefore: async (day) => {
      for (const known of kept) if (known < day) kept.delete(known);
      return (await database.query(DROP_DAYS, [day]))[0]?.dropped ?? 0;
    },
  };
}

function insert(database: Database, { requests, omitted, keyUses }: RequestRows): Promise<void> {
  return database.transaction((tx) => {
    if (requests.length > 0) tx.execute(INSERT, requestColumns(requests));
    if (omitted.length > 0) {
      tx.execute(INSERT_OMITTED, [
        omitted.map(({ day }) => day),
        omitted.map(({ organizationId }) => organizationId),
        omitted.map(({ minute }) => minute),
        omitted.map(({ recordId }) => recordId),
        omitted.map(({ reads }) => reads),
        omitted.map(({ others }) => others),
      ]);
    }
    if (keyUses.length > 0) {
      tx.execute(UPSERT_USES, [
        keyUses.map(({ keyId }) => keyId),
        keyUses.map(({ organizationId }) => organizationId),
        keyUses.map(({ at }) => at),
        keyUses.map(({ address }) => address),
      ]);
    }
    return Promise.resolve();
  });
}

function requestColumns(requests: RequestRows["requests"]): unknown[] {
  return [
    requests.map(({ day }) => day),
    requests.map(({ organizationId }) => organizationId),
    requests.map(({ request }) => request.id),
    requests.map(({ at }) => at),
    requests.map(({ request }) => request.requestId),
    requests.map(({ request }) => request.operation),
    requests.map(({ request }) => request.method),
    requests.map(({ request }) => request.serverId),
    requests.map(({ request }) => request.accountNumber),
    requests.map(({ request }) => request.status ?? NO_RESPONSE),
    requests.map(({ request }) => request.errorCode),
    requests.map(({ request }) => request.durationMs),
    requests.map(({ request }) => request.actor.type),
    requests.map(({ request }) => request.actor.id),
    requests.map(({ request }) => request.address),
    requests.map(({ request }) => request.creditsCharged),
    requests.map(({ request }) => request.commandId),
  ];
}

async function list(
  database: Database,
  organizationId: string,
  query: ListRequestsQuery,
  nowMs: number,
): Promise<ConsoleRequestsAnswer> {
  const { cursor, limit } = query;
  const days = keptDays(nowMs);
  const firstMs = Date.parse(days[0] ?? "");
  const fromMs = Math.max(firstMs, query.from === undefined ? firstMs : Date.parse(query.from));
  const endMs = cursor === undefined ? Date.parse(days.at(-1) ?? "") : uuidV7TimeMs(cursor);
  const toMs = query.to === undefined ? endMs + 1 : Math.min(endMs + 1, Date.parse(query.to));
  const given = FILTERS.filter((filter) => query[filter] !== undefined);
  // The index of account numbers begins with the server.
  const driver = given.find((filter) => filter !== "accountNumber" || query.serverId !== undefined);
  const isCompared = given.length > (driver === undefined ? 0 : 1);
  const rows = await database.query(driver === undefined ? LIST_ALL : LIST_BY[driver], [
    organizationId,
    cursor === undefined ? "infinity" : toIso(uuidV7TimeMs(cursor)),
    cursor ?? LAST_ID,
    toIso(fromMs),
    toIso(toMs),
    dayOf(fromMs),
    dayOf(toMs),
    isCompared ? MAX_SEARCHED_REQUESTS : limit + 1,
    limit + 1,
    query.status === undefined ? null : statusesOf(query.status),
    query.operation ?? null,
    query.code ?? null,
    query.actor ?? null,
    query.requestId ?? null,
    query.serverId ?? null,
    query.accountNumber ?? null,
  ]);
  const found = rows.filter((row): row is ListedRow & RequestRow => row.id !== null);
  const isStopped = isCompared && (rows[0]?.searched ?? 0) >= MAX_SEARCHED_REQUESTS;
  const shown = found.slice(0, limit);
  const lastShown = found.length > limit ? shown.at(-1)?.id : undefined;
  const nextCursor = lastShown ?? (isStopped ? (rows[0]?.last_searched ?? null) : null);
  const searchedToMs = nextCursor === null ? fromMs : uuidV7TimeMs(nextCursor);
  const [omitted] = await database.query(OMITTED, [organizationId, toIso(searchedToMs), toIso(toMs)]);
  return {
    requests: shown.map(fromRow),
    nextCursor,
    searchedTo: nextCursor === null ? null : toIso(searchedToMs),
    omitted: { reads: omitted?.reads ?? 0, others: omitted?.others ?? 0 },
  };
}

/** The statuses of a filter: one, all of a class such as `4xx`, or `none` for no response. */
function statusesOf(status: string): number[] {
  if (status === "none") return [NO_RESPONSE];
  if (!status.endsWith("xx")) return [Number(status)];
  const first = Number(status.charAt(0)) * STATUSES_PER_CLASS;
  return Array.from({ length: STATUSES_PER_CLASS }, (_, index) => first + index);
}

function fromRow(row: RequestRow): ConsoleRequest {
  return {
    id: row.id,
    at: toIso(uuidV7TimeMs(row.id)),
    requestId: row.request_id,
    operation: row.operation,
    method: row.method,
    serverId: row.server_id,
    accountNumber: row.account_number,
    status: row.status === NO_RESPONSE ? null : row.status,
    errorCode: row.error_code,
    durationMs: row.duration_ms,
    actor: { type: row.actor_type, id: row.actor_id },
    address: row.address,
    creditsCharged: row.credits_charged,
    commandId: row.command_id,
  };
}
