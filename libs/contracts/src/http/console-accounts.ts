/**
 * The console's list of the accounts of a server. Sorts and filters by a value use the account's
 * last stored minute. The list shows the values of this minute and of the newest live sample.
 */
import { minorFromAmount } from "@kapi/kernel";
import { z } from "zod";

import { DateTime } from "../values.ts";
import { AccountStatus, type AccountStatus as Status, TradingAccount } from "./accounts.ts";
import { decodeCursor, MAX_CURSOR_CHARACTERS } from "./cursor.ts";
import { Limit, Page, Pagination } from "./pagination.ts";

/** The values that accounts are sorted by. */
export const ACCOUNT_SORTS = [
  "created",
  "number",
  "balance",
  "equity",
  "profit",
  "dayChange",
  "dailyDrawdown",
  "totalDrawdown",
  "marginLevel",
] as const;
export const AccountSort = z.enum(ACCOUNT_SORTS);
export type AccountSort = z.infer<typeof AccountSort>;
/** A value to sort by; with a minus sign the highest value first. */
export type AccountOrder = AccountSort | `-${AccountSort}`;
export const ACCOUNT_ORDERS: readonly AccountOrder[] = ACCOUNT_SORTS.flatMap((sort) => [sort, `-${sort}` as const]);
export const AccountOrder = z.enum(ACCOUNT_ORDERS as [AccountOrder, ...AccountOrder[]]);
const NEWEST_FIRST: AccountOrder = "-created";

/** States of accounts that were never opened, or are being deleted: without stored values. */
export const STATUSES_WITHOUT_VALUES: readonly Status[] = ["pending", "failed", "deleting"];
/** Default number of accounts on a page of the list. */
const DEFAULT_ACCOUNTS = 50;
const MAX_PERCENT = 1_000_000_000;
/** Maximum of a filter by money, in units of currency: above every balance. */
const MAX_MONEY = 1_000_000_000_000;

const DECIMAL = /^-?\d{1,13}(\.\d{1,4})?$/;
const decimal = (maximum: number) =>
  z
    .string()
    .regex(DECIMAL, "must be a number, such as 1000 or 4.5")
    .transform(Number)
    .pipe(z.number().min(-maximum).max(maximum))
    .optional();
const money = () =>
  decimal(MAX_MONEY).refine((amount) => amount === undefined || minorFromAmount(amount) !== null, {
    error: "must have at most two decimals",
  });
const percent = () => decimal(MAX_PERCENT);

/** Filters of the list. Ranges of values include both ends; `createdTo` is exclusive. */
export const ACCOUNT_FILTERS = {
  status: AccountStatus.optional(),
  search: z.string().min(1).max(100).optional(),
  createdFrom: DateTime.optional(),
  createdTo: DateTime.optional(),
  balanceMin: money(),
  balanceMax: money(),
  equityMin: money(),
  equityMax: money(),
  dailyDrawdownMin: percent(),
  dailyDrawdownMax: percent(),
  totalDrawdownMin: percent(),
  totalDrawdownMax: percent(),
  marginLevelMin: percent(),
  marginLevelMax: percent(),
};

const FilterQuery = z.object(ACCOUNT_FILTERS);
export type AccountFilters = z.infer<typeof FilterQuery>;

const Bound = z.number().optional();
/**
 * The filters of the list as the console sends them to the metrics service. Money in units of
 * currency.
 */
export const AccountFilterValues = z.object({
  status: AccountStatus.optional(),
  search: z.string().min(1).max(100).optional(),
  createdFrom: z.iso.datetime().optional(),
  createdTo: z.iso.datetime().optional(),
  balanceMin: Bound,
  balanceMax: Bound,
  equityMin: Bound,
  equityMax: Bound,
  dailyDrawdownMin: Bound,
  dailyDrawdownMax: Bound,
  totalDrawdownMin: Bound,
  totalDrawdownMax: Bound,
  marginLevelMin: Bound,
  marginLevelMax: Bound,
}) satisfies z.ZodType<AccountFilters>;

const VALUE_FILTERS = (Object.keys(ACCOUNT_FILTERS) as (keyof AccountFilters)[]).filter(
  (name) => name !== "status" && name !== "search",
);

/** Whether a list has filters other than `status` and `search`: ranges of values or of times. */
export function hasValueFilters(filters: AccountFilters): boolean {
  return VALUE_FILTERS.some((name) => filters[name] !== undefined);
}

interface SortedQuery extends AccountFilters {
  readonly sort: AccountOrder;
}

/**
 * Whether the newest accounts come first, without filters other than `status` and `search`. Only
 * such a list has accounts that were never opened, or are being deleted.
 */
export function isNewestFirst({ sort, ...filters }: SortedQuery): boolean {
  return sort === NEWEST_FIRST && !hasValueFilters(filters);
}

const withValues = {
  path: ["status"],
  error:
    "must be active, close_only, disabled or archived in a list with a sort other than -created, or with a range of values or times: accounts in other states have no stored values",
};
const hasValues = (query: SortedQuery): boolean =>
  query.status === undefined || !STATUSES_WITHOUT_VALUES.includes(query.status) || isNewestFirst(query);

