/** Lists the accounts that a template applies to, from PostgreSQL. */
import type { TemplateAccount } from "@kapi/contracts";
import { type Database, statement } from "@kapi/postgres";

import type { ListTemplateAccounts } from "../../domain/template-ports.ts";

interface Row {
  readonly account_number: string;
  readonly template_version: number | null;
  /** Null: the account has no rules of this template, and does not wait for them. */
  readonly state: TemplateAccount["state"] | null;
}

// $1 server, $2 template, $3 the last account of the previous page, $4 limit. Accounts that once
// had rules of the template count for the limit too. Otherwise one page might read all of them.
const LIST = statement<Row>(
  "risk-list-accounts-of-template",
  `with named as (
     (select distinct r.account_number from rule_sets r
      where r.server_id = $1 and r.template_name = $2 and r.account_number > $3 order by 1 limit $4)
     union
     (select w.account_number from template_accounts w
      where w.server_id = $1 and w.template_name = $2 and w.account_number > $3 order by 1 limit $4)
     order by 1 limit $4
   )
   select a.account_number, n.template_version,
     case when w.attempts > 0 then 'failed'
       when w.attempts = 0 then 'waiting'
       when n.template_version = t.version and n.is_active then 'applied'
       when n.template_version is not null then 'waiting' end as state
   from named a
   join templates t on t.server_id = $1 and t.name = $2 and t.state = 'active'
   left join lateral (
     select case when r.template_name = $2 then r.template_version end as template_version,
       r.active_from_offset is not null as is_active
     from rule_sets r where r.server_id = $1 and r.account_number = a.account_number
     order by r.version desc limit 1
   ) n on true
   left join template_accounts w
     on w.server_id = $1 and w.account_number = a.account_number and w.template_name = $2
   order by 1`,
);

/**
 * Creates the reader of a page. A page may have fewer accounts than `limit` although another page
 * follows (`next`).
 */
export function createTemplateAccounts(database: Database): ListTemplateAccounts {
  return async ({ serverId, name }, after, limit) => {
    const rows = await database.query(LIST, [serverId, name, after, limit]);
    const accounts = rows.flatMap(({ account_number: accountNumber, template_version: templateVersion, state }) =>
      state === null ? [] : [{ accountNumber, templateVersion, state }],
    );
    return { accounts, next: rows.length < limit ? null : (rows.at(-1)?.account_number ?? null) };
  };
}
