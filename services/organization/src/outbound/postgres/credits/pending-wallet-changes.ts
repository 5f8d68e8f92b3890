import { type Queryable, statement } from "@kapi/postgres";

import type { CreditStore, PendingWalletChange } from "../../../domain/credits/ports.ts";
import { columnsOf } from "../columns.ts";

const INSERT_ROWS = statement<Record<string, never>>(
  "pending_insert",
  `insert into pending_wallet_changes (charge_id, organization_id, kind, credits, epoch, created_at)
   select charge_id, organization_id, kind, credits, epoch, case when is_old then '-infinity' else now() end
   from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::boolean[])
     as given (charge_id, organization_id, kind, credits, epoch, is_old)
   on conflict (charge_id) do nothing`,
);
// Purchases first: in Redis, a purchase creates the wallet that a settlement needs.
const SELECT_ROWS = statement<PendingWalletChange>(
  "pending_select",
  `select charge_id as "chargeId", organization_id as "organizationId", kind, credits, epoch,
     created_at is null or created_at < now() - make_interval(secs => $3::float8 / 1000) as "isOld"
   from pending_wallet_changes
   where not exists (
     select from wallets
     where wallets.organization_id = pending_wallet_changes.organization_id and wallets.tag = any($2::smallint[]))
   order by kind = 'purchase' desc, charge_id limit $1`,
);
const DELETE_ROWS = statement<Record<string, never>>(
  "pending_delete",
  `delete from pending_wallet_changes where charge_id = any($1::uuid[])`,
);

/** Changes that the ledger has, and that wallets in Redis perhaps do not have yet. */
export function pendingChanges(
  database: Queryable,
): Pick<CreditStore, "insertPending" | "readPending" | "deletePending"> {
  return {
    insertPending: async (changes) => {
      if (changes.length === 0) return;
      const rows = changes.map((change) => ({ ...change, isOld: change.isOld ?? false }));
      const columns = ["chargeId", "organizationId", "kind", "credits", "epoch", "isOld"] as const;
      await database.query(INSERT_ROWS, columnsOf(rows, ...columns));
    },
    readPending: (limit, exceptShards, oldAfterMs) => database.query(SELECT_ROWS, [limit, exceptShards, oldAfterMs]),
    deletePending: async (chargeIds) => {
      if (chargeIds.length > 0) await database.query(DELETE_ROWS, [chargeIds]);
    },
  };
}
