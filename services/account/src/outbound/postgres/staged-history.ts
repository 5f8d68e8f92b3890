/**
 * Stages a rebuilt history, then replaces the live history in one transaction. This transaction
 * holds the lock of the account's row, as booking does. Only different rows are written.
 */
import { accountKey, type TradingEvent, type AccountRef } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";
import { type Database, type Queryable, type Statement, statement, type Transaction } from "@kapi/postgres";

import { type Feed, NEW_FEED } from "../../domain/history.ts";
import type { Replacement, StagedHistory } from "../../domain/history-ports.ts";
import { NOTE_REBUILD } from "./digest-statements.ts";
import { LOCK_ACCOUNTS } from "./history-statements.ts";
import { createHistoryWriter } from "./history-writer.ts";

const TABLES = ["orders", "positions", "deals"] as const;
const ENDED_STATUSES: ReadonlySet<string> = new Set(["deleting", "deleted"]);

interface CountRow {
  readonly count: number;
}

const OF_ACCOUNT = "server_id = $1 and account_number = $2";
const counted = (text: string): string => `with touched as (${text} returning 1) select count(*) as count from touched`;
const withSameId = (other: string): string =>
  `from ${other} o where o.server_id = t.server_id and o.account_number = t.account_number and o.id = t.id`;

// First, live rows without an equal staged row are deleted. Such a row can have the number `n` of a
// row that INSERT_MISSING inserts, and `n` is unique.
const DELETE_DIFFERENT = TABLES.map((table): Statement<CountRow> =>
  statement(
    `${table}-delete-different`,
    counted(
      `delete from ${table} t where t.server_id = $1 and t.account_number = $2 and not exists (
           select ${withSameId(`staged_${table}`)} and row(o.*) is not distinct from row(t.*))`,
    ),
  ),
);
const INSERT_MISSING = TABLES.map((table): Statement<CountRow> =>
  statement(
    `${table}-insert-missing`,
    counted(
      `insert into ${table} select t.* from staged_${table} t
         where t.server_id = $1 and t.account_number = $2 and not exists (select ${withSameId(table)})`,
    ),
  ),
);
const TAKE_FEED: Statement<never> = statement(
  "feeds-take-staged",
  `insert into feeds select * from staged_feeds where ${OF_ACCOUNT}
   on conflict (server_id, account_number) do update
     set booked_sequence = excluded.booked_sequence, order_count = excluded.order_count,
         position_count = excluded.position_count, open_position_count = excluded.open_position_count,
         deal_count = excluded.deal_count, ledger_sequence = excluded.ledger_sequence`,
);
const COUNT_RECORDS: Statement<Record<"orders" | "positions" | "open_positions" | "deals", number>> = statement(
  "history-count",
  `select (select count(*) from orders where ${OF_ACCOUNT}) as orders,
     (select count(*) from positions where ${OF_ACCOUNT}) as positions,
     (select count(*) from positions where ${OF_ACCOUNT} and status = 'open') as open_positions,
     (select count(*) from deals where ${OF_ACCOUNT}) as deals`,
);
const DELETE_STAGED = [...TABLES, "feeds"].map((table): Statement<never> =>
  statement(`staged_${table}-clear`, `delete from staged_${table} where ${OF_ACCOUNT}`),
);
const ACCOUNTS: Statement<{ account_number: string; has_feed: boolean }> = statement(
  "rebuild-accounts",
  `select a.account_number, f.server_id is not null as has_feed from accounts a
   left join feeds f on f.server_id = a.server_id and f.account_number = a.account_number
   where a.server_id = $1 and a.account_number > $2 and a.account_number <= $3
     and a.status not in ('deleting', 'deleted')
   order by a.account_number limit $4`,
);
const ACCOUNTS_LEFT: Statement<CountRow & { last: string }> = statement(
  "rebuild-accounts-left",
  `select count(*) as count, coalesce(max(account_number), $2) as last from accounts
    where server_id = $1 and account_number > $2 and status not in ('deleting', 'deleted')`,
);
const DONE_THROUGH: Statement<{ done_through: string }> = statement(
  "rebuild-done-through",
  "select done_through from rebuilds where server_id = $1",
);
const NOTE_DONE: Statement<never> = statement(
  "rebuild-note-done",
  `insert into rebuilds (server_id, done_through) values ($1, $2)
   on conflict (server_id) do update set done_through = excluded.done_through`,
);
const FORGET_DONE: Statement<never> = statement("rebuild-forget-done", "delete from rebuilds where server_id = $1");

