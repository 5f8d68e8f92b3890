import type { Deal, ExportRecord, ListPositionsQuery, Order, Position } from "@kapi/contracts";

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

/** The booked history of accounts. Null, where it says so: there is no such account, or it is deleted. */
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
}

/** Booking what the trading server has told of one account and the topic has perhaps not brought yet. */
export interface FeedSource {
  /** Sequence of the account's last event on the trading server; 0 where it has none. Rejects without a clear answer. */
  lastSequence(account: AccountName): Promise<number>;
  /** Books the next page of events after `bookedSequence`. */
  bookNextPage(account: AccountName, bookedSequence: number): Promise<void>;
}
