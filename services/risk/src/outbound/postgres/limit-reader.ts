/** Reads accounts by their distance from the limits of their loss rules, in PostgreSQL. */
import { column } from "@kapi/commands";
import { type Database, type Statement, statement } from "@kapi/postgres";

import type { LimitReader, NearLimitQuery, StoredRule, StoredState } from "../../domain/ports.ts";

// The pool prefers index scans and generic plans. These statements read all states of the servers,
// for which other plans are faster.
const SETTINGS = statement<unknown>(
  "risk-limit-settings",
  `select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'on', true)`,
);
// The distance from the daily limit counts only until the end of its day.
const DAILY = "case when s.daily_until > now() then s.daily_left end";
// $1 servers, $2 type or null, $3 maximum distance or null.
const LEFT = `case when $2::text = 'dailyLoss' then ${DAILY} when $2::text = 'maxLoss' then s.loss_left
  else least(${DAILY}, s.loss_left) end`;
const MATCHING = `select s.server_id, s.account_number, ${LEFT} as distance from account_states s
  where s.server_id = any($1::uuid[]) and ${LEFT} <= coalesce($3::float8, 'infinity')`;
const COUNT = statement<{ total: number }>(
  "risk-count-near-limits",
  `select count(*)::int as total from (${MATCHING}) as near`,
);
// $4, $5 and $6: distance, server and number of the account before the page, or null. $7 limit.
const PAGE = statement<{
  server_id: string;
  account_number: string;
  version: number;
  state: StoredState["state"];
  rules: readonly StoredRule[];
}>(
  "risk-list-near-limits",
  `with page as materialized (
     select * from (${MATCHING}) as near
     where $4::float8 is null or (distance, server_id, account_number) > ($4, $5::uuid, $6::text)
     order by distance, server_id, account_number limit $7
   )
   select s.server_id, s.account_number, s.version, s.state, r.rules from page
   join account_states s using (server_id, account_number)
   join rule_sets r on r.server_id = s.server_id and r.account_number = s.account_number and r.version = s.version
   order by page.distance, s.server_id, s.account_number`,
);

/** Creates the reader; its methods are described in {@link LimitReader}. */
export function createLimitReader(database: Database): LimitReader {
  return {
    async near({ after, limit, ...query }) {
      const position = [after?.leftPercent ?? null, after?.serverId ?? null, after?.accountNumber ?? null];
      const rows = await readAll(database, PAGE, [...filterValues(query), ...position, limit]);
      return rows.map((row) => ({
        serverId: row.server_id,
        accountNumber: row.account_number,
        version: row.version,
        state: row.state,
        rules: row.rules,
      }));
    },
    async count(query) {
      const [row] = await readAll(database, COUNT, filterValues(query));
      return row?.total ?? 0;
    },
  };
}

function filterValues({ serverIds, type, within }: Pick<NearLimitQuery, "serverIds" | "type" | "within">): unknown[] {
  return [column(serverIds), type, within];
}

/** Runs a statement with {@link SETTINGS}, which apply only in its transaction. */
function readAll<Row>(database: Database, wanted: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
  return database.transaction((tx) => {
    tx.execute(SETTINGS, []);
    return tx.query(wanted, values);
  });
}
