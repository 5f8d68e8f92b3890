import type { AccountMetricSnapshot } from "@kapi/contracts";
import { amountFromMinor, toIso, uuidV5 } from "@kapi/kernel";
import { type Database, statement } from "@kapi/postgres";

import type { SnapshotLists, SnapshotQuery } from "../../domain/ports.ts";
import { eventIdOf } from "../../domain/sample.ts";

interface SnapshotRow {
  readonly account_number: string;
  readonly measured_at: Date;
  readonly sequence: number;
  readonly balance_minor: number;
  readonly equity_minor: number;
  readonly margin_minor: number;
  readonly free_margin_minor: number;
  readonly margin_level: number;
  readonly daily_drawdown: number;
  readonly total_drawdown: number;
  readonly account_status: string;
  readonly created_at: Date;
}

const COLUMNS = `account_number, measured_at, sequence, balance_minor, equity_minor, margin_minor, free_margin_minor,
  margin_level, daily_drawdown, total_drawdown, account_status, created_at`;

// Both statements read the day partitions newest first, in index order, and stop at the limit.
const SELECT_OF_SERVER = statement<SnapshotRow>(
  "snapshots_select_of_server",
  `select ${COLUMNS} from account_metric_snapshots
   where server_id = $1 and measured_at >= $2 and measured_at < $3
   order by measured_at desc, account_number limit $4`,
);
const SELECT_OF_ACCOUNT = statement<SnapshotRow>(
  "snapshots_select_of_account",
  `select ${COLUMNS} from account_metric_snapshots
   where server_id = $1 and account_number = $5 and measured_at >= $2 and measured_at < $3
   order by measured_at desc limit $4`,
);

/** Lists of stored snapshots, in PostgreSQL. */
export function createSnapshotLists(database: Database): SnapshotLists {
  return {
    list: async (query) => {
      const { serverId, accountNumber, limit } = query;
      const until = query.untilMs === null ? "infinity" : toIso(query.untilMs);
      const values = [serverId, toIso(query.sinceMs), until, limit];
      const rows =
        accountNumber === null
          ? await database.query(SELECT_OF_SERVER, values)
          : await database.query(SELECT_OF_ACCOUNT, [...values, accountNumber]);
      return rows.map((row) => snapshotFromRow(row, query));
    },
  };
}

function snapshotFromRow(row: SnapshotRow, { organizationId, serverId }: SnapshotQuery): AccountMetricSnapshot {
  const accountNumber = row.account_number;
  const measuredAt = row.measured_at.toISOString();
  return {
    id: uuidV5(serverId, `${accountNumber}/snapshot/${measuredAt}`),
    organizationId,
    serverId,
    accountNumber,
    eventId: eventIdOf({ serverId, accountNumber }, row.sequence),
    sequence: row.sequence,
    balance: amountFromMinor(row.balance_minor),
    equity: amountFromMinor(row.equity_minor),
    usedMargin: amountFromMinor(row.margin_minor),
    freeMargin: amountFromMinor(row.free_margin_minor),
    marginLevel: row.margin_level,
    unrealizedProfit: amountFromMinor(row.equity_minor - row.balance_minor),
    dailyDrawdown: row.daily_drawdown,
    totalDrawdown: row.total_drawdown,
    accountStatus: row.account_status,
    measuredAt,
    createdAt: row.created_at.toISOString(),
  };
}
