/**
 * The digests of deals. The index of deals by time finds the deals of a day, for many accounts at
 * once.
 */
import type { AccountRef } from "@kapi/contracts";
import { column } from "@kapi/commands";
import { addDays, daysBetween, type DigestTable, lockServer, nextDay, takeLateRecordsOf, utcDay } from "@kapi/digests";
import { dealText, RecordHashes } from "@kapi/digests/hash";
import { type Clock, toIso } from "@kapi/kernel";
import type { Database, Transaction } from "@kapi/postgres";

import {
  COUNT_DEALS,
  DEALS_BETWEEN,
  DELETE_DIGESTS,
  FIND_ACCOUNT,
  MARK_DIGESTED,
  NEXT_ACCOUNTS,
  WRITE_DIGESTS,
} from "./digest-statements.ts";
import { dealFromRow, type DealRow } from "./history-rows.ts";

/** Maximum number of accounts per transaction. */
const BATCH_ACCOUNTS = 500;
/** Maximum number of deals per read: other work of the process waits while they are hashed. */
const READ_DEALS = 1_000;
/** Maximum number of digests per deletion. */
const DELETE_BATCH = 5_000;

/** The deals of an account on one day. Money in minor units. */
interface DealDay {
  readonly hashes: RecordHashes;
  commissionMinor: number;
  realizedPnlMinor: number;
  swapMinor: number;
}

/** Days in order without a gap. */
interface Range {
  readonly from: string;
  readonly through: string;
}

interface DealDigestTable extends DigestTable {
  /**
   * Makes the digests of an account that is being deleted, up to and including today, before its
   * deals are deleted. Idempotent.
   */
  makeLast(account: AccountRef): Promise<void>;
}

/** The digests of deals in PostgreSQL. `clock`: the database's time. */
export function createDigestTable(database: Database, clock: Clock): DealDigestTable {
  const digest = async (
    tx: Transaction,
    serverId: string,
    accountNumbers: readonly string[],
    range: Range,
    madeThrough: string,
  ): Promise<void> => {
    const made = await readDays(tx, serverId, accountNumbers, range);
    write(tx, serverId, toIso(clock.nowMs()), made, madeThrough);
  };
  return {
    makeNext: async (tx, serverId, day, afterAccount) => {
      const rows = await tx.query(NEXT_ACCOUNTS, [serverId, afterAccount, BATCH_ACCOUNTS]);
      const accountNumbers = rows.map((row) => row.account_number);
      const last = accountNumbers.at(-1);
      if (last === undefined) return null;
      await digest(tx, serverId, accountNumbers, { from: day, through: day }, addDays(day, -1));
      return last;
    },
    revise: async (tx, progress, accountNumber, fromDay) => {
      const { serverId, madeThrough, afterAccount } = progress;
      const found = await tx.query(FIND_ACCOUNT, [serverId, accountNumber]);
      if (found.length === 0) return;
      const through = accountNumber <= afterAccount ? nextDay(progress) : madeThrough;
      await digest(tx, serverId, [accountNumber], { from: fromDay, through }, madeThrough);
    },
    deleteBefore: async (serverId, firstDay) => {
      const [row] = await database.query(DELETE_DIGESTS, [serverId, firstDay, DELETE_BATCH]);
      return row !== undefined && row.deleted > 0;
    },
    makeLast: ({ serverId, accountNumber }) =>
      database.transaction(async (tx) => {
        const today = utcDay(clock.nowMs());
        const progress = await lockServer(tx, serverId, addDays(today, -1));
        const late = await takeLateRecordsOf(tx, serverId, accountNumber);
        const found = await tx.query(FIND_ACCOUNT, [serverId, accountNumber]);
        if (found.length === 0) return;
        const next = nextDay(progress);
        const from = late === null || late > next ? next : late < progress.firstDay ? progress.firstDay : late;
        await digest(tx, serverId, [accountNumber], { from, through: today }, progress.madeThrough);
        tx.execute(MARK_DIGESTED, [serverId, accountNumber]);
      }),
  };
}

