/**
 * Books events of the trading server into the history: one unit is one transaction of a handful of
 * statements, with the facts it makes. The account's row is locked first, as by everything that
 * ends an account or numbers its facts.
 */
import { column, type CommandStore, type WorkTransaction } from "@kapi/commands";
import { accountKey, isAnnouncedByAccount, type TradingEvent } from "@kapi/contracts";
import {
  type AccountName,
  type Booking,
  type BookingReport,
  type EventBook,
  type JudgedEvents,
  judgeEvents,
} from "@kapi/trading-server/event-feed";

import type { RecordFacts } from "../../domain/account-fact.ts";
import { type Feed, NEW_FEED } from "../../domain/history.ts";
import { type AccountStatusRow, LOCK_ACCOUNTS, NOTE_GAPS } from "./history-statements.ts";
import { type AccountRun, createHistoryWriter, type HistoryWriter } from "./history-writer.ts";

/**
 * Makes the book of this service's schema. Events of an account that is deleted are dropped. Those
 * of an account that is being deleted are booked: its deletion waits for the last one. Those of an
 * account that is not known here are kept as a gap, which is filled from the trading server's
 * history once the account is known. So are those that make facts before `account.created` is one,
 * which is an account's first.
 */
export function createHistoryBook(store: CommandStore, recordFacts: RecordFacts): EventBook {
  const writer = createHistoryWriter("live");
  return {
    book: (events) => store.transact((unit) => bookUnit(unit, events, writer, recordFacts)),
    noteGap: ({ serverId, accountNumber }, neededSequence) =>
      store.database
        .query(NOTE_GAPS, [column([serverId]), column([accountNumber]), column([neededSequence])])
        .then(() => undefined),
  };
}

interface AccountGap extends AccountName {
  readonly neededSequence: number;
}

async function bookUnit(
  unit: WorkTransaction,
  events: readonly TradingEvent[],
  writer: HistoryWriter,
  recordFacts: RecordFacts,
): Promise<BookingReport> {
  const byAccount = Map.groupBy(events, keyOf);
  const accounts = [...byAccount.values()].flatMap(([first]) => (first === undefined ? [] : [nameOf(first)]));
  const [rows, feeds] = await Promise.all([
    unit.query(LOCK_ACCOUNTS, [
      column(accounts.map(({ serverId }) => serverId)),
      column(accounts.map(({ accountNumber }) => accountNumber)),
    ]),
    // A statement of its own, after the locks: it sees what the unit that held them before has
    // committed.
    writer.feeds(unit, accounts),
  ]);
  const rowOf = new Map(rows.map((row) => [accountKey(row.server_id, row.account_number), row]));

  const bookingOf = new Map<TradingEvent, Booking>();
  const runs: AccountRun[] = [];
  const gaps: AccountGap[] = [];
  const unknown: AccountGap[] = [];
  for (const [index, [key, ofAccount]] of [...byAccount].entries()) {
    const account = accounts[index];
    if (account === undefined) continue;
    const feed = feeds.get(key);
    const row = rowOf.get(key);
    const { run, bookings } = judge(row, feed, ofAccount);
    for (const [at, event] of ofAccount.entries()) bookingOf.set(event, bookings[at] ?? "gap");
    if (run.length > 0) runs.push({ account, feed: feed ?? NEW_FEED, run });
    const last = ofAccount.findLast((event) => bookingOf.get(event) === "gap");
    const isWaiting = row === undefined || isNotCreated(row);
    if (last !== undefined) (isWaiting ? unknown : gaps).push({ ...account, neededSequence: last.sequence });
  }
  const booked = await writer.write(unit, runs);
  if (gaps.length + unknown.length > 0) noteGaps(unit, [...gaps, ...unknown]);
  await recordFacts(
    unit,
    booked.flatMap(({ facts }) => facts),
  );
  // The history would not help an account that is not known here or not created, so nobody is told
  // to ask for it now.
  return { bookings: events.map((event) => bookingOf.get(event) ?? "gap"), gaps };
}

function judge(
  row: AccountStatusRow | undefined,
  feed: Feed | undefined,
  events: readonly TradingEvent[],
): JudgedEvents {
  if (row === undefined) return { run: [], bookings: events.map((): Booking => "gap") };
  if (isEnded(row, feed)) return { run: [], bookings: events.map((): Booking => "dropped") };
  const judged = judgeEvents((feed ?? NEW_FEED).bookedSequence, events);
  return isNotCreated(row) ? beforeFacts(judged, events) : judged;
}

/**
 * Whether the account takes no events any more. 0.1.0 removes the feed of an account that it
 * deletes before the end.
 */
function isEnded({ status }: AccountStatusRow, feed: Feed | undefined): boolean {
  return status === "deleted" || (status === "deleting" && feed === undefined);
}

/**
 * Whether `account.created` is not a fact yet: its creation has not ended, or its deletion has not
 * settled that.
 */
function isNotCreated({ status, fact_sequence: factSequence }: AccountStatusRow): boolean {
  return factSequence === 0 && (status === "pending" || status === "deleting");
}

/**
 * The events before the first that makes a fact; the others are a gap. `account.created` is no fact
 * of the booking.
 */
function beforeFacts({ run, bookings }: JudgedEvents, events: readonly TradingEvent[]): JudgedEvents {
  const first = run.find((event) => event.type !== "account.created" && isAnnouncedByAccount(event));
  if (first === undefined) return { run, bookings };
  return {
    run: run.filter(({ sequence }) => sequence < first.sequence),
    bookings: bookings.map((booking, at) =>
      booking === "booked" && (events[at]?.sequence ?? 0) >= first.sequence ? "gap" : booking,
    ),
  };
}

function noteGaps(unit: WorkTransaction, gaps: readonly AccountGap[]): void {
  unit.execute(NOTE_GAPS, [
    column(gaps.map(({ serverId }) => serverId)),
    column(gaps.map(({ accountNumber }) => accountNumber)),
    column(gaps.map(({ neededSequence }) => neededSequence)),
  ]);
}

function keyOf({ serverId, accountNumber }: AccountName): string {
  return accountKey(serverId, accountNumber);
}

function nameOf({ serverId, accountNumber }: TradingEvent): AccountName {
  return { serverId, accountNumber };
}
