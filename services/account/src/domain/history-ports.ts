import type {
  Currency,
  Deal,
  ExportRecord,
  ListDealsQuery,
  ListOrdersQuery,
  ListPositionsQuery,
  OpenPosition,
  Order,
  Position,
  TradingEvent,
  AccountRef,
} from "@kapi/contracts";

import type { Feed } from "./history.ts";

/** Records of a list, newest first, and the total number of records that match. */
export interface RecordPage<T> {
  readonly records: readonly NumberedRecord<T>[];
  readonly total: number;
}

/** A record with its number among the account's records of its kind, oldest first from 1. */
export interface NumberedRecord<T> {
  readonly number: number;
  readonly record: T;
}

/** The rows to read: at most `limit` rows after the first `offset` rows. */
export interface PageRange {
  readonly offset: number;
  readonly limit: number;
  /** Only records with a lower number; null: all. */
  readonly below: number | null;
}

/** The filters of a list: its query without the fields that choose the page. */
type FilterOf<Query> = Omit<Query, "page" | "limit" | "cursor">;
export type OrderFilter = FilterOf<ListOrdersQuery>;
export type PositionFilter = FilterOf<ListPositionsQuery>;
export type DealFilter = FilterOf<ListDealsQuery>;

/** A filter of history records. Both times are inclusive, to the millisecond; null is unbounded. */
export interface HistoryRange {
  readonly from: string | null;
  readonly to: string | null;
  readonly limit: number;
}

/** The newest positions that were open at a time, newest first. */
export interface OpenPositions {
  /** When the account was created. */
  readonly createdAt: string;
  readonly currency: Currency;
  /** The number of all positions that were open, also of those beyond the limit. */
  readonly positionCount: number;
  readonly positions: readonly OpenPosition[];
}

/**
 * The booked history of accounts. A result is null if the account does not exist, or is deleting or
 * deleted.
 */
export interface HistoryReader {
  orders(account: AccountRef, filter: OrderFilter, range: PageRange): Promise<RecordPage<Order> | null>;
  positions(account: AccountRef, filter: PositionFilter, range: PageRange): Promise<RecordPage<Position> | null>;
  deals(account: AccountRef, filter: DealFilter, range: PageRange): Promise<RecordPage<Deal> | null>;
  /** The newest records of all three kinds, newest first. */
  newest(account: AccountRef, range: HistoryRange): Promise<ExportRecord[] | null>;
  /** The positions that were open at the end of the millisecond `at` (ISO 8601). */
  openAt(account: AccountRef, at: string, limit: number): Promise<OpenPositions | null>;
  /** Sequence of the last booked event; 0 if nothing is booked. */
  bookedSequence(account: AccountRef): Promise<number | null>;
  /** The {@link bookedSequence} of each account, in order. */
  bookedSequences(accounts: readonly AccountRef[]): Promise<(number | null)[]>;
}

/** Books events of an account without waiting for the topic. */
export interface FeedSource {
  /**
   * Sequence of the account's last event on the trading server; 0 if the trading server has no
   * events of the account. Rejects if the trading server gives no clear answer.
   */
  lastSequence(account: AccountRef): Promise<number>;
  /** Books the next page of events after `bookedSequence`. */
  bookNextPage(account: AccountRef, bookedSequence: number): Promise<void>;
  /** Books an event from a response, in the caller's span. */
  book(event: TradingEvent, traceparent: string | undefined): Promise<void>;
}

/** The outcome of replacing the live history with a rebuilt one. */
export type Replacement =
  /** Replaced; `different`: the number of rows that differed. */
  | { readonly kind: "replaced"; readonly feed: Feed; readonly different: number }
  /**
   * The staged history does not end at the last booked event, or nothing is booked and no `lostAt`
   * is given. The live history is unchanged.
   */
  | { readonly kind: "moved" }
  /** The account does not exist, or is deleting or deleted; its staged history is dropped. */
  | { readonly kind: "gone" };

/** Stages rebuilt histories until they replace live ones. A staged history survives a restart. */
export interface StagedHistory {
  /**
   * Accounts of a server with numbers above `after` and up to `through`, in order, without deleting
   * and deleted ones. `hasFeed`: events of the account are booked.
   */
  accounts(
    serverId: string,
    range: { readonly after: string; readonly through: string },
    limit: number,
  ): Promise<readonly { readonly accountNumber: string; readonly hasFeed: boolean }[]>;
  /**
   * The number of accounts of a server with numbers above `after`, without deleting and deleted
   * ones. `last`: the highest of these account numbers; `after` if there is none.
   */
  accountsLeft(serverId: string, after: string): Promise<{ readonly count: number; readonly last: string }>;
  /** Account number up to which an unfinished rebuild is done; null if there is no such rebuild. */
  doneThrough(serverId: string): Promise<string | null>;
  noteDone(serverId: string, accountNumber: string): Promise<void>;
  forgetDone(serverId: string): Promise<void>;
  /** Sequence of the last booked event; null if nothing is booked. */
  bookedSequence(account: AccountRef): Promise<number | null>;
  /** Sequence of the last staged event; 0 if nothing is staged. */
  stagedSequence(account: AccountRef): Promise<number>;
  /**
   * Stages the next events; returns the sequence of the last staged one, 0 if the account does not
   * exist, or is deleting or deleted.
   */
  stage(account: AccountRef, events: readonly TradingEvent[]): Promise<number>;
  /** Drops the staged history. */
  discard(account: AccountRef): Promise<void>;
  /**
   * Replaces the live history with the staged one, exactly up to the last booked event, so that no
   * event is lost or published twice. `ahead`: the events after the staged ones. Those up to the
   * last booked event are staged first, because events can be booked meanwhile; later ones are
   * ignored. `lostAt`: the sequence to use as the last booked one if nothing is booked; with null,
   * an account without booked events is not replaced. Rejects without a change if the number of
   * rows does not match the events.
   */
  replace(account: AccountRef, ahead: readonly TradingEvent[], lostAt: number | null): Promise<Replacement>;
}
