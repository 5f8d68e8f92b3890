import { column, OPEN_BY_KEY, type WorkTransaction } from "@kapi/commands";
import { type Actor, actorFromText, actorToText } from "@kapi/contracts";
import { type Clock, toIso } from "@kapi/kernel";
import { type Database, type Queryable, statement } from "@kapi/postgres";

import { CREATED_PLACE, type AccountEventDraft } from "../../domain/account-event.ts";
import type { Account } from "../../domain/account.ts";
import { startsOf, type StoredStatus } from "../../domain/account-status.ts";
import type { DeletionRepository, DeletionState } from "../../domain/ports.ts";
import { countMoves } from "./account-counts.ts";
import { recordEvents } from "./account-events.ts";
import { ACCOUNT_COLUMNS_OF_A, type AccountRow, fromRow, IN_LOCK_ORDER } from "./account-row.ts";

/**
 * Delay before an unfinished deletion is resumed; doubled after each attempt, up to the maximum.
 */
const FIRST_RETRY_SECONDS = 10;
const MAX_RETRY_SECONDS = 300;
/** The booked sequence of an account whose last events are skipped: above every real sequence. */
const EVERY_EVENT = Number.MAX_SAFE_INTEGER;

interface DeletionRow extends AccountRow {
  readonly running_command: string | null;
  readonly deletion_rejections: number;
  readonly deletion_created_by: string | null;
  readonly command_status: "leased" | "queued" | null;
}

interface LockedRow {
  readonly server_id: string;
  readonly status: StoredStatus;
}

const DELETION_COLUMNS = "a.running_command, a.deletion_refusals as deletion_rejections, a.deletion_created_by";

const FIND_DELETION = statement<DeletionRow>(
  "account-deletion-find",
  `select ${ACCOUNT_COLUMNS_OF_A}, ${DELETION_COLUMNS},
     i.status as command_status
   from accounts a
   left join command_inbox i on i.command_id = a.running_command and i.${OPEN_BY_KEY}
   where a.server_id = $1 and a.account_number = $2`,
);
// $2 statuses, $3 the last started command.
const LOCK_TO_START = statement<LockedRow>(
  "account-deletion-lock-start",
  `select server_id, status from accounts
   where id = $1 and status = any($2::text[]) and running_command is not distinct from $3
   for no key update`,
);
const LOCK_TO_MARK = statement<LockedRow>(
  "account-deletion-lock-mark",
  `select server_id, status from accounts where id = $1 and status = any($2::text[]) for no key update`,
);
const MARK_DELETING = statement(
  "account-deletion-mark",
  `update accounts set status = 'deleting', version = version + 1, updated_at = clock_timestamp(),
     deletion_due_at = clock_timestamp() + $2 * interval '1 second', deletion_created_by = $3
   where id = $1`,
);
// Events of a deleting account are booked while the account has a row in `feeds`. The row is
// inserted if no event was booked before.
const KEEP_FEED = statement(
  "account-deletion-keep-feed",
  `insert into feeds (server_id, account_number, booked_sequence, order_count, position_count, open_position_count,
     deal_count)
   select server_id, account_number, 0, 0, 0, 0, 0 from accounts where id = $1
   on conflict (server_id, account_number) do nothing`,
);
const BOOKED_SEQUENCE = statement<{ booked_sequence: number }>(
  "account-deletion-booked-sequence",
  "select booked_sequence from feeds where server_id = $1 and account_number = $2 and booked_sequence < $3",
);
// $2 booked sequence before the attempt.
const NOTE_STALL = statement<{ deletion_stalls: number }>(
  "account-deletion-note-stall",
  `with tried as (
     update accounts a
     set deletion_stalls = case when f.booked_sequence = $2 then a.deletion_stalls + 1 else 0 end
     from feeds f
     where a.id = $1 and a.status = 'deleting'
       and f.server_id = a.server_id and f.account_number = a.account_number
     returning a.server_id, a.account_number, a.deletion_stalls, f.booked_sequence
   ), noted as (
     insert into feed_gaps (server_id, account_number, needed_sequence)
     select server_id, account_number, booked_sequence + 1 from tried
     on conflict (server_id, account_number) do nothing
   )
   select deletion_stalls from tried`,
);
// The account's row is locked first, as when booking.
const SKIP_EVENTS = statement(
  "account-deletion-skip-events",
  `with account as materialized (
     select server_id, account_number from accounts where id = $1 and status = 'deleting' for no key update
   )
   update feeds f set booked_sequence = $2 from account a
   where f.server_id = a.server_id and f.account_number = a.account_number`,
);
const DELETE_FEEDS = statement(
  "account-deletion-delete-feeds",
  `delete from feeds f using accounts a
   where a.id = any($1::uuid[]) and f.server_id = a.server_id and f.account_number = a.account_number`,
);
const NOTE_REJECTION = statement(
  "account-deletion-note-rejection",
  `update accounts set deletion_refusals = $2 + 1 where id = $1 and deletion_refusals = $2`,
);
const CLAIM_DUE = statement<DeletionRow>(
  "account-deletion-claim-due",
  `update accounts a set deletion_attempts = a.deletion_attempts + 1,
     deletion_due_at =
       clock_timestamp() + least($2 * power(2, least(a.deletion_attempts + 1, 20)), $3) * interval '1 second'
   from (
     select id from accounts where status = 'deleting' and deletion_due_at <= clock_timestamp()
     order by deletion_due_at limit $1 for no key update skip locked
   ) due
   where a.id = due.id
   returning ${ACCOUNT_COLUMNS_OF_A}, ${DELETION_COLUMNS},
     null as command_status`,
);
// Locked, so that only the first of several concurrent completions records the event.
const LOCK_DELETING = statement<AccountRow>(
  "account-deletion-lock",
  `select ${ACCOUNT_COLUMNS_OF_A} from accounts a where a.id = any($1::uuid[]) and a.status = any($2::text[])
   ${IN_LOCK_ORDER}`,
);
const LOCK_UNANNOUNCED = statement<AccountRow>(
  "account-deletion-lock-unannounced",
  `select ${ACCOUNT_COLUMNS_OF_A} from accounts a where a.id = $1 and a.status = 'deleting' and a.fact_sequence = 0
   for no key update`,
);
const MARK_DELETED = statement(
  "account-deletion-finish",
  `update accounts set status = 'deleted', version = version + 1, updated_at = $2, deletion_due_at = null
   where id = any($1::uuid[])`,
);

