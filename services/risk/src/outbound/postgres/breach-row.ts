import type { RiskBreach } from "@kapi/contracts";
import { amountFromMinor } from "@kapi/kernel";

/** A row of `alerts` that is a breach, with its row of `evidence`. */
export interface BreachRow {
  readonly id: string;
  readonly server_id: string;
  readonly account_number: string;
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
  readonly evidence_due_at: Date | null;
  readonly sequence: number | null;
  readonly extreme_minor: number | null;
  readonly extreme_at: Date | null;
}

/** Columns of `alerts a left join evidence e`. */
export const BREACH_COLUMNS = `a.id, a.server_id, a.account_number, a.rule, a.rule_version, a.period,
  a.reference_minor::float8 as reference_minor, a.threshold_minor::float8 as threshold_minor,
  a.value_minor::float8 as value_minor, a.equity_minor::float8 as equity_minor,
  a.balance_minor::float8 as balance_minor, a.measured_at, a.command_id, a.recorded_at, a.evidence_due_at,
  e.sequence::float8 as sequence, e.extreme_minor::float8 as extreme_minor, e.extreme_at`;

/** The breach of a row, as the API shows it. */
export function breachFromRow(row: BreachRow): RiskBreach {
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
    serverId: row.server_id,
    accountNumber: row.account_number,
    recordedAt: row.recorded_at.toISOString(),
    evidence: {
      status: row.evidence_due_at !== null ? "pending" : row.extreme_at === null ? "none" : "stored",
      sequence: row.sequence,
      extremeValue: row.extreme_minor === null ? null : amountFromMinor(row.extreme_minor),
      extremeAt: row.extreme_at?.toISOString() ?? null,
    },
  };
}
