/** Versions of risk rules, in PostgreSQL. */
import { column } from "@kapi/commands";
import { type Database, statement } from "@kapi/postgres";

import type { AccountName, NewRuleVersion, ReadRules, StoredRule } from "../../domain/ports.ts";
import { RULE_VERSION_COLUMNS, type RuleVersionRow } from "./rule-version-row.ts";

const NEWEST = statement<RuleVersionRow>(
  "risk-newest-version",
  `select ${RULE_VERSION_COLUMNS} from rule_sets r
   where r.server_id = $1 and r.account_number = $2 order by r.version desc limit 1 for update`,
);
const ADD = statement<never>(
  "risk-add-version",
  `insert into rule_sets (server_id, account_number, version, organization_id, account_id, partition, rules, seed,
     initial_balance_minor, command_id, currency, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now()) on conflict (command_id) do nothing`,
);
const ACTIVE = statement<RuleVersionRow>(
  "risk-active-version",
  `select ${RULE_VERSION_COLUMNS} from rule_sets r
   where r.server_id = $1 and r.account_number = $2 and r.active_from_offset is not null
   order by r.version desc limit 1`,
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

export interface RuleRepository {
  /**
   * Stores a version after the newest one, once for each command. Rejects with a unique violation
   * if another process stored a version of the account at the same time.
   */
  add(version: NewRuleVersion, partition: number): Promise<void>;
  readonly active: ReadRules;
  /** Deletes all versions of the rules of deleted accounts, and their states. Breaches stay. */
  deleteRules(accounts: readonly AccountName[]): Promise<void>;
}

export function createRuleRepository(database: Database): RuleRepository {
  return {
    add: (version, partition) =>
      database.transaction(async (transaction) => {
        const { serverId, accountNumber, organizationId, accountId, seed, initialBalanceMinor, commandId } = version;
        const [newest] = await transaction.query(NEWEST, [serverId, accountNumber]);
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
          commandId,
          version.currency,
        ]);
      }),
    async deleteRules(accounts) {
      await database.query(DELETE_RULES, [
        column(accounts.map(({ serverId }) => serverId)),
        column(accounts.map(({ accountNumber }) => accountNumber)),
      ]);
    },
    async active({ serverId, accountNumber }) {
      const [row] = await database.query(ACTIVE, [serverId, accountNumber]);
      if (row === undefined) {
        return { serverId, accountNumber, version: 0, rules: [], commandId: null, activeFrom: null };
      }
      return {
        serverId,
        accountNumber,
        version: row.version,
        rules: row.rules.map(({ rule }) => rule),
        commandId: row.command_id,
        activeFrom: row.active_from?.toISOString() ?? null,
      };
    },
  };
}
