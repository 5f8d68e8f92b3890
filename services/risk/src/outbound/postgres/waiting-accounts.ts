/** Accounts that wait to be compared with the templates of their server, in PostgreSQL. */
import { column } from "@kapi/commands";
import { uuidV5 } from "@kapi/kernel";
import { type Database, statement } from "@kapi/postgres";

import type { LocatedAccount, OpenAccount, SearchingTemplate, WaitingAccount } from "../../domain/template-ports.ts";
import { rulesFromTemplates } from "../../domain/template.ts";
import { addVersion, lockNewest, templateOf } from "./rule-repository.ts";
import { allTemplates, KEEP_TEMPLATES } from "./template-repository.ts";

interface WaitingRow {
  readonly server_id: string;
  readonly account_number: string;
  readonly template_name: string;
  readonly partition: number;
  readonly revision: number;
  readonly attempts: number;
  readonly is_own: boolean | null;
  readonly is_inactive: boolean | null;
}

/**
 * Pause before the next comparison while the newest version of the account's rules comes from a
 * command on the account and is not active yet.
 */
const UNCERTAIN_PAUSE_MS = 1_000;
/** The account is compared again, even if it is being compared now: it gets another revision. */
const AGAIN = `on conflict (server_id, account_number, template_name) do update set
  revision = template_accounts.revision + 1, attempts = 0, due_at = excluded.due_at`;
/** The template still has the version that the caller has read. */
const IS_CURRENT = "server_id = $1 and name = $2 and version = $3";

// $1 server, $2 name, $3 version, $4 the last account that the search has found, $5 limit. Adds
// nothing if another process has continued the search meanwhile.
const ADD_FROM_TEMPLATE = statement<never>(
  "risk-add-accounts-from-template",
  `with page as (
     select distinct account_number, partition from rule_sets
     where server_id = $1 and template_name = $2 and account_number > $4 order by account_number limit $5
   ), moved as (
     update templates set
       from_template_after = (select case when count(*) = $5 then max(account_number) end from page)
     where ${IS_CURRENT} and from_template_after = $4 returning true
   )
   insert into template_accounts (server_id, account_number, template_name, partition)
   select $1, account_number, $2, partition from page where exists (select from moved) order by account_number
   ${AGAIN}`,
);
// $1 server, $2 name, $3 version, $4 the last account of the previous page, $5 the last account of
// this page, or null if no page follows, $6 numbers, $7 partitions.
const ADD_SELECTED = statement<never>(
  "risk-add-selected-accounts",
  `with moved as (
     update templates set selected_after = $5 where ${IS_CURRENT} and selected_after = $4 returning true
   )
   insert into template_accounts (server_id, account_number, template_name, partition)
   select $1, u.account_number, $2, u.partition from unnest($6::text[], $7::integer[]) as u(account_number, partition)
   where exists (select from moved) order by u.account_number
   ${AGAIN}`,
);
const ADD_CHANGED = statement<never>(
  "risk-add-changed-accounts",
  `insert into template_accounts (server_id, account_number, template_name, partition)
   select distinct u.server_id, u.account_number, '', u.partition
   from unnest($1::uuid[], $2::text[], $3::integer[]) as u(server_id, account_number, partition)
   where exists (
     select from templates t where t.server_id = u.server_id and t.state = 'active' and t.new_accounts
   )
   order by 1, 2
   ${AGAIN}`,
);
// $1 partitions, $2 limit per server. The recursive part finds each server by one index lookup.
const DUE = statement<WaitingRow>(
  "risk-due-accounts",
  `with recursive servers (server_id) as (
     (select server_id from template_accounts order by server_id limit 1)
     union all
     select (select w.server_id from template_accounts w where w.server_id > s.server_id order by 1 limit 1)
     from servers s where s.server_id is not null
   )
   select w.server_id, w.account_number, w.template_name, w.partition, w.revision::float8 as revision, w.attempts,
     n.is_own, n.is_inactive
   from servers s
   cross join lateral (
     select w.server_id, w.account_number, w.template_name, w.partition, w.revision, w.attempts
     from template_accounts w
     where w.server_id = s.server_id and w.due_at <= statement_timestamp() and w.partition = any($1::integer[])
     order by (w.template_name <> ''), w.due_at limit $2
   ) w
   left join lateral (
     select r.template_name is null as is_own, r.active_from_offset is null as is_inactive from rule_sets r
     where r.server_id = w.server_id and r.account_number = w.account_number order by r.version desc limit 1
   ) n on true`,
);
const COUNT_INACTIVE = statement<{ versions: number }>(
  "risk-count-inactive-versions",
  `select count(*)::int as versions from rule_sets
   where partition = any($1::integer[]) and active_from_offset is null`,
);
const NAMED = `unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[])
  as d(server_id, account_number, template_name, revision)`;
const IS_NAMED = `w.server_id = d.server_id and w.account_number = d.account_number
  and w.template_name = d.template_name and w.revision = d.revision`;
