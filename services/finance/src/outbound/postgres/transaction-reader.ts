import { assertDefined } from "@kapi/kernel";
import type { Database } from "@kapi/postgres";

import type { AccountStanding, DeletionMarks, TransactionReader } from "../../domain/transaction-reads.ts";
import {
  BALANCE_AT,
  BOOKED_SO_FAR,
  FILTERED_TRANSACTIONS,
  FIND_TRANSACTION,
  MARK_DELETED,
  NEWEST_TRANSACTIONS,
  type StandingRow,
  TRANSACTIONS_PAGE,
} from "./read-statements.ts";
import { fromRow } from "./transaction-row.ts";

/** Reads the ledger; each function is one statement. */
export function createTransactionReader(database: Database): TransactionReader {
  return {
    page: async ({ serverId, accountNumber }, filter, { offset, limit, below }) => {
      const range = [serverId, accountNumber, offset, limit, below];
      const { from, to, type, orderId, positionId, dealId, commandId, requestId } = filter;
      const filters = [from, to, type, orderId, positionId, dealId, commandId, requestId];
      const rows = await (filters.every((value) => value === undefined)
        ? database.query(TRANSACTIONS_PAGE, range)
        : database.query(FILTERED_TRANSACTIONS, [...range, ...filters.map((value) => value ?? null)]));
      const first = assertDefined(rows[0], "the state of the account in the ledger");
      return {
        standing: standingOf(first),
        total: first.total ?? 0,
        transactions: rows.flatMap((row) => (row.id === null ? [] : [fromRow(row)])),
      };
    },
    find: async (serverIds, transactionId) => {
      const [row] = await database.query(FIND_TRANSACTION, [serverIds, transactionId]);
      return row === undefined ? null : { serverId: row.server_id, ...fromRow(row) };
    },
    newest: async ({ serverId, accountNumber }, { from, to }, limit) => {
      const rows = await database.query(NEWEST_TRANSACTIONS, [serverId, accountNumber, from, to, limit]);
      return rows.map(fromRow);
    },
    balanceAt: async ({ serverId, accountNumber }, at) => {
      const [row] = await database.query(BALANCE_AT, [serverId, accountNumber, at]);
      const known = assertDefined(row, "the state of the account in the ledger");
      return standingOf(known) === "deleted" ? null : assertDefined(known.balance_minor, "the balance at a time");
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
