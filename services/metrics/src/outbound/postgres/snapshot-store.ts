import { accountKey, type AccountRef } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { type Database, type Queryable, statement } from "@kapi/postgres";

import { type EquityHour, startOfHour } from "../../domain/equity-hour.ts";
import type { AggregatorState, ClosedMinute, Snapshot } from "../../domain/minute-aggregator.ts";
import type { SnapshotStore } from "../../domain/ports.ts";
import { joinedSegments, minuteSegments } from "./equity-segments.ts";

/** Maximum number of closed minutes in one transaction. */
const MAX_ROWS = 2_000;
const DAY_MS = 86_400_000;

// Writers of snapshots share this lock; a deletion holds it alone. So a write after the deletion
// finds the account in `deleted_accounts`, and the deletion deletes the rows of earlier writes.
const LOCK = `hashtext(current_schema() || ' snapshots')`;
const SHARE_LOCK = statement<Record<string, never>>(
  "snapshots_share_lock",
  `select pg_advisory_xact_lock_shared(${LOCK})`,
);
const EXCLUSIVE_LOCK = statement<Record<string, never>>(
  "snapshots_exclusive_lock",
  `select pg_advisory_xact_lock(${LOCK})`,
);

const NOT_DELETED = `not exists (select from deleted_accounts as deleted
  where deleted.server_id = given.server_id and deleted.account_number = given.account_number)`;

const INSERT_SNAPSHOTS = statement<Record<string, never>>(
  "snapshots_insert",
  `insert into account_metric_snapshots (server_id, account_number, measured_at, sequence, balance_minor, equity_minor,
     margin_minor, free_margin_minor, margin_level, daily_drawdown, total_drawdown, lowest_equity_minor,
     highest_equity_minor, account_status, created_at)
   select given.*, coalesce(known.status, 'active'), now()
   from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
     $8::bigint[], $9::double precision[], $10::double precision[], $11::double precision[], $12::bigint[],
     $13::bigint[])
     as given (server_id, account_number, measured_at, sequence, balance_minor, equity_minor, margin_minor,
       free_margin_minor, margin_level, daily_drawdown, total_drawdown, lowest_equity_minor, highest_equity_minor)
     left join account_statuses as known using (server_id, account_number)
   where ${NOT_DELETED}
   on conflict (server_id, account_number, measured_at) do nothing`,
);

const INSERT_HOURS = statement<Record<string, never>>(
  "snapshots_insert_hours",
  `insert into account_metric_hours (server_id, account_number, hour, first_at, last_at, equity_minor, balance_minor,
     lowest_equity_minor, highest_equity_minor, drawdown_minor, drawdown_from_minor)
   select given.* from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[],
     $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[])
     as given (server_id, account_number, hour, first_at, last_at, equity_minor, balance_minor, lowest_equity_minor,
       highest_equity_minor, drawdown_minor, drawdown_from_minor)
   where ${NOT_DELETED}
   on conflict (server_id, account_number, hour) do nothing`,
);

// Computes the rows of hours from stored minutes, for given minutes whose `endedHour` is `unknown`.
// `account_states` still has the time of the newest minute before this write. All hours from the
// hour of that time to the hour before the given minute's hour are written. If a process of an
// earlier release stored the newest minute, `account_states` may have an older time, or null. With
// an older time, more hours are written. With null, no hour is written, and the equity history
// reads the minutes. `offset 0` keeps the planner from joining all states of a server.
const INSERT_UNKNOWN_HOURS = statement<Record<string, never>>(
  "snapshots_insert_unknown_hours",
  `insert into account_metric_hours (server_id, account_number, hour, first_at, last_at, equity_minor, balance_minor,
     lowest_equity_minor, highest_equity_minor, drawdown_minor, drawdown_from_minor)
   select given.server_id, given.account_number, ended.part, ended.first_at, ended.last_at, ended.equity_minor,
     ended.balance_minor, ended.lowest_minor, ended.highest_minor, ended.drawdown_minor, ended.drawdown_from_minor
   from unnest($1::uuid[], $2::text[], $3::timestamptz[]) as given (server_id, account_number, measured_at)
     cross join lateral (select measured_at from account_states
       where server_id = given.server_id and account_number = given.account_number offset 0) as kept
     cross join lateral (${joinedSegments({
       segments: `select date_trunc('hour', first_at, 'UTC') as part, stored.* from (${minuteSegments(
         `server_id = given.server_id and account_number = given.account_number
          and measured_at >= greatest(date_trunc('hour', kept.measured_at, 'UTC'), $4)
          and measured_at < date_trunc('hour', given.measured_at, 'UTC')`,
       )}) as stored`,
       partition: "partition by part",
       peak: "null::bigint",
     })}) as ended
   where kept.measured_at < date_trunc('hour', given.measured_at, 'UTC')
   on conflict (server_id, account_number, hour) do nothing`,
);