function hasOwnCursor({ cursor, ...query }: SortedQuery & { readonly cursor?: string | undefined }): boolean {
  if (cursor === undefined) return true;
  if (isNewestFirst(query)) return decodeCursor("accounts", cursor) !== null;
  return decodeCursor("rankedAccounts", cursor)?.after[0] === query.sort;
}

/**
 * Query of GET /servers/:serverId/accounts. A cursor belongs to its sort. A `page` above 1 is
 * accepted only if {@link isNewestFirst} holds.
 */
export const ListConsoleAccountsQuery = z
  .object({
    ...ACCOUNT_FILTERS,
    sort: AccountOrder.default(NEWEST_FIRST),
    limit: Limit.default(DEFAULT_ACCOUNTS),
    page: Page.optional(),
    cursor: z.string().max(MAX_CURSOR_CHARACTERS).optional(),
  })
  .refine(hasValues, withValues)
  .refine(hasOwnCursor, { path: ["cursor"], error: "must be nextCursor of an earlier page of this list and sort" })
  .overwrite((query) => (query.cursor === undefined ? query : { ...query, page: undefined }));
export type ListConsoleAccountsQuery = z.infer<typeof ListConsoleAccountsQuery>;

/** Query of GET /servers/:serverId/accounts.csv: the filters of the list. */
export const ExportConsoleAccountsQuery = z.object(ACCOUNT_FILTERS);
export type ExportConsoleAccountsQuery = z.infer<typeof ExportConsoleAccountsQuery>;

/** The values of an account at the end of its last stored minute. Money in units of currency. */
export const StoredAccountValues = z.object({
  equity: z.number(),
  /** Null if an earlier release, which did not store balances, stored the minute. */
  balance: z.number().nullable(),
  /** Equity at the start of the day (UTC). */
  dayStartEquity: z.number(),
  /** `equity` minus `dayStartEquity`; deposits and withdrawals of the day are in it. */
  dayChange: z.number(),
  /** Percent (decisions, 9). */
  dailyDrawdown: z.number(),
  totalDrawdown: z.number(),
  /** The stored minute; null if an earlier release stored the values. */
  measuredAt: z.iso.datetime().nullable(),
});
export type StoredAccountValues = z.infer<typeof StoredAccountValues>;

/** An account of the list: with its newest live sample, and its stored values. */
export const ListedAccount = TradingAccount.extend({ stored: StoredAccountValues.nullable() });
export type ListedAccount = z.infer<typeof ListedAccount>;

/** Answer of GET /servers/:serverId/accounts. */
export const ConsoleAccountsAnswer = z.object({
  accounts: z.array(ListedAccount),
  pagination: Pagination,
  /**
   * The newest stored minute among the accounts of the page; null if {@link isNewestFirst} holds,
   * or if no account of the page has a stored minute.
   */
  orderedAt: z.iso.datetime().nullable(),
});
export type ConsoleAccountsAnswer = z.infer<typeof ConsoleAccountsAnswer>;

/** Header of a CSV answer: the number of rows, as counted before the first one was read. */
export const CSV_TOTAL_HEADER = "x-total-rows";

/** The ranges of an equity history that ends now: length, and maximum number of points. */
export const EQUITY_RANGES = {
  hour: { minutes: 60, points: 60 },
  day: { minutes: 1_440, points: 480 },
  month: { minutes: 43_200, points: 720 },
} as const;
export type EquityRange = keyof typeof EQUITY_RANGES;
/** Maximum number of points of an equity history. */
export const MAX_EQUITY_POINTS = 720;

/** Query of GET /servers/:serverId/accounts/:accountNumber/equity-history. */
export const EquityHistoryQuery = z.object({ range: z.enum(["hour", "day", "month"]).default("hour") });

/** The stored minutes of one part of a range. Money in units of currency. */
export const EquityPoint = z.object({
  /** Start of the first stored minute, and end of the last one. */
  startsAt: z.iso.datetime(),
  endsAt: z.iso.datetime(),
  /** At the end of the last stored minute. */
  equity: z.number(),
  balance: z.number(),
  lowest: z.number(),
  highest: z.number(),
  /**
   * The deepest drawdown that ends in this part, at the equity `to`. `from` is the highest equity
   * before `to`, also in earlier parts and in `before` of the history. Without a drawdown, `from`
   * and `to` are equal.
   */
  drawdown: z.object({ from: z.number(), to: z.number() }),
});
export type EquityPoint = z.infer<typeof EquityPoint>;

/**
 * Equity of an account over time, from stored minutes. An account has a stored minute only if its
 * values changed in the minute: between two points the equity is that of the earlier point.
 */
export const EquityHistory = z.object({
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  /** The last stored minute before the range; null: none is kept. */
  before: z.object({ measuredAt: z.iso.datetime(), equity: z.number(), balance: z.number() }).nullable(),
  /** Oldest first. */
  points: z.array(EquityPoint),
});
export type EquityHistory = z.infer<typeof EquityHistory>;

/** Answer of GET /servers/:serverId/accounts/:accountNumber/equity-history. */
export const ConsoleEquityHistory = EquityHistory.extend({
  /** The time of the answer: the clock of a browser may be wrong. */
  now: z.iso.datetime(),
});
export type ConsoleEquityHistory = z.infer<typeof ConsoleEquityHistory>;
