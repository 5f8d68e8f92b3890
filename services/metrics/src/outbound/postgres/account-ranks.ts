import {
  type AccountFilters,
  ACCOUNT_ORDERS,
  type AccountOrder,
  type AccountSort,
  type StoredAccountValues,
} from "@kapi/contracts";
import { amountFromMinor, assertDefined, minorFromAmount } from "@kapi/kernel";
import { type Database, instantText, type Statement, statement } from "@kapi/postgres";

import type { AccountRanks, EquitySummary, RankQuery } from "../../domain/ports.ts";

/** The current day (UTC). */
const TODAY = "(now() at time zone 'UTC')::date";
/** The equity at the start of the day: the last stored equity if no minute of today is stored. */
const DAY_START = `case when v.day >= ${TODAY} then v.day_start_minor else v.equity_minor end`;
const percentLost = (from: string, low: string): string =>
  `case when ${from} > 0 then greatest(0, (${from} - ${low})::float8 / ${from} * 100) else 0 end`;
const DAILY_DRAWDOWN = `case when v.day >= ${TODAY} then ${percentLost("v.day_start_minor", "v.day_low_minor")}
  when v.day is not null then 0 end`;
const TOTAL_DRAWDOWN = `case when v.day is not null then ${percentLost("v.peak_minor", "v.low_minor")} end`;
const MARGIN_LEVEL = "case when v.margin_minor > 0 then v.margin_level end";
const CREATED = "nullif(s.created_at, '-infinity')";

/** The value of each sort: its expression and type. */
const SORTS: Readonly<Record<AccountSort, { readonly value: string; readonly type: string }>> = {
  created: { value: CREATED, type: "timestamptz" },
  number: { value: "s.account_number", type: "text" },
  balance: { value: "v.balance_minor", type: "bigint" },
  equity: { value: "v.equity_minor", type: "bigint" },
  profit: { value: "v.equity_minor - v.balance_minor", type: "bigint" },
  dayChange: { value: `v.equity_minor - (${DAY_START})`, type: "bigint" },
  dailyDrawdown: { value: DAILY_DRAWDOWN, type: "float8" },
  totalDrawdown: { value: TOTAL_DRAWDOWN, type: "float8" },
  marginLevel: { value: MARGIN_LEVEL, type: "float8" },
};

// The pool's settings are for statements that read along an index. A statement that reads all
// accounts of a server gets these settings: it is planned for its parameters, and can use
// sequential scans and hash joins.
const SETTINGS = statement<unknown>(
  "ranks_settings",
  `select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'on', true),
     set_config('enable_hashjoin', 'on', true), set_config('work_mem', '16MB', true)`,
);

/** The tables from which the accounts of a page are read. */
interface Source {
  /** Part of the names of its statements. */
  readonly name: string;
  readonly tables: string;
  /** The column with the account number. */
  readonly number: string;
  readonly conditions: string;
}
// $1 server, $2 status, $3 pattern of number or name, $4 start of the range of creation times
// (inclusive), $5 end of this range (exclusive), $6 to $15 lowest and highest values; null: no
// filter.
const RANGES = `($6::bigint is null or v.balance_minor >= $6) and ($7::bigint is null or v.balance_minor <= $7)
  and ($8::bigint is null or v.equity_minor >= $8) and ($9::bigint is null or v.equity_minor <= $9)
  and ($10::float8 is null or ${DAILY_DRAWDOWN} >= $10) and ($11::float8 is null or ${DAILY_DRAWDOWN} <= $11)
  and ($12::float8 is null or ${TOTAL_DRAWDOWN} >= $12) and ($13::float8 is null or ${TOTAL_DRAWDOWN} <= $13)
  and ($14::float8 is null or ${MARGIN_LEVEL} >= $14) and ($15::float8 is null or ${MARGIN_LEVEL} <= $15)`;
const ALL: Source = {
  name: "all",
  tables: "account_statuses as s left join account_states as v using (server_id, account_number)",
  number: "s.account_number",
  conditions: `s.server_id = $1
    and ($2::text is null or s.status = $2)
    and ($3::text is null or s.account_number ilike $3 or s.account_name ilike $3)
    and ($4::timestamptz is null or ${CREATED} >= $4) and ($5::timestamptz is null or ${CREATED} < $5) and ${RANGES}`,
};
/**
 * Only accounts with stored values, for pages that are sorted by a value and have no filters but
 * ranges of values. This source joins no table, which halves the work.
 */