// Only a later sequence replaces a state: a process that has lost the partition may write late.
const UPSERT_STATES = statement<Record<string, never>>(
  "snapshots_upsert_states",
  `insert into account_states as kept (server_id, account_number, sequence, valuations_to, equity_minor, day,
     day_start_minor, day_low_minor, peak_minor, low_minor, measured_at, balance_minor, margin_minor, margin_level)
   select given.* from unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::date[], $7::bigint[],
     $8::bigint[], $9::bigint[], $10::bigint[], $11::timestamptz[], $12::bigint[], $13::bigint[], $14::float8[])
     as given (server_id, account_number, sequence, valuations_to, equity_minor, day, day_start_minor, day_low_minor,
       peak_minor, low_minor, measured_at, balance_minor, margin_minor, margin_level)
   where ${NOT_DELETED}
   order by server_id, account_number
   on conflict (server_id, account_number) do update set
     sequence = excluded.sequence, valuations_to = excluded.valuations_to, equity_minor = excluded.equity_minor,
     day = excluded.day, day_start_minor = excluded.day_start_minor, day_low_minor = excluded.day_low_minor,
     peak_minor = excluded.peak_minor, low_minor = excluded.low_minor, measured_at = excluded.measured_at,
     balance_minor = excluded.balance_minor, margin_minor = excluded.margin_minor, margin_level = excluded.margin_level
   where kept.sequence < excluded.sequence`,
);

interface StateRow {
  readonly server_id: string;
  readonly account_number: string;
  readonly sequence: number;
  readonly valuations_to: number;
  readonly equity_minor: number;
  readonly day: string;
  readonly day_start_minor: number;
  readonly day_low_minor: number;
  readonly peak_minor: number;
  readonly low_minor: number;
}

const SELECT_STATES = statement<StateRow>(
  "snapshots_select_states",
  `select server_id, account_number, sequence, valuations_to, equity_minor, day::text as day, day_start_minor,
     day_low_minor, peak_minor, low_minor
   from account_states
   where (server_id, account_number) in (select * from unnest($1::uuid[], $2::text[]))`,
);

const KEEP_DAY = statement<Record<string, never>>("snapshots_keep_day", `select keep_snapshot_day($1::date)`);
const DROP_DAYS = statement<{ dropped: number }>(
  "snapshots_drop_days",
  `select drop_snapshot_days($1::date) as dropped`,
);

// The highest version wins, whatever the order of the events.
const UPSERT_STATUSES = statement<Record<string, never>>(
  "snapshots_upsert_statuses",
  `insert into account_statuses as kept (server_id, account_number, version, status, account_name)
   select given.* from unnest($1::uuid[], $2::text[], $3::integer[], $4::text[], $5::text[])
     as given (server_id, account_number, version, status, account_name)
   where ${NOT_DELETED}
   order by server_id, account_number
   on conflict (server_id, account_number) do update set
     version = excluded.version, status = excluded.status, account_name = excluded.account_name
   where kept.version < excluded.version`,
);