type DaysOfAccount = ReadonlyMap<string, DealDay>;

/** The deals of each account on every day of the range, by account number and day. */
async function readDays(
  tx: Transaction,
  serverId: string,
  accountNumbers: readonly string[],
  { from, through }: Range,
): Promise<ReadonlyMap<string, DaysOfAccount>> {
  const days = daysBetween(from, through);
  const start = `${from}T00:00:00Z`;
  const end = `${addDays(through, 1)}T00:00:00Z`;
  const counts = await tx.query(COUNT_DEALS, [serverId, column(accountNumbers), start, end]);
  const computed = new Map(accountNumbers.map((accountNumber) => [accountNumber, emptyDays(days)]));
  for (const chunk of chunksOf(counts)) {
    // The position before the first deal: a deal at `start` has a number above 0.
    let lastRead = chunk.map((accountNumber) => ({ accountNumber, at: start, n: 0 }));
    while (lastRead.length > 0) {
      const rows = await tx.query(DEALS_BETWEEN, [
        serverId,
        column(lastRead.map(({ accountNumber }) => accountNumber)),
        column(lastRead.map(({ at }) => at)),
        column(lastRead.map(({ n }) => n)),
        end,
        READ_DEALS,
      ]);
      for (const row of rows) add(computed.get(row.account_number)?.get(utcDay(row.executed_at)), row);
      const read = Map.groupBy(rows, (row) => row.account_number);
      lastRead = Array.from(read).flatMap(([accountNumber, ofAccount]) => {
        const last = ofAccount.at(-1);
        if (last === undefined || ofAccount.length < READ_DEALS) return [];
        return [{ accountNumber, at: last.executed_at, n: last.n }];
      });
    }
  }
  return computed;
}

function emptyDays(days: readonly string[]): DaysOfAccount {
  return new Map(
    days.map((day) => [day, { hashes: new RecordHashes(), commissionMinor: 0, realizedPnlMinor: 0, swapMinor: 0 }]),
  );
}

/** Groups accounts, so that a group has at most {@link READ_DEALS} deals, or one account. */
function chunksOf(counts: readonly { readonly account_number: string; readonly deals: number }[]): string[][] {
  const chunks: string[][] = [];
  let free = 0;
  for (const { account_number: accountNumber, deals } of counts) {
    if (deals > free || chunks.length === 0) {
      chunks.push([]);
      free = READ_DEALS;
    }
    chunks.at(-1)?.push(accountNumber);
    free -= deals;
  }
  return chunks;
}

function add(day: DealDay | undefined, row: DealRow): void {
  if (day === undefined) return;
  day.hashes.add(dealText(dealFromRow(row)));
  day.commissionMinor += row.commission_minor;
  day.realizedPnlMinor += row.realized_pnl_minor;
  day.swapMinor += row.swap_minor;
}

function write(
  tx: Transaction,
  serverId: string,
  now: string,
  made: ReadonlyMap<string, DaysOfAccount>,
  madeThrough: string,
): void {
  const digests = Array.from(made).flatMap(([accountNumber, days]) =>
    Array.from(days, ([day, sums]) => ({ accountNumber, day, sums })),
  );
  if (digests.length === 0) return;
  tx.execute(WRITE_DIGESTS, [
    serverId,
    now,
    column(digests.map(({ day }) => day)),
    column(digests.map(({ accountNumber }) => accountNumber)),
    column(digests.map(({ sums }) => sums.hashes.count)),
    column(digests.map(({ sums }) => sums.commissionMinor)),
    column(digests.map(({ sums }) => sums.realizedPnlMinor)),
    column(digests.map(({ sums }) => sums.swapMinor)),
    column(digests.map(({ sums }) => sums.hashes.digest())),
    // An account without deals on a day has no digest, which counts as revision 1. If the digests
    // of the day are already made, a new digest is therefore revision 2.
    column(digests.map(({ day }) => (day <= madeThrough ? 2 : 1))),
  ]);
}
