import type { EquityHistory, EquityPoint } from "@kapi/contracts";
import { amountFromMinor, toIso } from "@kapi/kernel";
import { type Database, statement } from "@kapi/postgres";

import type { EquityHistories } from "../../domain/ports.ts";
import { hourSegments, joinedSegments, minuteSegments } from "./equity-segments.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

interface PointRow {
  /** Null: the row has the last minute before the range. */
  readonly part: Date | null;
  readonly first_at: Date;
  readonly last_at: Date;
  readonly equity_minor: number;
  readonly balance_minor: number;
  readonly lowest_minor: number;
  readonly highest_minor: number;
  readonly drawdown_minor: number;
  readonly drawdown_from_minor: number;
}

// $1 server, $2 account, $3 from, $4 to, $5 length of a part in seconds, $6 start of the retention.
// The primary keys have the minutes and hours of an account in order of time. The last equity
// before the range is the first peak from which a drawdown is computed.
const OF_ACCOUNT = "server_id = $1 and account_number = $2";
const FIRST = "greatest($3::timestamptz, $6::timestamptz)";
const BEFORE = `select measured_at as first_at, equity_minor, balance_minor from account_metric_snapshots
  where ${OF_ACCOUNT} and measured_at < $3 and measured_at >= $6 order by measured_at desc limit 1`;

/**
 * SQL for the last minute before the range, and for one row for each part of the range that has
 * segments.
 */
function pointsOf(segments: string): string {
  const parts = `select date_bin(make_interval(secs => $5), first_at, $3) as part, stored.* from (${segments}) as stored`;
  return `select null::timestamptz as part, first_at, first_at as last_at, equity_minor, balance_minor,
      equity_minor as lowest_minor, equity_minor as highest_minor, 0::bigint as drawdown_minor,
      equity_minor as drawdown_from_minor
    from before
    union all
    ${joinedSegments({ segments: parts, partition: "", peak: "(select equity_minor from before)" })}
    order by first_at`;
}

const SELECT_POINTS_OF_MINUTES = statement<PointRow>(
  "equity_history_points_of_minutes",
  `with before as materialized (${BEFORE})
   ${pointsOf(minuteSegments(`${OF_ACCOUNT} and measured_at >= ${FIRST} and measured_at < $4`))}`,
);

// Minutes are read where no hours are stored: before the first stored hour, and after the last one.
const SELECT_POINTS_OF_HOURS = statement<PointRow>(
  "equity_history_points_of_hours",
  `with before as materialized (${BEFORE}),
   hours as materialized (
     select (select hour from account_metric_hours where ${OF_ACCOUNT} and hour >= ${FIRST} and hour < $4
         order by hour limit 1) as first,
       (select hour + interval '1 hour' from account_metric_hours where ${OF_ACCOUNT} and hour >= ${FIRST} and hour < $4
         order by hour desc limit 1) as after_last
   )
   ${pointsOf(`
     ${minuteSegments(`${OF_ACCOUNT} and measured_at >= ${FIRST}
       and measured_at < coalesce((select first from hours), $4)`)}
     union all
     ${hourSegments(`${OF_ACCOUNT} and hour >= ${FIRST} and hour < $4`)}
     union all
     ${minuteSegments(`${OF_ACCOUNT} and measured_at >= (select after_last from hours) and measured_at < $4`)}`)}`,
);

/** The equity of accounts over time, from their stored minutes and hours. */
export function createEquityHistories(database: Database): EquityHistories {
  return {
    read: async ({ serverId, accountNumber, fromMs, toMs, pointMs, firstKeptMs }) => {
      const values = [serverId, accountNumber, toIso(fromMs), toIso(toMs), pointMs / 1000, toIso(firstKeptMs)];
      const isOfHours = [pointMs, fromMs, toMs].every((ms) => ms % HOUR_MS === 0);
      const rows = await database.query(isOfHours ? SELECT_POINTS_OF_HOURS : SELECT_POINTS_OF_MINUTES, values);
      const before = rows.find(({ part }) => part === null);
      return {
        before: before === undefined ? null : beforeOf(before),
        points: rows.filter(({ part }) => part !== null).map(pointOf),
      };
    },
  };
}

function beforeOf(row: PointRow): NonNullable<EquityHistory["before"]> {
  return {
    measuredAt: row.last_at.toISOString(),
    equity: amountFromMinor(row.equity_minor),
    balance: amountFromMinor(row.balance_minor),
  };
}

function pointOf(row: PointRow): EquityPoint {
  return {
    startsAt: row.first_at.toISOString(),
    endsAt: toIso(row.last_at.getTime() + MINUTE_MS),
    equity: amountFromMinor(row.equity_minor),
    balance: amountFromMinor(row.balance_minor),
    lowest: amountFromMinor(row.lowest_minor),
    highest: amountFromMinor(row.highest_minor),
    drawdown: {
      from: amountFromMinor(row.drawdown_from_minor),
      to: amountFromMinor(row.drawdown_from_minor - row.drawdown_minor),
    },
  };
}
