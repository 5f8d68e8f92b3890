import { column } from "@kapi/commands";
import { type Database, type Statement, statement } from "@kapi/postgres";

import type { LedgerBalances } from "../../domain/reconciliation.ts";

interface BalanceRow {
  readonly server_id: string;
  readonly account_number: string;
  readonly last_sequence: number;
  readonly balance_minor: number;
}

/** Sorts before every UUID. */
const FIRST_SERVER = "00000000-0000-0000-0000-000000000000";

/** $1 server, $2 account number, $3 limit: the next accounts in key order. */
const ACCOUNTS_AFTER: Statement<{ server_id: string; account_number: string }> = statement(
  "finance_accounts_after",
  `select a.server_id, a.account_number from ledger_accounts a
   where (a.server_id, a.account_number) > ($1::uuid, $2::text)
     and not exists (select from deleted_accounts d
       where d.server_id = a.server_id and d.account_number = a.account_number)
   order by a.server_id, a.account_number limit $3`,
);

/**
 * $1 servers, $2 account numbers, $3 sequences (null: now). If an account is booked further, its
 * last transaction up to the sequence has the balance. That transaction is searched from the end,
 * because few rows are newer.
 */
const BALANCES_AT: Statement<BalanceRow> = statement(
  "finance_balances_at",
  `select a.server_id, a.account_number, a.last_sequence,
     case when k.sequence is null or a.last_sequence <= k.sequence then a.balance_minor
       else coalesce((select t.balance_after_minor from transactions t
         where t.server_id = a.server_id and t.account_number = a.account_number and t.event_sequence <= k.sequence
         order by t.sequence desc limit 1), 0)
     end as balance_minor
   from unnest($1::uuid[], $2::text[], $3::bigint[]) k (server_id, account_number, sequence)
   join ledger_accounts a on a.server_id = k.server_id and a.account_number = k.account_number`,
);

/** Reads ledger balances for reconciliation. */
export function createLedgerBalances(database: Database): LedgerBalances {
  return {
    after: async (previous, limit) => {
      const position = [previous?.serverId ?? FIRST_SERVER, previous?.accountNumber ?? ""];
      const rows = await database.query(ACCOUNTS_AFTER, [...position, limit]);
      return rows.map((row) => ({ serverId: row.server_id, accountNumber: row.account_number }));
    },
    balancesAt: async (accounts) => {
      if (accounts.length === 0) return [];
      const rows = await database.query(BALANCES_AT, [
        column(accounts.map(({ serverId }) => serverId)),
        column(accounts.map(({ accountNumber }) => accountNumber)),
        column(accounts.map(({ sequence }) => sequence)),
      ]);
      return rows.map((row) => ({
        serverId: row.server_id,
        accountNumber: row.account_number,
        lastSequence: row.last_sequence,
        balanceMinor: row.balance_minor,
      }));
    },
  };
}
