import type { Database } from "@kapi/postgres";
import type { Gap, GapRepository } from "@kapi/trading-server/event-feed";

import { CLOSE_GAP, COUNT_GAPS, DUE_GAPS, FIND_GAP, type GapRow, POSTPONE_GAP } from "./statements.ts";

/** Finds, closes and postpones the stored gaps of the ledger. `Ledger` stores new gaps. */
export function createGapRepository(database: Database): GapRepository {
  return {
    due: async (limit) => (await database.query(DUE_GAPS, [limit])).map(fromRow),
    count: async (atMost) => (await database.query(COUNT_GAPS, [atMost]))[0]?.gaps ?? 0,
    find: async ({ serverId, accountNumber }) => {
      const [row] = await database.query(FIND_GAP, [serverId, accountNumber]);
      return row === undefined ? null : fromRow(row);
    },
    close: async ({ serverId, accountNumber }) => {
      await database.query(CLOSE_GAP, [serverId, accountNumber]);
    },
    postpone: async ({ serverId, accountNumber }, delayMs) => {
      await database.query(POSTPONE_GAP, [serverId, accountNumber, delayMs]);
    },
  };
}

function fromRow(row: GapRow): Gap {
  return {
    serverId: row.server_id,
    accountNumber: row.account_number,
    neededSequence: row.needed_sequence,
    bookedSequence: row.booked_sequence,
    attempts: row.attempts,
  };
}