interface DeletionRepositoryOptions {
  readonly database: Database;
  /** The clock of the database. */
  readonly clock: Clock;
  readonly deleteHistory: DeletionRepository["deleteHistory"];
}

/** Accounts that are being deleted, in PostgreSQL (decisions, 4.8). */
export function createDeletionRepository({
  database,
  clock,
  deleteHistory,
}: DeletionRepositoryOptions): DeletionRepository {
  return {
    async find(serverId, accountNumber) {
      const [row] = await database.query(FIND_DELETION, [serverId, accountNumber]);
      return row === undefined ? null : toState(row);
    },
    async start({ account, lastCommand, createdBy }) {
      const starts = column(startsOf("startImmediateDeletion"));
      return database.transaction(async (tx) =>
        marked(tx, account.id, await tx.query(LOCK_TO_START, [account.id, starts, lastCommand]), createdBy),
      );
    },
    async markDeleting(accountId) {
      const starts = column(startsOf("startDeletion"));
      await database.transaction(async (tx) =>
        marked(tx, accountId, await tx.query(LOCK_TO_MARK, [accountId, starts]), null),
      );
    },
    async announceCreation(transaction, accountId, at) {
      const rows = await transaction.query(LOCK_UNANNOUNCED, [accountId]);
      await recordEvents(
        transaction,
        rows.map((row) => toCreatedEvent(fromRow(row), at)),
      );
    },
    async noteRejection({ account, rejections }) {
      await database.query(NOTE_REJECTION, [account.id, rejections]);
    },
    async claimDue(limit) {
      const rows = await database.query(CLAIM_DUE, [limit, FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS]);
      return rows.map(toState);
    },
    async bookedSequence({ serverId, accountNumber }) {
      const [row] = await database.query(BOOKED_SEQUENCE, [serverId, accountNumber, EVERY_EVENT]);
      return row?.booked_sequence ?? null;
    },
    async noteStall(accountId, bookedSequence) {
      const [row] = await database.query(NOTE_STALL, [accountId, bookedSequence]);
      return row?.deletion_stalls ?? 0;
    },
    async skipEvents(accountId) {
      await database.query(SKIP_EVENTS, [accountId, EVERY_EVENT]);
    },
    deleteHistory,
    finish: (transaction, accountIds) => finish(transaction, accountIds, clock),
  };
}

/** Marks the locked account `deleting`; false if there is none. */
async function marked(
  tx: Queryable,
  accountId: string,
  locked: readonly LockedRow[],
  createdBy: Actor | null,
): Promise<boolean> {
  if (locked.length === 0) return false;
  await tx.query(MARK_DELETING, [accountId, FIRST_RETRY_SECONDS, actorToText(createdBy)]);
  await tx.query(KEEP_FEED, [accountId]);
  await countMoves(
    tx,
    locked.map((row) => ({ serverId: row.server_id, from: row.status, to: "deleting" })),
  );
  return true;
}

async function finish(transaction: WorkTransaction, accountIds: readonly string[], clock: Clock): Promise<void> {
  if (accountIds.length === 0) return;
  const rows = await transaction.query(LOCK_DELETING, [column(accountIds), column(startsOf("finishDeletion"))]);
  if (rows.length === 0) return;
  const at = toIso(clock.nowMs());
  await recordEvents(
    transaction,
    rows.map((row) => toDeletedEvent(fromRow(row), at)),
  );
  await transaction.query(MARK_DELETED, [column(rows.map(({ id }) => id)), at]);
  await transaction.query(DELETE_FEEDS, [column(rows.map(({ id }) => id))]);
  await countMoves(
    transaction,
    rows.map((row) => ({ serverId: row.server_id, from: row.status, to: "deleted" })),
  );
}

/** The event of an account that the trading server has opened. */
function toCreatedEvent(account: Account, at: string): AccountEventDraft {
  return { ...recordOf(account), type: "account.created", status: "active", occurredAt: at, place: CREATED_PLACE };
}

function toDeletedEvent(account: Account, at: string): AccountEventDraft {
  return {
    ...recordOf(account),
    type: "account.deleted",
    status: "deleted",
    version: account.version + 1,
    occurredAt: at,
  };
}

function recordOf({ id: accountId, serverId, accountNumber, version, accountName, leverage }: Account) {
  return { accountId, serverId, accountNumber, version, accountName, leverage };
}

function toState(row: DeletionRow): DeletionState {
  const { command_status: status } = row;
  return {
    account: fromRow(row),
    lastCommand: row.running_command,
    open: status === null ? null : status === "leased" ? "running" : "queued",
    rejections: row.deletion_rejections,
    createdBy: actorFromText(row.deletion_created_by),
  };
}
