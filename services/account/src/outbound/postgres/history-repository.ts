/**
 * Books trading events into the history. One unit is one transaction with a few statements,
 * including the account events. The account's row is locked first, as by every transaction that
 * numbers account events or completes a deletion.
 */
import { column, type CommandStore, type WorkTransaction } from "@kapi/commands";
import { accountKey, isAnnouncedByAccount, type TradingEvent, type AccountRef } from "@kapi/contracts";
import { type LateRecord, noteLateRecords, utcDay } from "@kapi/digests";
import type { Clock } from "@kapi/kernel";
import {
  type Booking,
  type BookingReport,
  type EventRepository,
  type ClassifiedEvents,
  classifyEvents,
} from "@kapi/trading-server/event-feed";

import type { RecordEvents } from "../../domain/account-event.ts";
import { type Feed, NEW_FEED } from "../../domain/history.ts";
import { type AccountStatusRow, LOCK_ACCOUNTS, NOTE_GAPS } from "./history-statements.ts";
import { type AccountRun, createHistoryWriter, type HistoryWriter } from "./history-writer.ts";

/**
 * Events of a deleted account are dropped. Events of a deleting account are booked: its deletion
 * waits for the last one. Events of an unknown account become a gap: they are not stored, and are
 * read from the trading server after the account is known. Until the account event
 * `account.created` is published, the first trading event that makes an account event, and all
 * later events, become a gap too.
 */
export function createHistoryRepository(
  store: CommandStore,
  recordEvents: RecordEvents,
  clock: Clock,
): EventRepository {
  const writer = createHistoryWriter("live");
  return {
    book: (events) => store.transact((unit) => bookUnit(unit, events, writer, recordEvents, utcDay(clock.nowMs()))),
    noteGap: ({ serverId, accountNumber }, neededSequence) =>
      store.database
        .query(NOTE_GAPS, [column([serverId]), column([accountNumber]), column([neededSequence])])
        .then(() => undefined),
  };
}

interface AccountGap extends AccountRef {
  readonly neededSequence: number;
}

async function bookUnit(
  unit: WorkTransaction,
  events: readonly TradingEvent[],
  writer: HistoryWriter,
  recordEvents: RecordEvents,
  today: string,
): Promise<BookingReport> {
  const byAccount = Map.groupBy(events, keyOf);
  const accounts = [...byAccount.values()].flatMap(([first]) => (first === undefined ? [] : [nameOf(first)]));
  const [rows, feeds] = await Promise.all([
    unit.query(LOCK_ACCOUNTS, [
      column(accounts.map(({ serverId }) => serverId)),
      column(accounts.map(({ accountNumber }) => accountNumber)),
    ]),
    // A separate statement after the locks: it sees the commits of the previous lock holder.
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
    const { run, bookings } = acceptEvents(row, feed, ofAccount);
    for (const [at, event] of ofAccount.entries()) bookingOf.set(event, bookings[at] ?? "gap");
    if (run.length > 0) runs.push({ account, feed: feed ?? NEW_FEED, run });
    const last = ofAccount.findLast((event) => bookingOf.get(event) === "gap");
    const isWaiting = row === undefined || isNotCreated(row);
    if (last !== undefined) (isWaiting ? unknown : gaps).push({ ...account, neededSequence: last.sequence });
  }
  const booked = await writer.write(unit, runs);
  noteLateRecords(
    unit,
    runs.flatMap(({ run }) => lateDeals(run, today)),
  );
  if (gaps.length + unknown.length > 0) noteGaps(unit, [...gaps, ...unknown]);
  await recordEvents(
    unit,
    booked.flatMap(({ accountEvents }) => accountEvents),
  );
  // The gap of an account that is unknown, or whose `account.created` is not published, cannot be
  // filled yet. So this gap is not reported.
  return { bookings: events.map((event) => bookingOf.get(event) ?? "gap"), gaps };
}

/** The deals before `today`: they change a digest of their day (decisions, 21.4). */
function lateDeals(run: readonly TradingEvent[], today: string): LateRecord[] {
  return run.flatMap((event) => {
    if (!("deal" in event)) return [];
    const { serverId, accountNumber, deal } = event;
    const day = utcDay(deal.executedAt);
    return day < today ? [{ serverId, accountNumber, day }] : [];
  });
}

function acceptEvents(
  row: AccountStatusRow | undefined,
  feed: Feed | undefined,
  events: readonly TradingEvent[],
): ClassifiedEvents {
  if (row === undefined) return { run: [], bookings: events.map((): Booking => "gap") };
  if (isEnded(row, feed)) return { run: [], bookings: events.map((): Booking => "dropped") };
  const accepted = classifyEvents((feed ?? NEW_FEED).bookedSequence, events);
  return isNotCreated(row) ? beforeAccountEvents(accepted, events) : accepted;
}

/**
 * Whether events of the account are dropped. A deleting account has no row in `feeds` only if
 * release 0.1.0 removed that row.
 */
function isEnded({ status }: AccountStatusRow, feed: Feed | undefined): boolean {
  return status === "deleted" || (status === "deleting" && feed === undefined);
}

/**
 * Whether the account event `account.created` is not published yet: the creation is running, or the
 * deletion has not settled the creation yet.
 */
function isNotCreated({ status, fact_sequence: eventSequence }: AccountStatusRow): boolean {
  return eventSequence === 0 && (status === "pending" || status === "deleting");
}

/**
 * Accepts the events before the first event that makes an account event. That event and all later
 * events are a gap. The trading event `account.created` is accepted, because booking makes no
 * account event of it.
 */
function beforeAccountEvents({ run, bookings }: ClassifiedEvents, events: readonly TradingEvent[]): ClassifiedEvents {
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

function keyOf({ serverId, accountNumber }: AccountRef): string {
  return accountKey(serverId, accountNumber);
}

function nameOf({ serverId, accountNumber }: TradingEvent): AccountRef {
  return { serverId, accountNumber };
}
