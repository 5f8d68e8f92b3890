/** Versions of risk rules, in PostgreSQL. */
import type { AccountRef } from "@kapi/contracts";
import { column } from "@kapi/commands";
import { type Database, type Queryable, statement } from "@kapi/postgres";

import type { NewRuleVersion, ReadRules, StoredRule } from "../../domain/ports.ts";
import type { TemplateVersion } from "../../domain/template.ts";
import { RULE_VERSION_COLUMNS, type RuleVersionRow } from "./rule-version-row.ts";

const NEWEST = statement<RuleVersionRow>(
  "risk-newest-version",
  `select ${RULE_VERSION_COLUMNS} from rule_sets r
   where r.server_id = $1 and r.account_number = $2 order by r.version desc limit 1 for update`,
);
// $1 server, $2 number, $3 command. Deletes waiting versions of earlier commands on the account.
// The commands of an account run one after another, so these commands have failed or expired.
// If their versions stayed, the next version would be based on rules that never become active.
const DISCARD_FAILED = statement<never>(
  "risk-discard-failed-versions",
  `delete from rule_sets where server_id = $1 and account_number = $2 and command_id <> $3
     and active_from_offset is null and template_command_id is null`,
);
const ADD = statement<never>(
  "risk-add-version",
  `insert into rule_sets (server_id, account_number, version, organization_id, account_id, partition, rules, seed,
     initial_balance_minor, command_id, template_name, template_version, template_command_id, currency,
     created_at)
   -- The last value is created_at: versions of an account become active in the order of this time.
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, clock_timestamp())
   on conflict (command_id) do nothing`,
);
const ACTIVE = statement<RuleVersionRow>(
  "risk-active-version",
  `select ${RULE_VERSION_COLUMNS} from rule_sets r
   where r.server_id = $1 and r.account_number = $2 and r.active_from_offset is not null
   order by r.version desc limit 1`,
);

// A deletion of rules begins with this statement. It waits for a transaction that applies a
// template to one of the accounts, because that transaction has locked the account's row in this
// table.
const DELETE_WAITING = statement<never>(
  "risk-delete-waiting-accounts",
  `delete from template_accounts w using unnest($1::uuid[], $2::text[]) as d(server_id, account_number)
   where w.server_id = d.server_id and w.account_number = d.account_number`,
);
const ADD_WAITING = statement<never>(
  "risk-add-waiting-account",
  `insert into template_accounts (server_id, account_number, template_name, partition) values ($1, $2, '', $3)
   on conflict (server_id, account_number, template_name) do update set
     revision = template_accounts.revision + 1, attempts = 0, due_at = excluded.due_at`,
);
const DELETE_RULES = statement<never>(
  "risk-delete-rules",
  `with deleted as (
     delete from account_states s using unnest($1::uuid[], $2::text[]) as d(server_id, account_number)
     where s.server_id = d.server_id and s.account_number = d.account_number
   )
   delete from rule_sets r using unnest($1::uuid[], $2::text[]) as d(server_id, account_number)
   where r.server_id = d.server_id and r.account_number = d.account_number`,
);

/** The versions of risk rules of accounts. */
export interface RuleRepository {
  /**
   * Stores the next version of the account's rules, once for each command. Discards versions of
   * earlier commands that have failed or expired. Rejects with a unique violation if another
   * process stored a version of the account at the same time.
   */
  add(version: NewRuleVersion, partition: number): Promise<void>;
  /** Reads the newest active version; version 0 without rules if there is none. */
  readonly active: ReadRules;
  /**
   * Deletes all versions of the rules of deleted accounts, and the states of these rules. The
   * accounts no longer wait for templates. Breaches stay.
   */
  deleteRules(accounts: readonly AccountRef[]): Promise<void>;
}

/** Creates the repository of the versions of rules. */
export function createRuleRepository(database: Database): RuleRepository {
  return {
    add: (version, partition) =>
      database.transaction(async (transaction) => {
        await transaction.query(DISCARD_FAILED, [version.serverId, version.accountNumber, version.commandId]);
        await addVersion(transaction, version, await lockNewest(transaction, version), { partition });
        if (version.template === null) return;
        // Perhaps the template has changed after it was read, so the account is compared again.
        transaction.execute(ADD_WAITING, [version.serverId, version.accountNumber, partition]);
      }),
    async deleteRules(accounts) {
      const names = [
        column(accounts.map(({ serverId }) => serverId)),
        column(accounts.map(({ accountNumber }) => accountNumber)),
      ];
      await database.transaction(async (transaction) => {
        await transaction.query(DELETE_WAITING, names);
        await transaction.query(DELETE_RULES, names);
      });
    },
    async active({ serverId, accountNumber }) {
      const [row] = await database.query(ACTIVE, [serverId, accountNumber]);
      if (row === undefined) {
        return {
          serverId,
          accountNumber,
          version: 0,
          rules: [],
          commandId: null,
          activeFrom: null,
          template: null,
        };
      }
      return {
        serverId,
        accountNumber,
        version: row.version,
        rules: row.rules.map(({ rule }) => rule),
        commandId: row.template_command_id ?? row.command_id,
        activeFrom: row.active_from?.toISOString() ?? null,
        template: templateOf(row),
      };
    },
  };
}

/** Locks the newest version of an account's rules until the transaction ends. */
export async function lockNewest(
  transaction: Queryable,
  { serverId, accountNumber }: AccountRef,
): Promise<RuleVersionRow | null> {
  const [newest] = await transaction.query(NEWEST, [serverId, accountNumber]);
  return newest ?? null;
}

/**
 * Stores a version after `newest`, which this transaction has locked. If a rule has the id and type
 * of a rule of `newest`, its `since` stays the same.
 */
export async function addVersion(
  transaction: Queryable,
  version: NewRuleVersion,
  newest: RuleVersionRow | null,
  { partition, templateCommandId = null }: { readonly partition: number; readonly templateCommandId?: string | null },
): Promise<void> {
  const { serverId, accountNumber, organizationId, accountId, seed, initialBalanceMinor } = version;
  const number = (newest?.version ?? 0) + 1;
  const rules = version.rules.map((rule): StoredRule => {
    const earlier = newest?.rules.find((stored) => stored.rule.id === rule.id && stored.rule.type === rule.type);
    return { since: earlier?.since ?? number, rule };
  });
  await transaction.query(ADD, [
    serverId,
    accountNumber,
    number,
    organizationId,
    accountId,
    partition,
    JSON.stringify(rules),
    JSON.stringify(seed),
    initialBalanceMinor,
    version.commandId,
    version.template?.name ?? null,
    version.template?.version ?? null,
    templateCommandId,
    version.currency,
  ]);
}

/** The template that a version came from; null: a command set or removed rules on the account. */
export function templateOf({
  template_name: name,
  template_version: version,
}: Pick<RuleVersionRow, "template_name" | "template_version">): TemplateVersion | null {
  return name === null || version === null ? null : { name, version };
}
