/** Templates of risk rules, in PostgreSQL. */
import { column, type WorkTransaction } from "@kapi/commands";
import type { RiskTemplate } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";
import { type Database, type Queryable, statement } from "@kapi/postgres";

import type { SearchingTemplate, TemplateChange, TemplateName, TemplateState } from "../../domain/template-ports.ts";
import type { Template } from "../../domain/template.ts";

interface TemplateRow {
  readonly name: string;
  readonly version: number;
  readonly first_version: number;
  readonly state: Template["state"];
  readonly organization_id: string;
  readonly rules: Template["rules"];
  readonly applies_to: Template["appliesTo"];
  readonly new_accounts: boolean;
  readonly command_id: string;
}
interface ListedRow extends TemplateRow {
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly is_searching: boolean;
  readonly applied: number;
  readonly waiting: number;
  readonly failed: number;
}
interface SearchingRow {
  readonly server_id: string;
  readonly name: string;
  readonly version: number;
  readonly applies_to: Template["appliesTo"];
  readonly from_template_after: string | null;
  readonly selected_after: string | null;
}

const TEMPLATE_COLUMNS = `t.name, t.version, t.first_version, t.state, t.organization_id, t.rules, t.applies_to,
  t.new_accounts, t.command_id`;
const IN_ORDER = "order by t.created_at, t.name";

const LOCK_KEY = "hashtextextended(current_schema() || ' templates of ' || $1::text, 0)";
/**
 * Locks the templates of a server against changes until the transaction ends. A change waits, and
 * then finds every account whose rules came from the former version.
 */
export const KEEP_TEMPLATES = statement<unknown>(
  "risk-keep-templates",
  `select pg_advisory_xact_lock_shared(${LOCK_KEY})`,
);
/** Excludes transactions that give accounts the rules of templates; waits for running ones. */
const HOLD_TEMPLATES = statement<unknown>("risk-hold-templates", `select pg_advisory_xact_lock(${LOCK_KEY})`);
const ALL = statement<TemplateRow>(
  "risk-templates-of-server",
  `select ${TEMPLATE_COLUMNS} from templates t where t.server_id = $1 ${IN_ORDER}`,
);
// $1 server, $2 name; null: all active templates.
const LIST = statement<ListedRow>(
  "risk-list-templates",
  `select ${TEMPLATE_COLUMNS}, t.created_at, t.updated_at,
     t.from_template_after is not null or t.selected_after is not null as is_searching,
     (select count(distinct r.account_number) from rule_sets r
      where r.server_id = t.server_id and r.template_name = t.name and r.template_version = t.version
        and r.active_from_offset is not null)::int as applied,
     (select count(*) from rule_sets r
      where r.server_id = t.server_id and r.template_name = t.name and r.template_version = t.version
        and r.active_from_offset is null)::int
       + (select count(*) from template_accounts w
          where w.server_id = t.server_id and w.template_name = t.name and w.attempts = 0)::int as waiting,
     (select count(*) from template_accounts w
      where w.server_id = t.server_id and w.template_name = t.name and w.attempts > 0)::int as failed
   from templates t
   where t.server_id = $1 and ($2::text is null or t.name = $2) and t.state = 'active' ${IN_ORDER}`,
);
const STATE = statement<{ count: number; exists: boolean; is_removing: boolean }>(
  "risk-state-of-template",
  `select (count(*) filter (where t.state = 'active'))::int as count,
     coalesce(bool_or(t.state = 'active') filter (where t.name = $2), false) as exists,
     coalesce(bool_or(t.state = 'removed' and (t.from_template_after is not null or exists (
       select from template_accounts w where w.server_id = t.server_id and w.template_name = t.name
     ))) filter (where t.name = $2), false) as is_removing
   from templates t where t.server_id = $1`,
);
// $1 server, $2 name, $3 organization, $4 rules, $5 selection, $6 new accounts, $7 command,
// $8 partition.
const SET = statement<{ version: number }>(
  "risk-set-template",
  `insert into templates as t (server_id, name, version, first_version, state, organization_id, rules, applies_to,
     new_accounts, command_id, created_at, updated_at, partition, from_template_after, selected_after)
   values ($1, $2, 1, 1, 'active', $3, $4, $5, $6, $7, clock_timestamp(), clock_timestamp(), $8, '', '')
   on conflict (server_id, name) do update set
     version = t.version + 1,
     -- A template that is created again is another template.
     first_version = case when t.state = 'active' then t.first_version else t.version + 1 end,
     created_at = case when t.state = 'active' then t.created_at else excluded.created_at end,
     state = 'active', organization_id = excluded.organization_id, rules = excluded.rules,
     applies_to = excluded.applies_to, new_accounts = excluded.new_accounts, command_id = excluded.command_id,
     updated_at = excluded.updated_at, from_template_after = '', selected_after = ''
   returning version`,
);
// $1 server, $2 name, $3 new state, $4 command. If the template was deleted before, changes nothing
// and returns its version.
const DELETE = statement<{ version: number }>(
  "risk-delete-template",
  `with deleted as (
     update templates set version = version + 1, state = $3, command_id = $4, updated_at = clock_timestamp(),
       from_template_after = case when $3 = 'removed' then '' end, selected_after = null
     where server_id = $1 and name = $2 and state = 'active' returning version
   )
   select version from deleted
   union all select version from templates where server_id = $1 and name = $2
   order by version desc limit 1`,
);
// Only with the first deletion: a second one must keep the accounts that wait for the removal of
// their rules.
const DELETE_WAITING = statement<never>(
  "risk-delete-accounts-of-template",
  `delete from template_accounts w using templates t
   where w.server_id = $1 and w.template_name = $2 and t.server_id = $1 and t.name = $2 and t.state = 'active'`,
);
// $1 partitions, $2 limit.
const SEARCHING = statement<SearchingRow>(
  "risk-searching-templates",
  `select server_id, name, version, applies_to, from_template_after, selected_after from templates
   where partition = any($1::integer[]) and (from_template_after is not null or selected_after is not null)
   order by updated_at limit $2`,
);

