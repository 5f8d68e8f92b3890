/**
 * The digests of transactions. For the digests of a day, only transactions after the settled
 * sequence of the day before are read. One statement reads ranges of sequences of many accounts.
 */
import { column } from "@kapi/commands";
import { daysBetween, type DigestTable, nextDay, type ServerProgress, utcDay } from "@kapi/digests";
import { RecordHashes, transactionText } from "@kapi/digests/hash";
import { type Clock, toIso } from "@kapi/kernel";
import type { Database, Transaction } from "@kapi/postgres";

import { type AccountDay, AccountDays } from "../../domain/account-days.ts";
import {
  COUNT_DIGESTS,
  DAYS_WITH_DIGEST,
  DELETE_DIGESTS,
  DIGEST_ACCOUNT,
  type DigestAccountRow,
  NEXT_ACCOUNTS,
  TRANSACTIONS_BETWEEN,
  WRITE_DIGESTS,
} from "./digest-statements.ts";
import { fromRow } from "./transaction-row.ts";

/** Maximum number of accounts in a batch, which is one database transaction. */
const BATCH_ACCOUNTS = 500;
/**
 * Maximum number of unsettled transactions of the accounts in a batch, so that the batch stays
 * short. A batch of one account may have more.
 */
const BATCH_TRANSACTIONS = 20_000;
/** Maximum number of transactions per read. Their hashing delays other work of the process. */
const READ_TRANSACTIONS = 1_000;
/** Maximum number of digests per deletion. */
const DELETE_BATCH = 5_000;

/** A digest to write. */
interface MadeDigest extends AccountDay {
  readonly accountNumber: string;
  readonly currency: string;
  readonly hash: string;
  /** The revision that the digest gets if it is new. */
  readonly revision: number;
}

/** The digests of transactions in PostgreSQL. `clock`: the database's time. */
export function createDigestTable(database: Database, clock: Clock): DigestTable {
  return {
    makeNext: async (tx, serverId, day, afterAccount) => {
      const rows = await tx.query(NEXT_ACCOUNTS, [serverId, day, afterAccount, BATCH_ACCOUNTS]);
      const accounts = firstBatch(rows);
      const last = accounts.at(-1);
      if (last === undefined) return null;
      const days = await readDays(tx, serverId, accounts, [day]);
      await write(tx, serverId, toIso(clock.nowMs()), existing(accounts, days, 1));
      return last.account_number;
    },
    revise: async (tx, progress, accountNumber, fromDay) => {
      const { serverId } = progress;
      const accounts = await tx.query(DIGEST_ACCOUNT, [serverId, fromDay, accountNumber]);
      const range = daysBetween(fromDay, nextDay(progress));
      const made = existing(accounts, await readDays(tx, serverId, accounts, range), 2);
      const changed = await withoutUnmadeDay(tx, progress, accountNumber, made);
      await write(tx, serverId, toIso(clock.nowMs()), changed);
    },
    deleteBefore: async (serverId, firstDay) => {
      const [row] = await database.query(DELETE_DIGESTS, [serverId, firstDay, DELETE_BATCH]);
      return row !== undefined && row.deleted > 0;
    },
  };
}

/** The accounts of a batch: at least one, unless none is left. */
function firstBatch(rows: readonly DigestAccountRow[]): readonly DigestAccountRow[] {
  let transactions = 0;
  const end = rows.findIndex((row) => {
    transactions += unsettled(row);
    return transactions > BATCH_TRANSACTIONS;
  });
  return end < 0 ? rows : rows.slice(0, Math.max(end, 1));
}

function unsettled({ transaction_sequence: last, settled_sequence: settled }: DigestAccountRow): number {
  return last - settled;
}

interface ComputedDays {
  readonly days: readonly AccountDay[];
  readonly hashOf: (day: string) => string;
}

