import { type Database, type Statement, statement } from "@kapi/postgres";
import type { Gap, GapRepository } from "@kapi/trading-server/event-feed";

interface GapRow {
  readonly server_id: string;
  readonly account_number: string;
  readonly needed_sequence: number;
  readonly attempts: number;
  readonly booked_sequence: number;
}

const GAP_COLUMNS = `g.server_id, g.account_number, g.needed_sequence, g.attempts,
  coalesce(f.booked_sequence, 0) as booked_sequence`;

// Gaps of unknown accounts are not due until the account's row exists.
const DUE_GAPS: Statement<GapRow> = statement(
  "feed-due-gaps",
  `select ${GAP_COLUMNS} from feed_gaps g
   join accounts a on a.server_id = g.server_id and a.account_number = g.account_number and a.status <> 'deleted'
   left join feeds f on f.server_id = g.server_id and f.account_number = g.account_number
   where g.retry_at <= now() order by g.retry_at limit $1`,
);
const COUNT_GAPS: Statement<{ gaps: number }> = statement(
  "feed-count-gaps",
  `select count(*) as gaps from (
     select from feed_gaps g
     join accounts a on a.server_id = g.server_id and a.account_number = g.account_number and a.status <> 'deleted'
     limit $1) as counted`,
);
const FIND_GAP: Statement<GapRow> = statement(
  "feed-find-gap",
  `select ${GAP_COLUMNS} from feed_gaps g left join feeds f using (server_id, account_number)
   where g.server_id = $1 and g.account_number = $2`,
);
const CLOSE_GAP: Statement<never> = statement(
  "feed-close-gap",
  `delete from feed_gaps g using feeds f
   where g.server_id = $1 and g.account_number = $2
     and f.server_id = g.server_id and f.account_number = g.account_number and g.needed_sequence <= f.booked_sequence`,
);
const POSTPONE_GAP: Statement<never> = statement(
  "feed-postpone-gap",
  `update feed_gaps set attempts = attempts + 1, retry_at = now() + $3 * interval '1 millisecond'
   where server_id = $1 and account_number = $2`,
);

/**
 * Reads, postpones and closes the gaps of the history. Gaps are stored, so that a restart does not
 * lose them.
 */
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