/** Creates the part of the repository that stores templates. */
export function createTemplateStore(database: Database) {
  return {
    list: async (serverId: string, name: string | null): Promise<readonly RiskTemplate[]> => {
      const rows = await database.query(LIST, [serverId, name]);
      return rows.map((row) => listedFromRow(serverId, row));
    },
    all: (serverId: string) => allTemplates(database, serverId),
    async stateOf({ serverId, name }: TemplateName): Promise<TemplateState> {
      const [row] = await database.query(STATE, [serverId, name]);
      const { count, exists, is_removing: isRemoving } = assertDefined(row, "the counts");
      return { count, exists, isRemoving };
    },
    async searching(partitions: readonly number[], limit: number): Promise<readonly SearchingTemplate[]> {
      const rows = await database.query(SEARCHING, [column(partitions), limit]);
      return rows.map((row) => ({
        serverId: row.server_id,
        name: row.name,
        version: row.version,
        appliesTo: row.applies_to,
        fromTemplateAfter: row.from_template_after,
        selectedAfter: row.selected_after,
      }));
    },
    changeTemplate,
  };
}

/** Reads all templates of a server, including deleted ones, in the order of their creation. */
export async function allTemplates(database: Queryable, serverId: string): Promise<readonly Template[]> {
  return (await database.query(ALL, [serverId])).map(fromRow);
}

/** Sets or deletes a template in the transaction of its command. Returns the template's version. */
async function changeTemplate(
  transaction: WorkTransaction,
  change: TemplateChange,
  partition: number,
): Promise<number> {
  const { serverId, name, organizationId, commandId } = change;
  transaction.execute(HOLD_TEMPLATES, [serverId]);
  if (change.kind === "set") {
    const { rules, appliesTo, newAccounts } = change;
    const [set] = await transaction.query(SET, [
      serverId,
      name,
      organizationId,
      JSON.stringify(rules),
      JSON.stringify(appliesTo),
      newAccounts,
      commandId,
      partition,
    ]);
    return assertDefined(set, "the row of the template").version;
  }
  const state = change.accountRules === "remove" ? "removed" : "deleted";
  // Accounts that wait for rules of the template do not get them.
  transaction.execute(DELETE_WAITING, [serverId, name]);
  const [deleted] = await transaction.query(DELETE, [serverId, name, state, commandId]);
  return assertDefined(deleted, "the row of the template").version;
}

function fromRow(row: TemplateRow): Template {
  return {
    name: row.name,
    version: row.version,
    firstVersion: row.first_version,
    state: row.state,
    organizationId: row.organization_id,
    rules: row.rules,
    appliesTo: row.applies_to,
    newAccounts: row.new_accounts,
    commandId: row.command_id,
  };
}

function listedFromRow(serverId: string, row: ListedRow): RiskTemplate {
  const { name, version, rules, appliesTo, newAccounts, commandId } = fromRow(row);
  const { applied, waiting, failed } = row;
  return {
    serverId,
    name,
    version,
    rules: [...rules],
    appliesTo,
    newAccounts,
    commandId,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    progress: row.is_searching || waiting + failed > 0 ? "applying" : "applied",
    accounts: { applied, waiting, failed },
  };
}