/** The days of each account, by account number. */
async function readDays(
  tx: Transaction,
  serverId: string,
  accounts: readonly DigestAccountRow[],
  range: readonly string[],
): Promise<ReadonlyMap<string, ComputedDays>> {
  const open = new Map(
    accounts.map((account) => {
      const { balance_minor: balanceMinor, transaction_sequence: lastSequence } = account;
      const hashes = new Map(range.map((day) => [day, new RecordHashes()]));
      return [
        account.account_number,
        { account, days: new AccountDays({ days: range, balanceMinor, lastSequence }), hashes },
      ];
    }),
  );
  for (const windows of windowsOf(accounts)) {
    const rows = await tx.query(TRANSACTIONS_BETWEEN, [
      serverId,
      column(windows.map(({ accountNumber }) => accountNumber)),
      column(windows.map(({ after }) => after)),
      column(windows.map(({ through }) => through)),
    ]);
    for (const row of rows) {
      const of = open.get(row.account_number);
      if (of === undefined) continue;
      const day = utcDay(row.recorded_at);
      of.days.add({ day, amountMinor: row.amount_minor, sequence: row.sequence });
      of.hashes.get(day)?.add(transactionText(fromRow({ ...row, currency: of.account.currency })));
    }
  }
  return new Map(
    Array.from(open, ([accountNumber, { days, hashes }]) => [
      accountNumber,
      { days: days.result(), hashOf: (day) => (hashes.get(day) ?? new RecordHashes()).digest() },
    ]),
  );
}

interface Window {
  readonly accountNumber: string;
  /** Exclusive. */
  readonly after: number;
  /** Inclusive. */
  readonly through: number;
}

/** The unsettled transactions of accounts, in reads of at most {@link READ_TRANSACTIONS}. */
function* windowsOf(accounts: readonly DigestAccountRow[]): Generator<readonly Window[]> {
  let windows: Window[] = [];
  let free = READ_TRANSACTIONS;
  for (const account of accounts) {
    const { account_number: accountNumber, transaction_sequence: last } = account;
    for (let after = account.settled_sequence; after < last;) {
      const through = Math.min(last, after + free);
      windows.push({ accountNumber, after, through });
      free -= through - after;
      after = through;
      if (free > 0) continue;
      yield windows;
      windows = [];
      free = READ_TRANSACTIONS;
    }
  }
  if (windows.length > 0) yield windows;
}

/** The digests of the days on which an account existed. */
function existing(
  accounts: readonly DigestAccountRow[],
  computed: ReadonlyMap<string, ComputedDays>,
  revision: number,
): MadeDigest[] {
  return accounts.flatMap((account) => {
    const { account_number: accountNumber, currency } = account;
    const { days, hashOf } = computed.get(accountNumber) ?? { days: [], hashOf: () => "" };
    return days
      .filter((day) => existedOn(account, day))
      .map((day) => Object.assign({ accountNumber, currency, hash: hashOf(day.day), revision }, day));
  });
}

/**
 * Whether the account existed on the day: from the day of its opening, or of its first transaction
 * if that day is earlier, to the day of its deletion. An account that an earlier release booked has
 * no stored time of opening: it counts as existing on every day up to its deletion.
 */
function existedOn(account: DigestAccountRow, { day, hasBegun }: AccountDay): boolean {
  const { opened_at: openedAt, deleted_at: deletedAt, settled_sequence: settled } = account;
  if (deletedAt !== null && utcDay(deletedAt) < day) return false;
  return openedAt === null || utcDay(openedAt) <= day || settled > 0 || hasBegun;
}

/** Leaves out the day that is being made, unless the account already has a digest of that day. */
async function withoutUnmadeDay(
  tx: Transaction,
  progress: ServerProgress,
  accountNumber: string,
  made: readonly MadeDigest[],
): Promise<readonly MadeDigest[]> {
  const days = await tx.query(DAYS_WITH_DIGEST, [progress.serverId, accountNumber, [nextDay(progress)]]);
  return days.length > 0 ? made : made.filter(({ day }) => day <= progress.madeThrough);
}

async function write(tx: Transaction, serverId: string, now: string, made: readonly MadeDigest[]): Promise<void> {
  if (made.length === 0) return;
  const written = await tx.query(WRITE_DIGESTS, [
    serverId,
    now,
    column(made.map(({ day }) => day)),
    column(made.map(({ accountNumber }) => accountNumber)),
    column(made.map(({ currency }) => currency)),
    column(made.map(({ count }) => count)),
    column(made.map(({ amountMinor }) => amountMinor)),
    column(made.map(({ hash }) => hash)),
    column(made.map(({ closingBalanceMinor }) => closingBalanceMinor)),
    column(made.map(({ settledSequence }) => settledSequence)),
    column(made.map(({ revision }) => revision)),
  ]);
  const added = Map.groupBy(
    written.filter(({ is_new: isNew }) => isNew),
    ({ day }) => day,
  );
  if (added.size === 0) return;
  tx.execute(COUNT_DIGESTS, [
    serverId,
    column([...added.keys()]),
    column(Array.from(added.values(), ({ length }) => length)),
  ]);
}
