/** Breaches of an account, newest first. */
import type { RiskBreach } from "@kapi/contracts";
import { amountFromMinor } from "@kapi/kernel";
import { type Database, instantText, statement } from "@kapi/postgres";

import type { ReadBreaches } from "../../domain/ports.ts";

interface BreachRow {
  readonly id: string;
  readonly rule: RiskBreach["rule"];
  readonly rule_version: number;
  readonly period: string;
  readonly reference_minor: number;
  readonly threshold_minor: number;
  readonly value_minor: number;
  readonly equity_minor: number;
  readonly balance_minor: number;
  readonly measured_at: Date;
  readonly command_id: string | null;
  readonly recorded_at: Date;
  readonly instant: string;
}

// $1 server, $2 number, $3 from, $4 to, $5 rule id; null: no filter.
const MATCHES = `server_id = $1 and account_number = $2 and kind = 'breached'
  and measured_at >= coalesce($3::timestamptz, '-infinity') and measured_at < coalesce($4::timestamptz, 'infinity')
  and ($5::text is null or rule_id = $5)`;
const COUNT = statement<{ total: number }>(
  "risk-count-breaches",
  `select count(*)::int as total from alerts where ${MATCHES}`,
);
// $6 and $7: the key of the last breach before the page, or null. $8 limit, $9 offset.
const PAGE = statement<BreachRow>(
  "risk-list-breaches",
  `select id, rule, rule_version, period, reference_minor::float8 as reference_minor,
     threshold_minor::float8 as threshold_minor, value_minor::float8 as value_minor,
     equity_minor::float8 as equity_minor, balance_minor::float8 as balance_minor, measured_at, command_id,
     recorded_at, ${instantText("measured_at")} as instant
   from alerts where ${MATCHES}
     and ($6::timestamptz is null or (measured_at, id) < ($6::timestamptz, $7::uuid))
   order by measured_at desc, id desc limit $8 offset $9`,
);

export function createBreachReader(database: Database): ReadBreaches {
  return async ({ serverId, accountNumber }, { from, to, ruleId }, { limit, offset, after }) => {
    const filters = [serverId, accountNumber, from ?? null, to ?? null, ruleId ?? null];
    const [counted, rows] = await Promise.all([
      database.query(COUNT, filters),
      database.query(PAGE, [...filters, after?.[0] ?? null, after?.[1] ?? null, limit + 1, offset]),
    ]);
    return {
      total: counted[0]?.total ?? 0,
      rows: rows.map((row) => ({ breach: fromRow(row, serverId, accountNumber), key: [row.instant, row.id] })),
    };
  };
}

function fromRow(row: BreachRow, serverId: string, accountNumber: string): RiskBreach {
  return {
    id: row.id,
    rule: row.rule,
    ruleVersion: row.rule_version,
    period: row.period,
    reference: amountFromMinor(row.reference_minor),
    threshold: amountFromMinor(row.threshold_minor),
    value: amountFromMinor(row.value_minor),
    equity: amountFromMinor(row.equity_minor),
    balance: amountFromMinor(row.balance_minor),
    measuredAt: row.measured_at.toISOString(),
    action: row.rule.action,
    commandId: row.command_id,
    serverId,
    accountNumber,
    recordedAt: row.recorded_at.toISOString(),
  };
}
