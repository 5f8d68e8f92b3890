import type { RuleVersion } from "../../domain/ports.ts";

/** A row of `rule_sets`. */
export interface RuleVersionRow {
  readonly server_id: string;
  readonly account_number: string;
  readonly version: number;
  readonly partition: number;
  readonly organization_id: string;
  readonly account_id: string;
  readonly rules: RuleVersion["rules"];
  readonly seed: RuleVersion["seed"];
  readonly initial_balance_minor: number;
  readonly command_id: string;
  readonly template_name: string | null;
  readonly template_version: number | null;
  readonly template_command_id: string | null;
  readonly active_from_offset: number | null;
  readonly active_from: Date | null;
  readonly currency: RuleVersion["currency"];
}

/** Columns of `rule_sets r`. */
export const RULE_VERSION_COLUMNS = `r.server_id, r.account_number, r.version, r.partition, r.organization_id, r.account_id,
  r.rules, r.seed, r.initial_balance_minor::float8 as initial_balance_minor, r.command_id,
  r.template_name, r.template_version, r.template_command_id,
  r.active_from_offset::float8 as active_from_offset, r.active_from, r.currency`;

/** The version of a row. */
export function versionFromRow(row: RuleVersionRow): RuleVersion {
  return {
    serverId: row.server_id,
    accountNumber: row.account_number,
    version: row.version,
    partition: row.partition,
    organizationId: row.organization_id,
    accountId: row.account_id,
    rules: row.rules,
    seed: row.seed,
    initialBalanceMinor: row.initial_balance_minor,
    commandId: row.command_id,
    isOfTemplate: row.template_command_id !== null,
    activeFromOffset: row.active_from_offset,
    currency: row.currency,
  };
}
