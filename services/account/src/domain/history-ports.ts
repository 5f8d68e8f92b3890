import type { Deal, ExportRecord, ListPositionsQuery, Order, Position, TradingEvent } from "@kapi/contracts";

import type { Feed } from "./history.ts";
import type { AccountName } from "./ports.ts";

/** Part of a list, newest first, and how many records the whole list has. */
export interface RecordPage<T> {
  readonly records: readonly T[];
  readonly total: number;
}

/** Which part: `offset` records are left out before it. */
export interface PageRange {
  readonly offset: number;
  readonly limit: number;
}

/** Which records of the history; both times are included, null is no bound. */
export interface HistoryRange {
  readonly from: string | null;
  readonly to: string | null;
  readonly limit: number;
}

/**
 * The booked history of accounts. Null, where it says so: there is no such account, or it is
 * deleted.
 */
export interface HistoryReader {
  orders(account: AccountName, range: PageRange): Promise<RecordPage<Order> | null>;
  positions(
    account: AccountName,
    status: ListPositionsQuery["status"],
    range: PageRange,
  ): Promise<RecordPage<Position> | null>;
  deals(account: AccountName, range: PageRange): Promise<RecordPage<Deal> | null>;
  /** The newest records of the three kinds together, newest first; null as above. */
  newest(account: AccountName, range: HistoryRange): Promise<ExportRecord[] | null>;
  /** Sequence of the account's last booked event, 0 where nothing is booked; null as above. */
  bookedSequence(account: AccountName): Promise<number | null>;
  /** The same of many accounts, in order. */
  bookedSequences(accounts: readonly AccountName[]): Promise<(number | null)[]>;
}

/**
 * Booking what the trading server has told of one account and the topic has perhaps not brought
 * yet.
 */
export interface FeedSource {
  /**
   * Sequence of the account's last event on the trading server; 0 where it has none. Rejects
   * without a clear answer.
   */
  lastSequence(account: AccountName): Promise<number>;
  /** Books the next page of events after `bookedSequence`. */
  bookNextPage(account: AccountName, bookedSequence: number): Promise<void>;
  /** Books an event that an answer brought, under the caller's span. */
  book(event: TradingEvent, traceparent: string | undefined): Promise<void>;
}

/** How a rebuilt history took the place of what readers see. */
export type Replacement =
  /** It is in place; `different` rows were not as they should have been. */
  | { readonly kind: "replaced"; readonly feed: Feed; readonly different: number }
  /** The account was booked further, or begun anew, than what was gathered; nothing was changed. */
  | { readonly kind: "moved" }
  /** The account is deleted. */
  | { readonly kind: "gone" };

/**
 * Where a rebuild gathers histories until they take the place of what readers see. It stays over a
 * restart.
 */
export interface StagedHistory {
  /**
   * Accounts of a server with numbers above `after`, in order; `hasFeed`: something of it is
   * booked.
   */
  accounts(
    serverId: string,
    after: string,
    limit: number,
  ): Promise<readonly { readonly accountNumber: string; readonly hasFeed: boolean }[]>;
  countAccounts(serverId: string): Promise<number>;
  /**
   * The account number up to which an unfinished rebuild of the server came; null where there is
   * none.
   */
  doneThrough(serverId: string): Promise<string | null>;
  noteDone(serverId: string, accountNumber: string): Promise<void>;
  forgetDone(serverId: string): Promise<void>;
  /** Sequence of the last event that readers see; null where nothing is booked. */
  bookedSequence(account: AccountName): Promise<number | null>;
  /** Sequence of the last event that is gathered; 0 for none. */
  stagedSequence(account: AccountName): Promise<number>;
  /**
   * Gathers the next events; returns the sequence of the last one gathered, 0 where the account is
   * deleted.
   */
  stage(account: AccountName, events: readonly TradingEvent[]): Promise<number>;
  /** Forgets what is gathered. */
  discard(account: AccountName): Promise<void>;
  /**
   * Puts what is gathered in place, as of the very event up to which the account is booked at that
   * moment, so that no event is left out or told twice. `ahead`: the events after what is gathered.
   * `lostAt`: the event up to which an account counts as booked of which nothing is booked; null:
   * there must be something. Rejects, and changes nothing, where the rows are not as many as the
   * events made.
   */
  replace(account: AccountName, ahead: readonly TradingEvent[], lostAt: number | null): Promise<Replacement>;
}
