/** SQL to read the ledger. */
import type { ListTransactionsQuery, TransactionType } from "@kapi/contracts";
import { type Statement, statement } from "@kapi/postgres";

/** A row of `transactions` with its account's currency. Money in minor units. */
export interface TransactionRow {
  readonly id: string;
  readonly account_number: string;
  readonly sequence: number;
  readonly type: TransactionType;
  readonly amount_minor: number;
  readonly currency: "USD" | "NGN";
  readonly balance_before_minor: number;
  readonly balance_after_minor: number;
  readonly description: string | null;
  readonly request_id: string | null;
  readonly command_id: string | null;
  readonly order_id: string | null;
  readonly position_id: string | null;
  readonly deal_id: string | null;
  readonly reversal_of: string | null;
  readonly created_by: string | null;
  readonly recorded_at: Date;
  readonly created_at: Date;
}

export interface StandingRow {
  readonly deleted: boolean;
  /** Null if the ledger has never seen the account. */
  readonly last_sequence: number | null;
}

/** A row; `id` is null for an empty page. */
export type PageRow = StandingRow & { readonly total: number | null } & (TransactionRow | { readonly id: null });

const ROW = `t.id, t.account_number, t.sequence, t.type, t.amount_minor, t.balance_before_minor, t.balance_after_minor,
   t.description, t.request_id, t.command_id, t.order_id, t.position_id, t.deal_id, t.reversal_of, t.recorded_at,
   t.created_at, t.created_by`;
const DELETED = `exists (select from deleted_accounts d
     where d.server_id = k.server_id and d.account_number = k.account_number) as deleted`;

/**
 * $1 server, $2 account number, $3 offset, $4 limit, $5 only sequences below, or null. Sequences
 * have no gap: the last one is the number of rows, and a page is a range of the unique index on
 * (server, account, sequence). One statement, so that rows and total are consistent. An empty page
 * has one row, with only the state of the account in the ledger.
 */
export const TRANSACTIONS_PAGE: Statement<PageRow> = statement(
  "finance_transactions_page",
  `select ${DELETED}, a.last_sequence, a.transaction_sequence as total, a.currency, ${ROW}
   from (select $1::uuid as server_id, $2::text as account_number) k
   left join ledger_accounts a on a.server_id = k.server_id and a.account_number = k.account_number
   left join transactions t on t.server_id = a.server_id and t.account_number = a.account_number
     and t.sequence <= least(a.transaction_sequence - $3::bigint, $5::bigint - 1)
     and t.sequence > least(a.transaction_sequence - $3::bigint, $5::bigint - 1) - $4::bigint
   order by t.sequence desc`,
);

/** The columns of filters that compare for equality, with the type of the column. */
const FILTER_COLUMNS = {
  type: ["type", "text"],
  orderId: ["order_id", "text"],
  positionId: ["position_id", "text"],
  dealId: ["deal_id", "text"],
  commandId: ["command_id", "uuid"],
  requestId: ["request_id", "text"],
} as const;

/** Fields that a transaction must have; undefined: any. Times are ISO 8601, `to` is exclusive. */
export type TransactionFilter = Omit<ListTransactionsQuery, "page" | "limit" | "cursor">;

/** Statements by name: one for each combination of filters that was used, at most 2^8. */
const preparedStatements = new Map<string, Statement<PageRow>>();

/**
 * The statement of a page with filters; its values from $6 on. The other parameters are those of
 * {@link TRANSACTIONS_PAGE}. It reads at most all rows of the account: an index for each filter
 * would slow every booking down.
 */
export function filteredPage({ from, to, ...fields }: TransactionFilter): {
  readonly statement: Statement<PageRow>;
  readonly values: readonly string[];
} {
  const values: string[] = [];
  const parts: string[] = [];
  const conditions = ["t.server_id = k.server_id and t.account_number = k.account_number"];
  const add = (name: string, value: string | undefined, condition: (parameter: string) => string): void => {
    if (value === undefined) return;
    values.push(value);
    parts.push(name);
    conditions.push(condition(`$${values.length + 5}`));
  };
  add("from", from, (parameter) => `t.recorded_at >= ${parameter}::timestamptz`);
  add("to", to, (parameter) => `t.recorded_at < ${parameter}::timestamptz`);
  for (const [name, [column, type]] of Object.entries(FILTER_COLUMNS)) {
    add(name, fields[name as keyof typeof fields], (parameter) => `t.${column} = ${parameter}::${type}`);
  }
  const where = conditions.join(" and ");
  const name = `finance_transactions_page_of_${parts.join("_")}`;
  const known =
    preparedStatements.get(name) ??
    statement<PageRow>(
      name,
      `select ${DELETED}, a.last_sequence, (select count(*) from transactions t where ${where}) as total, a.currency,
         ${ROW}
       from (select $1::uuid as server_id, $2::text as account_number) k
       left join ledger_accounts a on a.server_id = k.server_id and a.account_number = k.account_number
       left join lateral (
         select * from transactions t where ${where} and ($5::bigint is null or t.sequence < $5::bigint)
         order by t.sequence desc offset $3::bigint limit $4
       ) t on true
       order by t.sequence desc`,
    );
  preparedStatements.set(name, known);
  return { statement: known, values };
}

/**
 * $1 server, $2 account number, $3 from, $4 to (null: unbounded), $5 limit. A trading server's
 * clock may be set back, so times may not follow the sequence and every row of the account is read.
 * An index on time would make each booking a quarter slower. The currency is selected once,
 * separately.
 */
export const NEWEST_TRANSACTIONS: Statement<TransactionRow> = statement(
  "finance_newest_transactions",
  `select ${ROW},
     (select a.currency from ledger_accounts a where a.server_id = $1 and a.account_number = $2) as currency
   from transactions t
   where t.server_id = $1 and t.account_number = $2
     and t.recorded_at >= coalesce($3::timestamptz, '-infinity')
     and t.recorded_at <= coalesce($4::timestamptz, 'infinity')
   order by t.recorded_at desc, t.sequence desc limit $5`,
);

/** $1 server, $2 account number. Always one row. */
export const BOOKED_SO_FAR: Statement<StandingRow> = statement(
  "finance_booked_so_far",
  `select ${DELETED}, a.last_sequence
   from (select $1::uuid as server_id, $2::text as account_number) k
   left join ledger_accounts a on a.server_id = k.server_id and a.account_number = k.account_number`,
);

/** $1 server, $2 account number. */
export const MARK_DELETED: Statement<never> = statement(
  "finance_mark_deleted",
  `insert into deleted_accounts (server_id, account_number) values ($1, $2) on conflict do nothing`,
);

/**
 * $1 servers, $2 account numbers. Returns accounts that the ledger has seen, or that were deleted
 * before.
 */
export const SEEN_ACCOUNTS: Statement<{ server_id: string; account_number: string }> = statement(
  "finance_seen_accounts",
  `select k.server_id, k.account_number from unnest($1::uuid[], $2::text[]) k (server_id, account_number)
   where exists (select from ledger_accounts a
       where a.server_id = k.server_id and a.account_number = k.account_number)
     or exists (select from deleted_accounts d
       where d.server_id = k.server_id and d.account_number = k.account_number)`,
);