const WITH_VALUES: Source = {
  name: "valued",
  tables: "account_states as v",
  number: "v.account_number",
  conditions: `v.server_id = $1 and $2::text is null and $3::text is null and $4::timestamptz is null
    and $5::timestamptz is null and ${RANGES}`,
};

interface StoredRow {
  readonly equity_minor: number | null;
  readonly balance_minor: number | null;
  readonly day_start_minor: number;
  readonly daily_drawdown: number;
  readonly total_drawdown: number;
  readonly measured_at: Date | null;
}
const STORED = `v.equity_minor, v.balance_minor, ${DAY_START} as day_start_minor, ${DAILY_DRAWDOWN} as daily_drawdown,
  ${TOTAL_DRAWDOWN} as total_drawdown, v.measured_at`;

interface RankRow extends StoredRow {
  readonly account_number: string;
  readonly value: string | null;
}

const RANKS = new Map(ACCOUNT_ORDERS.map((order) => [order, rankStatement(order, ALL)]));
const RANKS_WITH_VALUES = new Map(
  ACCOUNT_ORDERS.filter((order) => !["created", "number"].includes(sortOf(order))).map((order) => [
    order,
    rankStatement(order, WITH_VALUES),
  ]),
);

const COUNT = statement<{ total: number }>(
  "ranks_count",
  `select count(*)::integer as total from ${ALL.tables} where ${ALL.conditions}`,
);
const VALUES = statement<StoredRow>(
  "ranks_values",
  `select ${STORED} from unnest($2::text[]) with ordinality as asked(account_number, position)
   left join account_states as v on v.server_id = $1 and v.account_number = asked.account_number
   order by asked.position`,
);
const SUMMARIES = statement<{ accounts: number; equity: number; day_start: number; measured_at: Date | null }>(
  "ranks_summaries",
  `select count(v.day)::integer as accounts, coalesce(sum(v.equity_minor), 0)::bigint as equity,
     coalesce(sum(${DAY_START}), 0)::bigint as day_start, max(v.measured_at) as measured_at
   from unnest($1::uuid[]) with ordinality as asked(server_id, position)
   left join account_states as v on v.server_id = asked.server_id
   group by asked.position order by asked.position`,
);

/**
 * The accounts of servers by their stored values, in PostgreSQL. A page reads all accounts of the
 * server and sorts them: values change every minute, so an index would make every write slower.
 */
export function createAccountRanks(database: Database): AccountRanks {
  return {
    rank: async (query) => {
      const { sort, after, limit } = query;
      const start = [after?.accountNumber ?? null, after?.value ?? null];
      const values = [...filterValues(query), ...start, limit];
      const withValues = hasOnlyRanges(query.filters) ? RANKS_WITH_VALUES.get(sort) : undefined;
      let rows = withValues === undefined ? [] : await readAll(database, withValues, values);
      // Accounts without a value come last, and only the source ALL has such accounts.
      if (rows.length < limit) {
        rows = await readAll(database, assertDefined(RANKS.get(sort), "a statement for each sort"), values);
      }
      return rows.map((row) => ({ accountNumber: row.account_number, value: row.value, stored: storedFromRow(row) }));
    },
    count: async (serverId, filters) => {
      const [row] = await readAll(database, COUNT, filterValues({ serverId, filters }));
      return row?.total ?? 0;
    },
    values: async (serverId, accountNumbers) =>
      (await database.query(VALUES, [serverId, accountNumbers])).map(storedFromRow),
    summaries: async (serverIds) => (await readAll(database, SUMMARIES, [serverIds])).map(summaryFromRow),
  };
}

function sortOf(order: AccountOrder): AccountSort {
  return order.replace("-", "") as AccountSort;
}

/**
 * The statement for a page. $16: number of the account before the page, or null; $17: the value of
 * this account in the sort; $18: limit. The columns of `STORED` are read only for the rows of the
 * page.
 */
