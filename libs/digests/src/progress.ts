/** How far digests are made, and the records that were booked late: the tables of the library. */
import { type Database, type Queryable, type Statement, statement, type Transaction } from "@kapi/postgres";

import { addDays } from "./day.ts";

/** How far the digests of a server's accounts are made. Days as `YYYY-MM-DD`. */
export interface ServerProgress {
  readonly serverId: string;
  /** The first day that gets digests, or whose digests are still kept. */
  readonly firstDay: string;
  /** The last day whose digests are all made; before `firstDay` if there is none yet. */
  readonly madeThrough: string;
  /** The last account whose digest of the next day is made; empty if there is none. */
  readonly afterAccount: string;
}

/** The progress of a server, and whether days that are made have late records to include. */
export type ServerState = ServerProgress & { readonly hasLateRecords: boolean };

/**
 * The note of a record of `day` that was booked on a later day: a row of `late_records`. The record
 * itself, a transaction or a deal, is in the service's own table.
 */
export interface LateRecord {
  readonly serverId: string;
  readonly accountNumber: string;
  readonly day: string;
}

interface ProgressRow {
  readonly server_id: string;
  readonly first_day: string;
  readonly made_through: string;
  readonly after_account: string;
}

const COLUMNS = "server_id, first_day::text, made_through::text, after_account";

/** $1 server, $2 first day. */
const ADD_SERVER: Statement<never> = statement(
  "digests-add-server",
  `insert into digest_servers (server_id, first_day, made_through) values ($1, $2::date, $2::date - 1)
   on conflict do nothing`,
);
const LOCK_SERVER: Statement<ProgressRow> = statement(
  "digests-lock-server",
  `select ${COLUMNS} from digest_servers where server_id = $1 for update`,
);
const TRY_LOCK_SERVER: Statement<ProgressRow> = statement(
  "digests-try-lock-server",
  `select ${COLUMNS} from digest_servers where server_id = $1 for update skip locked`,
);
const FIND_SERVERS: Statement<ProgressRow & { readonly has_late_records: boolean }> = statement(
  "digests-find-servers",
  `select ${COLUMNS}, exists (
     select from late_records l where l.server_id = s.server_id and l.day <= s.made_through
   ) as has_late_records
   from digest_servers s where server_id = any($1::uuid[])`,
);
/** $1 server, $2 last day that is made, $3 last account whose digest of the next day is made. */
const SAVE_PROGRESS: Statement<never> = statement(
  "digests-save-progress",
  "update digest_servers set made_through = $2::date, after_account = $3 where server_id = $1",
);
/** $1 server, $2 first day that is kept. */
const SAVE_FIRST_DAY: Statement<never> = statement(
  "digests-save-first-day",
  "update digest_servers set first_day = greatest(first_day, $2::date) where server_id = $1",
);
/** Arrays: server, day, account number. */
const NOTE_LATE: Statement<never> = statement(
  "digests-note-late-records",
  `insert into late_records (server_id, day, account_number)
   select * from unnest($1::uuid[], $2::date[], $3::text[])`,
);
/**
 * $1 server, $2 last day, $3 maximum number of notes that are looked at. All notes up to the last
 * day, of the accounts in these notes, are deleted and returned.
 */
const TAKE_LATE: Statement<{ day: string; account_number: string }> = statement(
  "digests-take-late-records",
  `delete from late_records where server_id = $1 and day <= $2::date and account_number = any(array(
     select account_number from late_records where server_id = $1 and day <= $2::date order by day, id limit $3
   )) returning day::text, account_number`,
);
/** $1 server, $2 day, $3 last account whose digest of the day is made, $4 limit. */
const DROP_LATE: Statement<{ id: string }> = statement(
  "digests-drop-late-records",
  `delete from late_records where id in (
     select id from late_records where server_id = $1 and day = $2::date and account_number > $3 order by id limit $4
   ) returning id::text`,
);
/** $1 server, $2 account number. */
const TAKE_LATE_OF_ACCOUNT: Statement<{ day: string; account_number: string }> = statement(
  "digests-take-late-records-of-account",
  "delete from late_records where server_id = $1 and account_number = $2 returning day::text, account_number",
);

/**
 * Locks the progress of a server, and adds it if it is missing: `firstDay` is then the first day
 * that gets digests. Waits for another process that makes digests of the server.
 */
export async function lockServer(tx: Transaction, serverId: string, firstDay: string): Promise<ServerProgress> {
  tx.execute(ADD_SERVER, [serverId, firstDay]);
  const [row] = await tx.query(LOCK_SERVER, [serverId]);
  if (row === undefined) throw new Error(`the digests of server ${serverId} have no progress`);
  return fromRow(row);
}

