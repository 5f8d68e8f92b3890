/** Stores rules, and reads rules, states and breaches, for tests of the owner of a partition. */
import { randomUUID } from "node:crypto";

import type { AccountRef, RiskRule } from "@kapi/contracts";
import { type Database, statement } from "@kapi/postgres";
import { commandMessage } from "@kapi/testkit";

import type { RuleRepository } from "../src/outbound/postgres/rule-repository.ts";

/** When the seeds of rules were measured. */
export const START_MS = Date.parse("2026-11-20T09:00:00.000Z");
export const INITIAL_MINOR = 1_000_000;

const INSERT_COMMAND = statement<never>(
  "test-insert-command",
  `insert into command_inbox (command_id, partition, log_offset, server_id, message) values ($1, $2, 0, $3, $4)`,
);
export const BREACHES = statement<{ log_offset: number | null }>(
  "test-breaches",
  `select valuation_offset::float8 as log_offset from alerts where account_number = $1 order by 1`,
);
// $1 account, $2 partition.
export const MOVE = statement<never>(
  "test-move-account",
  `with moved as (update account_states set partition = $2 where account_number = $1)
   update rule_sets set partition = $2, active_from_offset = 0 where account_number = $1`,
);
export const LOCK_STATE = statement<{ version: number }>(
  "test-lock-state",
  `select version from account_states where account_number = $1 for update`,
);
export const WAITING = statement<{ count: number }>(
  "test-waiting-for-locks",
  `select count(*)::integer as count from pg_stat_activity
   where datname = current_database() and wait_event_type = 'Lock'`,
);
export const ACTIVE = statement<{ version: number; log_offset: number }>(
  "test-active-versions",
  `select version, active_from_offset::float8 as log_offset from rule_sets
   where account_number = $1 and active_from_offset is not null order by version`,
);
export const VERSIONS = statement<{ version: number }>(
  "test-versions",
  `select version from rule_sets where account_number = $1 order by version`,
);
export const STATES = statement<{ version: number }>(
  "test-states",
  `select version from account_states where account_number = $1`,
);
export const LOCK_PARTITION = statement<{ number: number }>(
  "test-lock-partition",
  `select number from partitions where number = $1 for update`,
);
// $1 account. Marks its versions as made by a template, and adds an hour to their creation times,
// as if the clock had been ahead when they were stored.
export const SET_BACK_CLOCK = statement<never>(
  "test-set-back-clock",
  `update rule_sets set created_at = created_at + interval '1 hour', template_command_id = gen_random_uuid()
   where account_number = $1`,
);
// $1 account. Fails the commands of waiting versions.
export const FAIL_COMMANDS = statement<never>(
  "test-fail-commands",
  `update command_inbox set status = 'failed', completed_at = now() where command_id in (
     select command_id from rule_sets where account_number = $1 and active_from_offset is null
   )`,
);

/** Stores a version of the rules, with its command. No process has made the version active. */
export async function storeRules(
  {
    database,
    rules,
    partition,
  }: { readonly database: Database; readonly rules: RuleRepository; readonly partition: number },
  account: AccountRef,
  rule: RiskRule,
): Promise<void> {
  const message = commandMessage({ ...account, operation: "risk.set_rules", payload: { rules: [rule] } });
  const { commandId, organizationId } = message;
  await database.query(INSERT_COMMAND, [commandId, partition, account.serverId, JSON.stringify(message)]);
  const seed = {
    measuredAtMs: START_MS,
    equityMinor: INITIAL_MINOR,
    balanceMinor: INITIAL_MINOR,
    netDepositsMinor: 0,
  };
  const version = { ...account, organizationId, accountId: randomUUID(), rules: [rule], seed, commandId };
  await rules.add({ ...version, initialBalanceMinor: INITIAL_MINOR, currency: "USD", template: null }, partition);
}
