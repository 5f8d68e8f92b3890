/**
 * Moves accounts and templates to the partitions of their keys, after `trading.valuations` has
 * grown (decisions, 28). The topic grew only after every valuation in the log was compared with the
 * rules. So active versions of rules apply to every valuation that is still to be read: from offset
 * 0 of the account's new partition.
 */
import { column } from "@kapi/commands";
import { accountKey, TOPICS } from "@kapi/contracts";
import { assertGrown, type KafkaConnection } from "@kapi/kafka";
import { type Database, type Queryable, type Statement, statement } from "@kapi/postgres";

/** Maximum number of accounts in one statement. */
const MAX_ACCOUNTS = 1_000;
/** Before every account: the first page follows it. */
const BEFORE_ALL = { server_id: "00000000-0000-0000-0000-000000000000", account_number: "" };

interface AccountRow {
  readonly server_id: string;
  readonly account_number: string;
}

const STORE_COUNT = statement<never>(
  "risk-store-partition-count",
  `insert into partition_counts as p (topic, partitions) values ($1, $2)
   on conflict (topic) do update set partitions = greatest(p.partitions, excluded.partitions)`,
);
const LOCK_COUNT = statement<{ partitions: number }>(
  "risk-lock-partition-count",
  `select partitions from partition_counts where topic = $1 for update`,
);
// Pages: $1 and $2 server and number of the last account of the previous page, $3 limit.
const ACCOUNTS_WITH_RULES = statement<AccountRow>(
  "risk-accounts-with-rules",
  `select distinct server_id, account_number from rule_sets where (server_id, account_number) > ($1, $2)
   order by server_id, account_number limit $3`,
);
const WAITING_ACCOUNTS = statement<AccountRow>(
  "risk-accounts-that-wait",
  `select distinct server_id, account_number from template_accounts where (server_id, account_number) > ($1, $2)
   order by server_id, account_number limit $3`,
);
// Columns: servers, numbers, partitions.
const MOVE_RULES = statement<never>(
  "risk-move-rules",
  `update rule_sets r set partition = m.partition,
     active_from_offset = case when r.active_from_offset is not null then 0 end
   from unnest($1::uuid[], $2::text[], $3::integer[]) as m(server_id, account_number, partition)
   where r.server_id = m.server_id and r.account_number = m.account_number and r.partition <> m.partition`,
);
const MOVE_STATES = statement<never>(
  "risk-move-states",
  `update account_states s set partition = m.partition
   from unnest($1::uuid[], $2::text[], $3::integer[]) as m(server_id, account_number, partition)
   where s.server_id = m.server_id and s.account_number = m.account_number and s.partition <> m.partition`,
);
const MOVE_WAITING = statement<never>(
  "risk-move-waiting-accounts",
  `update template_accounts w set partition = m.partition
   from unnest($1::uuid[], $2::text[], $3::integer[]) as m(server_id, account_number, partition)
   where w.server_id = m.server_id and w.account_number = m.account_number and w.partition <> m.partition`,
);
const TEMPLATE_SERVERS = statement<{ server_id: string }>(
  "risk-servers-with-templates",
  `select distinct server_id from templates`,
);
const MOVE_TEMPLATES = statement<never>(
  "risk-move-templates",
  `update templates t set partition = m.partition from unnest($1::uuid[], $2::integer[]) as m(server_id, partition)
   where t.server_id = m.server_id and t.partition <> m.partition`,
);
const END_OWNERS = statement<never>("risk-end-owners", `update partitions set token = token + 1`);

/**
 * Must run before this process joins the group of `trading.valuations`. The first process that
 * finds more partitions than are stored moves the accounts; other processes wait for its
 * transaction.
 * @param partitions the present number of partitions.
 * @param partitionOf the partition of a key among them.
 * @throws if another tool than `kapi admin partitions grow` changed the number of partitions.
 */
export async function moveAccounts(
  database: Database,
  kafka: KafkaConnection,
  partitions: number,
  partitionOf: (key: string) => number,
): Promise<void> {
  const { name } = TOPICS.tradingValuations;
  await database.transaction(async (transaction) => {
    await transaction.query(STORE_COUNT, [name, 0]);
    const [stored] = await transaction.query(LOCK_COUNT, [name]);
    const before = stored?.partitions ?? 0;
    assertGrown(kafka, TOPICS.tradingValuations, before, partitions);
    if (before === partitions) return;
    await movePages(transaction, ACCOUNTS_WITH_RULES, [MOVE_RULES, MOVE_STATES], partitionOf);
    await movePages(transaction, WAITING_ACCOUNTS, [MOVE_WAITING], partitionOf);
    const servers = (await transaction.query(TEMPLATE_SERVERS, [])).map(({ server_id: serverId }) => serverId);
    await transaction.query(MOVE_TEMPLATES, [column(servers), column(servers.map(partitionOf))]);
    if (before > 0) await transaction.query(END_OWNERS, []);
    await transaction.query(STORE_COUNT, [name, partitions]);
  });
}

async function movePages(
  transaction: Queryable,
  page: Statement<AccountRow>,
  moves: readonly Statement<never>[],
  partitionOf: (key: string) => number,
): Promise<void> {
  let last: AccountRow | undefined = BEFORE_ALL;
  while (last !== undefined) {
    const rows: readonly AccountRow[] = await transaction.query(page, [
      last.server_id,
      last.account_number,
      MAX_ACCOUNTS,
    ]);
    const columns = [
      column(rows.map((row) => row.server_id)),
      column(rows.map((row) => row.account_number)),
      column(rows.map((row) => partitionOf(accountKey(row.server_id, row.account_number)))),
    ];
    for (const move of moves) await transaction.query(move, columns);
    last = rows.at(-1);
  }
}