function rankStatement(order: AccountOrder, source: Source): Statement<RankRow> {
  const sort = sortOf(order);
  const [direction, beyond] = order === sort ? ["asc", ">"] : ["desc", "<"];
  const { value, type } = SORTS[sort];
  const { number } = source;
  const isBeyond =
    sort === "number" ? `${number} ${beyond} coalesce($17::text, $16)` : valueBeyond(sort, number, beyond);
  const text = type === "timestamptz" ? instantText("page.value") : "page.value::text";
  return statement<RankRow>(
    `ranks_${source.name}_${sort.toLowerCase()}_${direction}`,
    `select page.account_number, ${text} as value, ${STORED} from (
       select ${number}, ${value} as value from ${source.tables}
       where ${source.conditions} and ($16::text is null or ${isBeyond})
         ${source === WITH_VALUES ? `and ${value} is not null` : ""}
       order by ${value} ${direction} nulls last, ${number} limit $18
     ) as page
     left join account_states as v on v.server_id = $1 and v.account_number = page.account_number
     order by page.value ${direction} nulls last, page.account_number`,
  );
}

/** SQL: whether an account comes after that of $16 and $17 in this sort. */
function valueBeyond(sort: AccountSort, number: string, beyond: string): string {
  const { value, type } = SORTS[sort];
  const isNext = `${value} ${beyond} $17 or (${value} = $17 and ${number} > $16)`;
  return `case when $17::${type} is null then ${value} is null and ${number} > $16
    else ${value} is null or ${isNext} end`;
}

/** Whether the accounts are filtered by nothing but ranges of values. */
function hasOnlyRanges({ status, search, createdFrom, createdTo }: AccountFilters): boolean {
  return [status, search, createdFrom, createdTo].every((filter) => filter === undefined);
}

/** Reads in a transaction with {@link SETTINGS}: they end with the transaction. */
function readAll<Row>(database: Database, wanted: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
  return database.transaction((tx) => {
    tx.execute(SETTINGS, []);
    return tx.query(wanted, values);
  });
}

function filterValues({ serverId, filters }: Pick<RankQuery, "serverId" | "filters">): unknown[] {
  const pattern = filters.search === undefined ? null : `%${filters.search.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  return [
    serverId,
    filters.status ?? null,
    pattern,
    filters.createdFrom ?? null,
    filters.createdTo ?? null,
    minorOrNull(filters.balanceMin),
    minorOrNull(filters.balanceMax),
    minorOrNull(filters.equityMin),
    minorOrNull(filters.equityMax),
    filters.dailyDrawdownMin ?? null,
    filters.dailyDrawdownMax ?? null,
    filters.totalDrawdownMin ?? null,
    filters.totalDrawdownMax ?? null,
    filters.marginLevelMin ?? null,
    filters.marginLevelMax ?? null,
  ];
}

function minorOrNull(amount: number | undefined): number | null {
  return amount === undefined ? null : minorFromAmount(amount);
}

function storedFromRow(row: StoredRow): StoredAccountValues | null {
  if (row.equity_minor === null) return null;
  return {
    equity: amountFromMinor(row.equity_minor),
    balance: row.balance_minor === null ? null : amountFromMinor(row.balance_minor),
    dayStartEquity: amountFromMinor(row.day_start_minor),
    dayChange: amountFromMinor(row.equity_minor - row.day_start_minor),
    dailyDrawdown: rounded(row.daily_drawdown),
    totalDrawdown: rounded(row.total_drawdown),
    measuredAt: row.measured_at?.toISOString() ?? null,
  };
}

/** Rounds to four decimals, as in snapshots (decisions, 9). */
function rounded(percent: number): number {
  return Math.round(percent * 10_000) / 10_000;
}

function summaryFromRow(row: {
  readonly accounts: number;
  readonly equity: number;
  readonly day_start: number;
  readonly measured_at: Date | null;
}): EquitySummary {
  return {
    accounts: row.accounts,
    equity: amountFromMinor(row.equity),
    dayStartEquity: amountFromMinor(row.day_start),
    measuredAt: row.measured_at?.toISOString() ?? null,
  };
}