const INSERT_DELETED = statement<Record<string, never>>(
  "snapshots_insert_deleted",
  `insert into deleted_accounts (server_id, account_number, deleted_at) values ($1, $2, now())
   on conflict (server_id, account_number) do nothing`,
);
const DELETE_SNAPSHOTS = statement<Record<string, never>>(
  "snapshots_delete",
  `delete from account_metric_snapshots where server_id = $1 and account_number = $2`,
);
const DELETE_HOURS = statement<Record<string, never>>(
  "snapshots_delete_hours",
  `delete from account_metric_hours where server_id = $1 and account_number = $2`,
);
const DELETE_STATE = statement<Record<string, never>>(
  "snapshots_delete_state",
  `delete from account_states where server_id = $1 and account_number = $2`,
);
const DELETE_STATUS = statement<Record<string, never>>(
  "snapshots_delete_status",
  `delete from account_statuses where server_id = $1 and account_number = $2`,
);
const SELECT_DELETED = statement<{ server_id: string; account_number: string; deleted_at: Date }>(
  "snapshots_select_deleted",
  `select server_id, account_number, deleted_at from deleted_accounts order by server_id, account_number`,
);
const DELETED_ROWS_PER_FETCH = 10_000;

/** The snapshots, aggregation states, account statuses and deleted accounts in PostgreSQL. */
export function createSnapshotStore(database: Database): SnapshotStore {
  return {
    states: (accounts) => readStates(database, accounts),
    write: async (minutes, kept) => {
      for (let start = 0; start < minutes.length; start += MAX_ROWS) {
        await write(database, minutes.slice(start, start + MAX_ROWS), kept);
      }
    },
    createDays: async (firstMs, lastMs) => {
      for (let day = firstMs; day <= lastMs; day += DAY_MS) await database.query(KEEP_DAY, [dateOf(day)]);
    },
    dropDaysBefore: async (firstKeptMs) => (await database.query(DROP_DAYS, [dateOf(firstKeptMs)]))[0]?.dropped ?? 0,
    upsertStatuses: async (statuses) => {
      await database.query(UPSERT_STATUSES, [
        statuses.map(({ account }) => account.serverId),
        statuses.map(({ account }) => account.accountNumber),
        statuses.map(({ version }) => version),
        statuses.map(({ status }) => status),
        statuses.map(({ accountName }) => accountName),
      ]);
    },
    deleteAccount: ({ serverId, accountNumber }) =>
      database.transaction((tx) => {
        tx.execute(EXCLUSIVE_LOCK, []);
        for (const step of [INSERT_DELETED, DELETE_SNAPSHOTS, DELETE_HOURS, DELETE_STATE, DELETE_STATUS]) {
          tx.execute(step, [serverId, accountNumber]);
        }
        return Promise.resolve();
      }),
    deleted: () => readDeleted(database),
  };
}

async function readStates(database: Queryable, accounts: readonly AccountRef[]): Promise<Map<string, AggregatorState>> {
  const rows = await database.query(SELECT_STATES, [
    accounts.map(({ serverId }) => serverId),
    accounts.map(({ accountNumber }) => accountNumber),
  ]);
  return new Map(rows.map((row) => [accountKey(row.server_id, row.account_number), stateFromRow(row)]));
}

async function write(
  database: Database,
  minutes: readonly ClosedMinute[],
  kept: { readonly firstMs: number; readonly beforeMs: number },
): Promise<void> {
  const newest = new Map<string, ClosedMinute>();
  const afterUnknown = new Map<string, ClosedMinute>();
  for (const minute of minutes) {
    const { serverId, accountNumber } = minute.snapshot.account;
    const key = accountKey(serverId, accountNumber);
    newest.set(key, minute);
    if (minute.endedHour === "unknown") afterUnknown.set(key, minute);
  }
  const hours = minutes.flatMap(({ snapshot: { account }, endedHour }) =>
    endedHour === null || endedHour === "unknown" ? [] : [{ account, hour: endedHour }],
  );
  const isKept = (ms: number): boolean => ms >= kept.firstMs && ms < kept.beforeMs;
  const rows = minutes.map(({ snapshot }) => snapshot).filter(({ measuredAtMs }) => isKept(measuredAtMs));
  const keptHours = hours.filter(({ hour }) => isKept(hour.firstMs));
  await database.transaction((tx) => {
    tx.execute(SHARE_LOCK, []);
    tx.execute(INSERT_SNAPSHOTS, snapshotColumns(rows));
    if (keptHours.length > 0) tx.execute(INSERT_HOURS, hourColumns(keptHours));
    if (afterUnknown.size > 0) {
      tx.execute(INSERT_UNKNOWN_HOURS, [...unknownHourColumns([...afterUnknown.values()]), toIso(kept.firstMs)]);
    }
    tx.execute(UPSERT_STATES, stateColumns([...newest.values()]));
    return Promise.resolve();
  });
}

