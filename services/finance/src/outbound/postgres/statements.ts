/** SQL to book events in the ledger, and to note and close gaps. */
import { type Statement, statement } from "@kapi/postgres";

/** The columns of {@link AccountRow}. */
const ACCOUNT_COLUMNS = `server_id, account_number, organization_id, currency, last_sequence, balance_minor,
     transaction_sequence, announced_sequence`;

/**
 * A row of `ledger_accounts`: how far an account is booked. Money in minor units of its currency.
 */
export interface AccountRow {
  readonly server_id: string;
  readonly account_number: string;
  readonly organization_id: string;
  readonly currency: "USD" | "NGN";
  /** Sequence of the last booked event; 0 without one. */
  readonly last_sequence: number;
  readonly balance_minor: number;
  readonly transaction_sequence: number;
  /**
   * Sequence of the last booked event for which the account service also publishes an event
   * (`isAnnouncedByAccount`); 0 without one.
   */
  readonly announced_sequence: number;
}

/**
 * $1 servers, $2 account numbers. Locks in key order, so that concurrent transactions cannot
 * deadlock.
 */
export const LOCK_ACCOUNTS: Statement<AccountRow> = statement(
  "finance_lock_accounts",
  `select ${ACCOUNT_COLUMNS} from ledger_accounts a
   join unnest($1::uuid[], $2::text[]) k (server_id, account_number) using (server_id, account_number)
   order by server_id, account_number for update of a`,
);

/**
 * Arrays: server, account number, organization, currency, time of opening. Returns the inserted
 * accounts.
 */
export const INSERT_ACCOUNTS: Statement<AccountRow> = statement(
  "finance_insert_accounts",
  `insert into ledger_accounts
     (server_id, account_number, organization_id, currency, last_sequence, balance_minor, transaction_sequence,
      opened_at)
   select server_id, account_number, organization_id, currency, 0, 0, 0, opened_at
   from unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::timestamptz[])
     as n (server_id, account_number, organization_id, currency, opened_at)
   order by server_id, account_number
   on conflict do nothing
   returning ${ACCOUNT_COLUMNS}`,
);

/**
 * Writes transactions and account states in one statement. $1-$6 accounts: server, number, last
 * sequence, balance, transaction sequence, announced sequence. $7-$25 transactions, in column
 * order.
 */
export const WRITE_BOOKINGS: Statement<never> = statement(
  "finance_write_bookings",
  `with accounts as (
     update ledger_accounts a
     set last_sequence = n.last_sequence, balance_minor = n.balance_minor, transaction_sequence = n.transaction_sequence,
       announced_sequence = n.announced_sequence
     from unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
       as n (server_id, account_number, last_sequence, balance_minor, transaction_sequence, announced_sequence)
     where a.server_id = n.server_id and a.account_number = n.account_number
   )
   insert into transactions
     (id, server_id, account_number, sequence, event_sequence, type, amount_minor, counter_ledger, balance_before_minor,
      balance_after_minor, description, request_id, command_id, order_id, position_id, deal_id, recorded_at, created_at,
      created_by)
   select * from unnest($7::uuid[], $8::uuid[], $9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::bigint[],
                        $14::text[], $15::bigint[], $16::bigint[], $17::text[], $18::text[], $19::uuid[], $20::text[],
                        $21::text[], $22::text[], $23::timestamptz[], $24::timestamptz[], $25::text[])`,
);

/** Arrays: server, account number, sequence up to which the account has to be booked. */
export const NOTE_GAPS: Statement<never> = statement(
  "finance_note_gaps",
  `insert into ledger_gaps as g (server_id, account_number, needed_sequence)
   select * from unnest($1::uuid[], $2::text[], $3::bigint[]) as n (server_id, account_number, needed_sequence)
   order by 1, 2
   on conflict (server_id, account_number) do update
     set needed_sequence = greatest(g.needed_sequence, excluded.needed_sequence)`,
);

/** $1 servers, $2 command ids: the booked transactions of these commands. */
export const TRANSACTIONS_OF_COMMANDS: Statement<{
  id: string;
  server_id: string;
  command_id: string;
  balance_after_minor: number;
}> = statement(
  "finance_transactions_of_commands",
  `select t.id, t.server_id, t.command_id, t.balance_after_minor from transactions t
   join unnest($1::uuid[], $2::uuid[]) c (server_id, command_id) using (server_id, command_id)`,
);

/** A row of `ledger_gaps`: an account whose next events are missing. */
export interface GapRow {
  readonly server_id: string;
  readonly account_number: string;
  /** The gap is closed when the account is booked up to this event. */
  readonly needed_sequence: number;
  /** Failed attempts to close the gap; they lengthen the pause before the next one. */
  readonly attempts: number;
  /** Sequence of the last booked event; 0 without one. */
  readonly booked_sequence: number;
}

/** $1 limit. The gaps that are due, the earliest first. */
export const DUE_GAPS: Statement<GapRow> = statement(
  "finance_due_gaps",
  `select g.server_id, g.account_number, g.needed_sequence, g.attempts, coalesce(a.last_sequence, 0) as booked_sequence
   from ledger_gaps g left join ledger_accounts a using (server_id, account_number)
   where g.retry_at <= now() order by g.retry_at limit $1`,
);

/** $1 maximum: gaps are counted up to this number. */
export const COUNT_GAPS: Statement<{ gaps: number }> = statement(
  "finance_count_gaps",
  "select count(*) as gaps from (select from ledger_gaps limit $1) as counted",
);

/** $1 server, $2 account number. */
export const FIND_GAP: Statement<GapRow> = statement(
  "finance_find_gap",
  `select g.server_id, g.account_number, g.needed_sequence, g.attempts, coalesce(a.last_sequence, 0) as booked_sequence
   from ledger_gaps g left join ledger_accounts a using (server_id, account_number)
   where g.server_id = $1 and g.account_number = $2`,
);

/** $1 server, $2 account number. Deletes the gap if it is filled. */
export const CLOSE_GAP: Statement<never> = statement(
  "finance_close_gap",
  `delete from ledger_gaps g using ledger_accounts a
   where g.server_id = $1 and g.account_number = $2
     and a.server_id = g.server_id and a.account_number = g.account_number and g.needed_sequence <= a.last_sequence`,
);

/** $1 server, $2 account number, $3 delay in milliseconds. */
export const POSTPONE_GAP: Statement<never> = statement(
  "finance_postpone_gap",
  `update ledger_gaps set attempts = attempts + 1, retry_at = now() + $3 * interval '1 millisecond'
   where server_id = $1 and account_number = $2`,
);
