/**
 * The number of accounts per server and status, so that lists need not count them. Every
 * transaction that changes a status also changes the numbers: it inserts rows with the differences,
 * and merges them with rows that no other transaction has locked. So no transaction waits for
 * another, and the sum of the rows is always exact.
 */
import { column } from "@kapi/commands";
import type { AccountStatus } from "@kapi/contracts";
import { type Queryable, statement } from "@kapi/postgres";

import { STORED_STATUSES, type StoredStatus } from "../../domain/account-status.ts";

/** A status transition; `from` is null for new accounts. */
export interface StatusMove {
  readonly serverId: string;
  readonly from: StoredStatus | null;
  readonly to: StoredStatus;
}

/** Statuses that lists show. */
const LISTED: readonly StoredStatus[] = STORED_STATUSES.filter((status) => status !== "deleted");

// $1 servers, $2 statuses, $3 differences; each pair of server and status occurs once.
const ADD = statement<never>(
  "account-counts-add",
  `with added as materialized (
     select * from unnest($1::uuid[], $2::text[], $3::bigint[]) as added(server_id, status, accounts)
   ), taken as materialized (
     select c.server_id, c.status, c.n from added a join account_counts c using (server_id, status)
     for update of c skip locked
   ), gone as (
     delete from account_counts c using taken t
     where c.server_id = t.server_id and c.status = t.status and c.n = t.n
     returning c.server_id, c.status, c.accounts
   )
   insert into account_counts (server_id, status, accounts)
   select server_id, status, sum(accounts) from (select * from added union all select * from gone) all_of_them
   group by server_id, status`,
);
const COUNT = statement<{ total: number }>(
  "account-counts-sum",
  `select coalesce(sum(accounts), 0)::bigint as total from account_counts
   where server_id = $1 and status = any($2::text[])`,
);

const COUNT_BY_STATE = statement<{ server_id: string; status: StoredStatus; accounts: number }>(
  "account-counts-by-state",
  `select server_id, status, sum(accounts)::bigint as accounts from account_counts
   where server_id = any($1::uuid[]) and status = any($2::text[])
   group by server_id, status having sum(accounts) > 0`,
);

/** Adds `moves`, the transitions of the transaction `tx`, to the counts. */
export async function countMoves(tx: Queryable, moves: readonly StatusMove[]): Promise<void> {
  const byServer = new Map<string, Map<StoredStatus, number>>();
  for (const { serverId, from, to } of moves) {
    if (from === to) continue;
    const counts = byServer.get(serverId) ?? new Map<StoredStatus, number>();
    byServer.set(serverId, counts);
    if (from !== null) counts.set(from, (counts.get(from) ?? 0) - 1);
    counts.set(to, (counts.get(to) ?? 0) + 1);
  }
  const added = [...byServer].flatMap(([serverId, counts]) =>
    [...counts].flatMap(([status, accounts]) =>
      accounts === 0 || status === "deleted" ? [] : [{ serverId, status, accounts }],
    ),
  );
  if (added.length === 0) return;
  await tx.query(ADD, [
    column(added.map(({ serverId }) => serverId)),
    column(added.map(({ status }) => status)),
    column(added.map(({ accounts }) => accounts)),
  ]);
}

/** Number of listed accounts of a server, in one status or in all. */
export async function countAccounts(
  queryable: Queryable,
  serverId: string,
  status: StoredStatus | undefined,
): Promise<number> {
  const [row] = await queryable.query(COUNT, [serverId, column(status === undefined ? LISTED : [status])]);
  return row?.total ?? 0;
}

/** Number of listed accounts of each server by status, in the order of the servers. */
export async function countByState(
  queryable: Queryable,
  serverIds: readonly string[],
): Promise<Partial<Record<AccountStatus, number>>[]> {
  const rows = await queryable.query(COUNT_BY_STATE, [column(serverIds), column(LISTED)]);
  const byServer = Map.groupBy(rows, (row) => row.server_id);
  return serverIds.map((serverId) =>
    Object.fromEntries((byServer.get(serverId) ?? []).map(({ status, accounts }) => [status, accounts])),
  );
}