const REMOVE = statement<never>(
  "risk-remove-waiting-accounts",
  `delete from template_accounts w using ${NAMED} where ${IS_NAMED}`,
);
// $5 pause in milliseconds, $6 failed attempts.
const POSTPONE = statement<never>(
  "risk-postpone-waiting-accounts",
  `update template_accounts w set attempts = w.attempts + $6,
     due_at = clock_timestamp() + $5 * interval '1 millisecond'
   from ${NAMED} where ${IS_NAMED}`,
);
const LOCK = statement<{ revision: number }>(
  "risk-lock-waiting-account",
  `select revision::float8 as revision from template_accounts
   where server_id = $1 and account_number = $2 and template_name = $3 and revision = $4 for update`,
);

/** Creates the part of the repository that stores waiting accounts. */
export function createWaitingAccounts(database: Database) {
  return {
    async addFromTemplate({ serverId, name, version, fromTemplateAfter }: SearchingTemplate, limit: number) {
      await database.query(ADD_FROM_TEMPLATE, [serverId, name, version, fromTemplateAfter, limit]);
    },
    async addSelected(
      { serverId, name, version, selectedAfter }: SearchingTemplate,
      accounts: readonly LocatedAccount[],
      isLast: boolean,
    ) {
      const next = isLast ? null : (accounts.at(-1)?.accountNumber ?? null);
      const numbers = column(accounts.map(({ accountNumber }) => accountNumber));
      const partitions = column(accounts.map(({ partition }) => partition));
      await database.query(ADD_SELECTED, [serverId, name, version, selectedAfter, next, numbers, partitions]);
    },
    async addChanged(accounts: readonly LocatedAccount[]) {
      await database.query(ADD_CHANGED, [
        column(accounts.map(({ serverId }) => serverId)),
        column(accounts.map(({ accountNumber }) => accountNumber)),
        column(accounts.map(({ partition }) => partition)),
      ]);
    },
    async due(partitions: readonly number[], limit: number) {
      const rows = await database.query(DUE, [column(partitions), limit]);
      return rows.map(fromRow);
    },
    async waitingVersions(partitions: readonly number[]) {
      const [counted] = await database.query(COUNT_INACTIVE, [column(partitions)]);
      return counted?.versions ?? 0;
    },
    async remove(accounts: readonly WaitingAccount[]) {
      if (accounts.length > 0) await database.query(REMOVE, keysOf(accounts));
    },
    async postpone(accounts: readonly WaitingAccount[], pauseMs: number, hasFailed: boolean) {
      if (accounts.length > 0) await database.query(POSTPONE, [...keysOf(accounts), pauseMs, hasFailed ? 1 : 0]);
    },
    apply: (waiting: WaitingAccount, account: OpenAccount) => apply(database, waiting, account),
  };
}

/** Compares an account with the templates of its server. Returns whether a version was stored. */
function apply(database: Database, waiting: WaitingAccount, account: OpenAccount): Promise<boolean> {
  const { serverId, accountNumber, templateName, revision, partition } = waiting;
  return database.transaction(async (transaction) => {
    transaction.execute(KEEP_TEMPLATES, [serverId]);
    // A deletion of the account deletes this row before the rules. So the deletion waits
    // for this transaction, or this transaction finds no row.
    const held = await transaction.query(LOCK, [serverId, accountNumber, templateName ?? "", revision]);
    if (held.length === 0) return false;
    const newest = await lockNewest(transaction, waiting);
    const template = newest === null ? null : templateOf(newest);
    // A command on the account made the newest version. It is not active and may be discarded.
    if (newest !== null && newest.template_command_id === null && newest.active_from_offset === null) {
      transaction.execute(POSTPONE, [...keysOf([waiting]), UNCERTAIN_PAUSE_MS, 0]);
      return false;
    }
    transaction.execute(REMOVE, keysOf([waiting]));
    const rulesFrom = newest === null ? null : (template ?? "own");
    const given = rulesFromTemplates(account, rulesFrom, await allTemplates(transaction, serverId), templateName);
    if (given === null) return false;
    const { name, version, organizationId, commandId } = given.template;
    await addVersion(
      transaction,
      {
        serverId,
        accountNumber,
        organizationId,
        accountId: account.accountId,
        rules: given.rules,
        seed: account.seed,
        initialBalanceMinor: account.initialBalanceMinor,
        currency: account.currency,
        commandId: uuidV5(commandId, `${accountNumber}/${(newest?.version ?? 0) + 1}`),
        template: { name, version },
      },
      newest,
      { partition, templateCommandId: commandId },
    );
    return true;
  });
}

function fromRow(row: WaitingRow): WaitingAccount {
  const ownRules = row.is_inactive === true ? "uncertain" : "own";
  return {
    serverId: row.server_id,
    accountNumber: row.account_number,
    templateName: row.template_name === "" ? null : row.template_name,
    partition: row.partition,
    revision: row.revision,
    attempts: row.attempts,
    rules: row.is_own === true ? ownRules : null,
  };
}

function keysOf(accounts: readonly WaitingAccount[]): unknown[] {
  return [
    column(accounts.map(({ serverId }) => serverId)),
    column(accounts.map(({ accountNumber }) => accountNumber)),
    column(accounts.map(({ templateName }) => templateName ?? "")),
    column(accounts.map(({ revision }) => revision)),
  ];
}
