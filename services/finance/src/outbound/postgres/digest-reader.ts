import { findDay } from "@kapi/digests";
import { amountFromMinor } from "@kapi/kernel";
import type { Database } from "@kapi/postgres";

import type { DigestReader, TransactionDigest } from "../../domain/digest-reads.ts";
import { DIGEST_COUNT, DIGESTS_PAGE, type TransactionDigestRow } from "./digest-statements.ts";

/** Reads the digests of transactions. */
export function createDigestReader(database: Database): DigestReader {
  return {
    state: (serverId, day) => findDay(database, serverId, day),
    page: async (serverId, day, { offset, limit, after }) => {
      const [rows, [count]] = await Promise.all([
        database.query(DIGESTS_PAGE, [serverId, day, offset, limit, after]),
        database.query(DIGEST_COUNT, [serverId, day]),
      ]);
      return { rows: rows.map(fromRow), total: count?.digests ?? 0 };
    },
  };
}

function fromRow(row: TransactionDigestRow): TransactionDigest {
  return {
    accountNumber: row.account_number,
    currency: row.currency,
    closingBalance: amountFromMinor(row.closing_balance_minor),
    transactions: { count: row.transaction_count, amount: amountFromMinor(row.amount_minor), hash: row.hash },
    revision: row.revision,
    createdAt: row.created_at.toISOString(),
    revisedAt: row.revised_at?.toISOString() ?? null,
  };
}
