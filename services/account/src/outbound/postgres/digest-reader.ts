import { column } from "@kapi/commands";
import { findDay } from "@kapi/digests";
import { amountFromMinor } from "@kapi/kernel";
import type { Database } from "@kapi/postgres";

import type { DealDigest, DealDigestReader } from "../../domain/digest-reads.ts";
import { type DealDigestRow, FIND_DIGESTS } from "./digest-statements.ts";

/** Reads the digests of deals. */
export function createDigestReader(database: Database): DealDigestReader {
  return {
    state: (serverId, day) => findDay(database, serverId, day),
    find: async (serverId, day, accountNumbers) =>
      (await database.query(FIND_DIGESTS, [serverId, day, column(accountNumbers)])).map(fromRow),
  };
}

function fromRow(row: DealDigestRow): DealDigest {
  return {
    accountNumber: row.account_number,
    count: row.deal_count,
    commission: amountFromMinor(row.commission_minor),
    realizedPnl: amountFromMinor(row.realized_pnl_minor),
    swap: amountFromMinor(row.swap_minor),
    hash: row.hash,
    revision: row.revision,
    revisedAt: row.revised_at?.toISOString() ?? null,
  };
}