/** Like {@link lockServer}, but does not wait: null if another process has the lock. */
export async function tryLockServer(
  tx: Transaction,
  serverId: string,
  firstDay: string,
): Promise<ServerProgress | null> {
  tx.execute(ADD_SERVER, [serverId, firstDay]);
  const [row] = await tx.query(TRY_LOCK_SERVER, [serverId]);
  return row === undefined ? null : fromRow(row);
}

/** The state of servers; those without progress are left out. */
export async function findServers(queryable: Queryable, serverIds: readonly string[]): Promise<ServerState[]> {
  const rows = await queryable.query(FIND_SERVERS, [serverIds]);
  return rows.map((row) => Object.assign({ hasLateRecords: row.has_late_records }, fromRow(row)));
}

/** Saves how far the digests of a server are made. The caller holds the lock of the server. */
export function saveProgress(tx: Transaction, serverId: string, madeThrough: string, afterAccount: string): void {
  tx.execute(SAVE_PROGRESS, [serverId, madeThrough, afterAccount]);
}

/** Hides the digests of days before `firstDay`: {@link findDay} returns `none` for these days. */
export async function saveFirstDay(tx: Transaction, serverId: string, firstDay: string): Promise<void> {
  await tx.query(SAVE_FIRST_DAY, [serverId, firstDay]);
}

/**
 * Notes late records in the transaction that books them, so that their digests are revised: one
 * note for each account and day.
 */
export function noteLateRecords(tx: Pick<Transaction, "execute">, records: readonly LateRecord[]): void {
  const distinct = new Map(
    records.map((record) => [`${record.serverId}/${record.accountNumber}/${record.day}`, record]),
  );
  if (distinct.size === 0) return;
  const late = [...distinct.values()];
  tx.execute(NOTE_LATE, [
    late.map(({ serverId }) => serverId),
    late.map(({ day }) => day),
    late.map(({ accountNumber }) => accountNumber),
  ]);
}

/**
 * Deletes the notes up to `lastDay` of at most `limit` accounts, and returns the accounts with the
 * earliest day of each. Later statements of `tx` see the records that were noted.
 */
export async function takeLateRecords(
  tx: Transaction,
  serverId: string,
  lastDay: string,
  limit: number,
): Promise<ReadonlyMap<string, string>> {
  return earliest(await tx.query(TAKE_LATE, [serverId, lastDay, limit]));
}

/**
 * Deletes at most `limit` notes of a day, of accounts whose digest is not made yet, and returns how
 * many. These notes are not needed: the batch that makes the digest reads the records anyway.
 */
export async function dropLateRecords(
  tx: Transaction,
  { serverId, day, afterAccount, limit }: LateDay,
): Promise<number> {
  return (await tx.query(DROP_LATE, [serverId, day, afterAccount, limit])).length;
}

/** The accounts of a day that have no digest yet, and how many of their notes to delete. */
interface LateDay {
  readonly serverId: string;
  readonly day: string;
  /** The last account whose digest of the day is made. */
  readonly afterAccount: string;
  readonly limit: number;
}

/** Deletes all notes of an account, and returns their earliest day; null if there were none. */
export async function takeLateRecordsOf(
  tx: Transaction,
  serverId: string,
  accountNumber: string,
): Promise<string | null> {
  return earliest(await tx.query(TAKE_LATE_OF_ACCOUNT, [serverId, accountNumber])).get(accountNumber) ?? null;
}

/** `pending`: the digests of the day will be made. `none`: the server has no digests of the day. */
export async function findDay(database: Database, serverId: string, day: string): Promise<"made" | "pending" | "none"> {
  const [progress] = await findServers(database, [serverId]);
  // The digest maker (`maker.ts`) has not added the server yet, so the first day is not known.
  if (progress === undefined) return "pending";
  if (day < progress.firstDay) return "none";
  return day <= progress.madeThrough ? "made" : "pending";
}

/** The day that is made next. */
export function nextDay({ madeThrough }: ServerProgress): string {
  return addDays(madeThrough, 1);
}

function earliest(rows: readonly { readonly day: string; readonly account_number: string }[]): Map<string, string> {
  const days = new Map<string, string>();
  for (const { day, account_number: accountNumber } of rows) {
    const known = days.get(accountNumber);
    if (known === undefined || day < known) days.set(accountNumber, day);
  }
  return days;
}

function fromRow(row: ProgressRow): ServerProgress {
  return {
    serverId: row.server_id,
    firstDay: row.first_day,
    madeThrough: row.made_through,
    afterAccount: row.after_account,
  };
}