async function* readDeleted(database: Database): AsyncGenerator<(AccountRef & { deletedAtMs: number })[]> {
  for await (const rows of database.stream(SELECT_DELETED, [], DELETED_ROWS_PER_FETCH)) {
    yield rows.map((row) => ({
      serverId: row.server_id,
      accountNumber: row.account_number,
      deletedAtMs: row.deleted_at.getTime(),
    }));
  }
}

function snapshotColumns(rows: readonly Snapshot[]): unknown[] {
  return [
    rows.map((row) => row.account.serverId),
    rows.map((row) => row.account.accountNumber),
    rows.map((row) => toIso(row.measuredAtMs)),
    rows.map((row) => row.sequence),
    rows.map((row) => row.balanceMinor),
    rows.map((row) => row.equityMinor),
    rows.map((row) => row.marginMinor),
    rows.map((row) => row.freeMarginMinor),
    rows.map((row) => row.marginLevel),
    rows.map((row) => row.dailyDrawdown),
    rows.map((row) => row.totalDrawdown),
    rows.map((row) => row.lowestEquityMinor),
    rows.map((row) => row.highestEquityMinor),
  ];
}

function hourColumns(hours: readonly { readonly account: AccountRef; readonly hour: EquityHour }[]): unknown[] {
  return [
    hours.map(({ account }) => account.serverId),
    hours.map(({ account }) => account.accountNumber),
    hours.map(({ hour }) => toIso(startOfHour(hour.firstMs))),
    hours.map(({ hour }) => toIso(hour.firstMs)),
    hours.map(({ hour }) => toIso(hour.lastMs)),
    hours.map(({ hour }) => hour.equityMinor),
    hours.map(({ hour }) => hour.balanceMinor),
    hours.map(({ hour }) => hour.lowestEquityMinor),
    hours.map(({ hour }) => hour.highestEquityMinor),
    hours.map(({ hour }) => hour.drawdownMinor),
    hours.map(({ hour }) => hour.drawdownFromMinor),
  ];
}

function unknownHourColumns(minutes: readonly ClosedMinute[]): unknown[] {
  return [
    minutes.map(({ snapshot }) => snapshot.account.serverId),
    minutes.map(({ snapshot }) => snapshot.account.accountNumber),
    minutes.map(({ snapshot }) => toIso(snapshot.measuredAtMs)),
  ];
}

function stateColumns(minutes: readonly ClosedMinute[]): unknown[] {
  return [
    minutes.map(({ snapshot }) => snapshot.account.serverId),
    minutes.map(({ snapshot }) => snapshot.account.accountNumber),
    minutes.map(({ state }) => state.log.sequence),
    minutes.map(({ state }) => state.log.to),
    minutes.map(({ state }) => state.drawdown.equityMinor),
    minutes.map(({ state }) => dateOf(state.drawdown.dayMs)),
    minutes.map(({ state }) => state.drawdown.dayStartMinor),
    minutes.map(({ state }) => state.drawdown.dayLowMinor),
    minutes.map(({ state }) => state.drawdown.peakMinor),
    minutes.map(({ state }) => state.drawdown.lowMinor),
    minutes.map(({ snapshot }) => toIso(snapshot.measuredAtMs)),
    minutes.map(({ snapshot }) => snapshot.balanceMinor),
    minutes.map(({ snapshot }) => snapshot.marginMinor),
    minutes.map(({ snapshot }) => snapshot.marginLevel),
  ];
}

function stateFromRow(row: StateRow): AggregatorState {
  return {
    log: { sequence: row.sequence, to: row.valuations_to },
    drawdown: {
      equityMinor: row.equity_minor,
      dayMs: Date.parse(`${row.day}T00:00:00.000Z`),
      dayStartMinor: row.day_start_minor,
      dayLowMinor: row.day_low_minor,
      peakMinor: row.peak_minor,
      lowMinor: row.low_minor,
    },
  };
}

function dateOf(ms: number): string {
  return toIso(ms).slice(0, "2026-01-01".length);
}
