import { type Queryable, statement } from "@kapi/postgres";
import type { Shard } from "@kapi/admission/redis";

import type { PendingWalletChange } from "../../../domain/credits/ports.ts";

interface Row {
  readonly charge_id: string;
  readonly organization_id: string;
  readonly kind: PendingWalletChange["kind"];
  readonly credits: number;
  readonly epoch: number;
  readonly is_old: boolean;
}

const insertRows = statement<Record<string, never>>(
  "pending_insert",
  `insert into pending_wallet_changes (charge_id, organization_id, kind, credits, epoch, created_at)
   select charge_id, organization_id, kind, credits, epoch, case when is_old then '-infinity' else now() end
   from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::boolean[])
     as given (charge_id, organization_id, kind, credits, epoch, is_old)
   on conflict (charge_id) do nothing`,
);
// Purchases first: they create the wallet that a settlement needs.
const selectRows = statement<Row>(
  "pending_select",
  `select charge_id, organization_id, kind, credits, epoch,
     created_at is null or created_at < now() - make_interval(secs => $3::float8 / 1000) as is_old
   from pending_wallet_changes
   where not exists (
     select from wallets
     where wallets.organization_id = pending_wallet_changes.organization_id and wallets.tag = any($2::smallint[]))
   order by kind = 'purchase' desc, charge_id limit $1`,
);
const deleteRows = statement<Record<string, never>>(
  "pending_delete",
  `delete from pending_wallet_changes where charge_id = any($1::uuid[])`,
);

export async function insertPending(database: Queryable, changes: readonly PendingWalletChange[]): Promise<void> {
  if (changes.length === 0) return;
  await database.query(insertRows, [
    changes.map((change) => change.chargeId),
    changes.map((change) => change.organizationId),
    changes.map((change) => change.kind),
    changes.map((change) => change.credits),
    changes.map((change) => change.epoch),
    changes.map((change) => change.isOld ?? false),
  ]);
}

/**
 * At most `limit` changes that wait for Redis, without those of `exceptShards`. Old after
 * `oldAfterMs`.
 */
export async function readPending(
  database: Queryable,
  limit: number,
  exceptShards: readonly Shard[],
  oldAfterMs: number,
): Promise<PendingWalletChange[]> {
  const rows = await database.query(selectRows, [limit, exceptShards, oldAfterMs]);
  return rows.map((row) => ({
    chargeId: row.charge_id,
    organizationId: row.organization_id,
    kind: row.kind,
    credits: row.credits,
    epoch: row.epoch,
    isOld: row.is_old,
  }));
}

/** Removes changes that Redis has applied. */
export async function deletePending(database: Queryable, chargeIds: readonly string[]): Promise<void> {
  if (chargeIds.length > 0) await database.query(deleteRows, [chargeIds]);
}