/** The staged tables and the progress of rebuilds. */
export function createStagedHistory(database: Database): StagedHistory {
  const live = createHistoryWriter("live");
  const staged = createHistoryWriter("staged");
  const feedOf = async (writer: typeof live, queryable: Queryable, account: AccountRef): Promise<Feed | null> =>
    (await writer.feeds(queryable, [account])).get(accountKey(account.serverId, account.accountNumber)) ?? null;
  const stage = async (tx: Transaction, account: AccountRef, events: readonly TradingEvent[]): Promise<Feed> => {
    const feed = (await feedOf(staged, tx, account)) ?? NEW_FEED;
    const run = events.filter(({ sequence }) => sequence > feed.bookedSequence);
    if (run.length === 0) return feed;
    return assertDefined((await staged.write(tx, [{ account, feed, run }]))[0], "a staged history").feed;
  };
  return {
    accounts: async (serverId, { after, through }, limit) =>
      (await database.query(ACCOUNTS, [serverId, after, through, limit])).map((row) => ({
        accountNumber: row.account_number,
        hasFeed: row.has_feed,
      })),
    accountsLeft: async (serverId, after) =>
      assertDefined((await database.query(ACCOUNTS_LEFT, [serverId, after]))[0], "the row of an aggregate"),
    doneThrough: async (serverId) => (await database.query(DONE_THROUGH, [serverId]))[0]?.done_through ?? null,
    noteDone: async (serverId, accountNumber) => {
      await database.query(NOTE_DONE, [serverId, accountNumber]);
    },
    forgetDone: async (serverId) => {
      await database.query(FORGET_DONE, [serverId]);
    },
    bookedSequence: async (account) => (await feedOf(live, database, account))?.bookedSequence ?? null,
    stagedSequence: async (account) => (await feedOf(staged, database, account))?.bookedSequence ?? 0,
    stage: (account, events) =>
      database.transaction(async (tx) => {
        // Under the lock, so that nothing is staged for a deleted account.
        if (await lockedAndLive(tx, account)) return (await stage(tx, account, events)).bookedSequence;
        return 0;
      }),
    discard: (account) => database.transaction((tx) => clear(tx, account)),
    replace: (account, ahead, lostAt) =>
      database.transaction(async (tx): Promise<Replacement> => {
        if (!(await lockedAndLive(tx, account))) {
          await clear(tx, account);
          return { kind: "gone" };
        }
        const feed = await feedOf(live, tx, account);
        const target = feed?.bookedSequence ?? lostAt;
        if (target === null) return { kind: "moved" };
        const before = ahead.filter(({ sequence }) => sequence <= target);
        const result = await stage(tx, account, before);
        if (result.bookedSequence !== target) return { kind: "moved" };
        tx.execute(NOTE_REBUILD, [account.serverId, account.accountNumber]);
        const different = await take(tx, account);
        await assertCounts(tx, account, result);
        await clear(tx, account);
        return { kind: "replaced", feed: result, different };
      }),
  };
}

/** Locks the account's row; false if the account does not exist, or is deleting or deleted. */
async function lockedAndLive(tx: Transaction, { serverId, accountNumber }: AccountRef): Promise<boolean> {
  const [row] = await tx.query(LOCK_ACCOUNTS, [[serverId], [accountNumber]]);
  return row !== undefined && !ENDED_STATUSES.has(row.status);
}

/**
 * Replaces live rows with staged ones. Returns the number of deleted or of inserted rows, whichever
 * is larger.
 */
async function take(tx: Transaction, account: AccountRef): Promise<number> {
  const values = [account.serverId, account.accountNumber];
  let deleted = 0;
  let inserted = 0;
  for (const deletion of DELETE_DIFFERENT) deleted += (await tx.query(deletion, values))[0]?.count ?? 0;
  for (const insertion of INSERT_MISSING) inserted += (await tx.query(insertion, values))[0]?.count ?? 0;
  await tx.query(TAKE_FEED, values);
  return Math.max(deleted, inserted);
}

/** Throws if the counts of live rows do not match the feed; the transaction then rolls back. */
async function assertCounts(tx: Transaction, account: AccountRef, feed: Feed): Promise<void> {
  const [rows] = await tx.query(COUNT_RECORDS, [account.serverId, account.accountNumber]);
  const expected = [feed.orderCount, feed.positionCount, feed.openPositionCount, feed.dealCount].join(", ");
  const counts = rows === undefined ? [] : [rows.orders, rows.positions, rows.open_positions, rows.deals];
  if (counts.join(", ") === expected) return;
  throw new Error(
    `the numbers of orders, positions, open positions and deals should be ${expected} but are ${counts.join(", ")}`,
  );
}

async function clear(tx: Queryable, { serverId, accountNumber }: AccountRef): Promise<void> {
  for (const deletion of DELETE_STAGED) await tx.query(deletion, [serverId, accountNumber]);
}
