/** The accounts that a risk template applies to. */
import { RISK_TEMPLATE_STATUSES, type RiskTemplateSelection } from "@kapi/contracts";
import { type Database, statement } from "@kapi/postgres";

// $1 server, $2 statuses, $3 beginning of the name, or null.
const SELECTED = `server_id = $1 and status = any($2::text[]) and ($3::text is null or starts_with(account_name, $3))`;
const COUNT_SELECTED = statement<{ accounts: number }>(
  "account-count-selected",
  `select count(*)::int as accounts from accounts where ${SELECTED}`,
);
// $4 number to begin after, $5 limit.
const LIST_SELECTED = statement<{ account_number: string }>(
  "account-list-selected",
  `select account_number from accounts where ${SELECTED} and account_number > $4
   order by account_number limit $5`,
);

/** The number of accounts that `selection` selects. */
export async function countSelected(
  database: Database,
  serverId: string,
  selection: RiskTemplateSelection,
): Promise<number> {
  const [counted] = await database.query(COUNT_SELECTED, valuesOf(serverId, selection));
  return counted?.accounts ?? 0;
}

/** The numbers of the first `limit` selected accounts above `after`, in order. */
export async function listSelected(
  database: Database,
  serverId: string,
  selection: RiskTemplateSelection,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<string[]> {
  const rows = await database.query(LIST_SELECTED, [...valuesOf(serverId, selection), after, limit]);
  return rows.map((row) => row.account_number);
}

function valuesOf(serverId: string, { status, nameStartsWith }: RiskTemplateSelection): unknown[] {
  return [serverId, status ?? [...RISK_TEMPLATE_STATUSES], nameStartsWith ?? null];
}
