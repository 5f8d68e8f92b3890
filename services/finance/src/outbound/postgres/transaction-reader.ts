import { pageStartOf } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";
import type { Database } from "@kapi/postgres";

import type { AccountStanding, DeletionMarks, TransactionReader } from "../../domain/transaction-reads.ts";
import {
  BOOKED_SO_FAR,
  filteredPage,
  MARK_DELETED,
  NEWEST_TRANSACTIONS,
  type StandingRow,
  TRANSACTIONS_PAGE,
} from "./read-statements.ts";
import { fromRow } from "./transaction-row.ts";

/** Reads the ledger; each function is one statement. */
export function createTransactionReader(database: Database): TransactionReader {
  return {
    page: async ({ serverId, accountNumber }, query) => {
      const { page: _page, limit, cursor: _cursor, ...filter } = query;
      const { offset, after } = pageStartOf("transactions", query);
      const isFiltered = Object.values(filter).some((value) => value !== undefined);
      const read = isFiltered ? filteredPage(filter) : { statement: TRANSACTIONS_PAGE, values: [] };
      // One row more than the page has: the row shows whether a transaction follows the page.
      const values = [serverId, accountNumber, offset, limit + 1, after?.[0] ?? null, ...read.values];
      const rows = await database.query(read.statement, values);
      const first = assertDefined(rows[0], "the state of the account in the ledger");
      const found = rows.flatMap((row) => (row.id === null ? [] : [fromRow(row)]));
      const transactions = found.slice(0, limit);
      return {
        standing: standingOf(first),
        total: first.total ?? 0,
        last: found.length > limit ? (transactions.at(-1)?.sequence ?? null) : null,
        transactions,
      };
    },
    newest: async ({ serverId, accountNumber }, { from, to }, limit) => {
      const rows = await database.query(NEWEST_TRANSACTIONS, [serverId, accountNumber, from, to, limit]);
      return rows.map(fromRow);
    },
    bookedSoFar: async ({ serverId, accountNumber }) => {
      const [row] = await database.query(BOOKED_SO_FAR, [serverId, accountNumber]);
      const known = assertDefined(row, "the state of the account in the ledger");
      return { standing: standingOf(known), lastSequence: known.last_sequence ?? 0 };
    },
  };
}

/** Stores deletion marks. */
export function createDeletionMarks(database: Database): DeletionMarks {
  return {
    mark: async ({ serverId, accountNumber }) => {
      await database.query(MARK_DELETED, [serverId, accountNumber]);
    },
  };
}

function standingOf({ deleted, last_sequence: lastSequence }: StandingRow): AccountStanding {
  if (deleted) return "deleted";
  return lastSequence === null ? "unknown" : "known";
}
