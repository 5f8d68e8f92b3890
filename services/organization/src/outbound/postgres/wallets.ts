import { assertDefined, toIso } from "@kapi/kernel";
import { type Queryable, statement } from "@kapi/postgres";
import { type OpeningWallet, type Tag, tagOf } from "@kapi/redis";

import type { OldReservations, Reservation, WalletRecord } from "../../domain/ports.ts";

interface WalletRow {
  readonly organization_id: string;
  readonly id: string;
  readonly purchased: number;
  readonly reserved: number;
  readonly consumed: number;
  readonly available: number;
  readonly low_balance_threshold: number;
  readonly created_at: Date;
  readonly updated_at: Date;
}

interface ReservationRow {
  readonly charge_id: string;
  readonly organization_id: string;
  readonly credits: number;
}

const insertWalletRow = statement<Record<string, never>>(
  "wallets_insert",
  `insert into wallets (organization_id, id, tag, low_balance_threshold, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $5) on conflict (organization_id) do nothing`,
);
const setThresholdRow = statement<{ id: string }>(
  "wallets_set_threshold",
  `update wallets set low_balance_threshold = $2, updated_at = $3 where organization_id = $1 returning id`,
);
const selectWalletRow = statement<WalletRow>("wallets_select", `select * from wallets where organization_id = $1`);

const lockTag = statement<Record<string, never>>(
  "wallets_lock_tag",
  `select pg_advisory_xact_lock(hashtext(current_schema()), $1::int)`,
);
const raiseEpoch = statement<{ epoch: number }>(
  "wallets_raise_epoch",
  `update tags set epoch = greatest(epoch + 1, extract(epoch from now())::bigint) where tag = $1 returning epoch`,
);
const selectTagWallets = statement<WalletRow>("wallets_select_of_tag", `select * from wallets where tag = $1`);
const selectTagReservations = statement<ReservationRow>(
  "wallets_select_reservations",
  `select open_reservations.charge_id, open_reservations.organization_id, open_reservations.credits
   from open_reservations join wallets using (organization_id) where wallets.tag = $1`,
);
const selectOrganizationsOfTags = statement<{ organization_id: string }>(
  "wallets_select_organizations",
  `select organization_id from wallets where tag = any($1::smallint[])`,
);
const selectOldReservations = statement<ReservationRow & { at: Date }>(
  "wallets_select_old_reservations",
  `select charge_id, organization_id, credits, date_trunc('milliseconds', at) as at from open_reservations as open
   where at < $1 and (date_trunc('milliseconds', at), charge_id) > ($3, $4)
     and (at < $2 or exists (
       select from credit_legs
       where credit_legs.charge_id = open.charge_id and leg = 'reserve' and operation not in ('exportAccountHistory', 'command')))
   order by date_trunc('milliseconds', at), charge_id limit $5`,
);
const BEFORE_ALL = { atMs: 0, chargeId: "00000000-0000-0000-0000-000000000000" };

/** Makes an organization's wallet, empty, unless it has one. */
export async function insertWallet(tx: Queryable, wallet: WalletRecord): Promise<void> {
  const { organizationId, id, lowBalanceThreshold, createdAtMs } = wallet;
  await tx.query(insertWalletRow, [organizationId, id, tagOf(organizationId), lowBalanceThreshold, toIso(createdAtMs)]);
}

/** Sets the threshold of an organization's wallet, in credits; false: it has none. */
export async function setLowBalanceThreshold(
  tx: Queryable,
  organizationId: string,
  credits: number,
  nowMs: number,
): Promise<boolean> {
  return (await tx.query(setThresholdRow, [organizationId, credits, toIso(nowMs)])).length > 0;
}

/** An organization's wallet, or null. */
export async function readWallet(database: Queryable, organizationId: string): Promise<WalletRecord | null> {
  const [row] = await database.query(selectWalletRow, [organizationId]);
  return row ? walletFromRow(row, []) : null;
}

/** The organizations with a wallet in one of `tags`. */
export async function organizationsOf(database: Queryable, tags: readonly Tag[]): Promise<string[]> {
  const rows = await database.query(selectOrganizationsOfTags, [tags]);
  return rows.map((row) => row.organization_id);
}

/**
 * Waits until nobody records in the tag, keeps it so until the transaction ends, and raises the tag's epoch. Returns the new
 * epoch: every leg recorded before is of an earlier one.
 */
export async function raiseEpochAlone(tx: Queryable, tag: Tag): Promise<number> {
  await tx.query(lockTag, [tag]);
  const [raised] = await tx.query(raiseEpoch, [tag]);
  return assertDefined(raised, "the tag's row").epoch;
}

/**
 * Raises the tag's epoch and reads its wallets and open reservations. Alone with the tag until the transaction ends: every leg
 * that the wallets include is of an earlier epoch, every later one of this epoch or above.
 */
export async function readForOpening(tx: Queryable, tag: Tag): Promise<{ epoch: number; wallets: OpeningWallet[] }> {
  const epoch = await raiseEpochAlone(tx, tag);
  const rows = await tx.query(selectTagWallets, [tag]);
  const reservations = Map.groupBy(await tx.query(selectTagReservations, [tag]), (row) => row.organization_id);
  const wallets = rows.map((row) => walletFromRow(row, reservations.get(row.organization_id) ?? []));
  return { epoch, wallets };
}

/** Old reservations, the oldest first. */
export async function oldReservations(
  database: Queryable,
  { beforeMs, longBeforeMs, after }: OldReservations,
  limit: number,
): Promise<Reservation[]> {
  const { atMs, chargeId } = after ?? BEFORE_ALL;
  const rows = await database.query(selectOldReservations, [
    toIso(beforeMs),
    toIso(longBeforeMs),
    toIso(atMs),
    chargeId,
    limit,
  ]);
  return rows.map((row) => ({
    chargeId: row.charge_id,
    organizationId: row.organization_id,
    credits: row.credits,
    atMs: row.at.getTime(),
  }));
}

function walletFromRow(row: WalletRow, reservations: readonly ReservationRow[]): OpeningWallet {
  return {
    id: row.id,
    organizationId: row.organization_id,
    available: row.available,
    reserved: row.reserved,
    consumed: row.consumed,
    purchased: row.purchased,
    lowBalanceThreshold: row.low_balance_threshold,
    createdAtMs: row.created_at.getTime(),
    updatedAtMs: row.updated_at.getTime(),
    reservations: reservations.map((reservation) => ({
      chargeId: reservation.charge_id,
      credits: reservation.credits,
    })),
  };
}
