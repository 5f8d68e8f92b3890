import { assertDefined, toIso } from "@kapi/kernel";
import { type Database, type Queryable, statement } from "@kapi/postgres";
import { type SyncedWallet, type Shard, shardOf } from "@kapi/admission/redis";

import type {
  LedgerPosition,
  OldReservations,
  Reservation,
  WalletPlace,
  WalletRecord,
} from "../../../domain/credits/ports.ts";
import { type PositionRow, positionFromRow } from "./ledger-positions.ts";

/** Rows per read of a sync. */
const ROWS_PER_SYNC_BATCH = 1_000;

const WALLET_COLUMNS = `wallets.organization_id, wallets.id, wallets.purchased, wallets.reserved, wallets.consumed,
   wallets.available, wallets.low_balance_threshold, wallets.created_at, wallets.updated_at`;

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

/** A wallet with one of its reservations. */
interface SyncRow extends WalletRow {
  readonly charge_id: string | null;
  readonly reserved_credits: number | null;
}

interface ReservationRow {
  readonly charge_id: string;
  readonly command_id: string;
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
const selectWalletRow = statement<WalletRow>(
  "wallets_select",
  `select ${WALLET_COLUMNS} from wallets where organization_id = $1`,
);

const lockShard = statement<Record<string, never>>(
  "wallets_lock_tag",
  `select pg_advisory_xact_lock(hashtext(current_schema()), $1::int)`,
);
/**
 * A new month copies the wallets of the shard: 1.5 to 4.5 s for 200,000, more than the usual
 * timeout.
 */
const RAISE_TIMEOUT_MS = 60_000;
/** The server's timeout comes first. */
const RAISE_ANSWER_TIMEOUT_MS = RAISE_TIMEOUT_MS + 1_000;
const allowRaise = statement<Record<string, never>>(
  "wallets_allow_raise",
  `set local statement_timeout = ${RAISE_TIMEOUT_MS}`,
);
const endRaise = statement<Record<string, never>>("wallets_end_raise", `set local statement_timeout to default`);
// A trigger closes the month when the epoch enters the next one; see migrations/0015.
const raiseEpoch = statement<PositionRow>(
  "wallets_raise_epoch",
  `update tags set epoch = greatest(epoch + 1, extract(epoch from now())::bigint) where tag = $1
   returning epoch, previous_epoch, (select months_from from credit_ledger) as months_from`,
  { answerTimeoutMs: RAISE_ANSWER_TIMEOUT_MS },
);
// `offset 0` makes PostgreSQL find the reservations of each wallet by their index. Otherwise, if
// one wallet has most reservations, all are read again for every wallet.
const selectForSync = statement<SyncRow>(
  "wallets_select_for_opening",
  `select ${WALLET_COLUMNS}, open.charge_id, open.credits as reserved_credits
   from wallets left join lateral (
     select charge_id, credits from open_reservations as kept
     where kept.organization_id = wallets.organization_id offset 0) as open on true
   where wallets.tag = $1 order by wallets.tag, wallets.organization_id`,
);
const selectOrganizationsOfShards = statement<{ tag: Shard; organization_id: string }>(
  "wallets_select_organizations",
  `select tag, organization_id from wallets
   where tag = any($1::smallint[]) and (tag, organization_id) > ($2, $3)
   order by tag, organization_id limit $4`,
);
const BEFORE_ALL_WALLETS: WalletPlace = { shard: -1, organizationId: "00000000-0000-0000-0000-000000000000" };
// An unknown operation may be an export.
const selectOldReservations = statement<ReservationRow & { at: string }>(
  "wallets_select_old_reservations",
  `select charge_id, coalesce(command_id, charge_id) as command_id, organization_id, credits, at::text from open_reservations
   where at < $1 and (at < $2 or operation not in ('exportAccountHistory', 'command')) and (at, charge_id) > ($3, $4)
   order by open_reservations.at, charge_id limit $5`,
);
const BEFORE_ALL = { at: "-infinity", chargeId: "00000000-0000-0000-0000-000000000000" };

/** Creates an empty wallet unless the organization has one. */
export async function insertWallet(tx: Queryable, wallet: WalletRecord): Promise<void> {
  const { organizationId, id, lowBalanceThreshold, createdAtMs } = wallet;
  await tx.query(insertWalletRow, [
    organizationId,
    id,
    shardOf(organizationId),
    lowBalanceThreshold,
    toIso(createdAtMs),
  ]);
}

/** False: the organization has no wallet. */
export async function setLowBalanceThreshold(
  tx: Queryable,
  organizationId: string,
  credits: number,
  nowMs: number,
): Promise<boolean> {
  return (await tx.query(setThresholdRow, [organizationId, credits, toIso(nowMs)])).length > 0;
}

export async function readWallet(database: Queryable, organizationId: string): Promise<WalletRecord | null> {
  const [row] = await database.query(selectWalletRow, [organizationId]);
  return row ? walletFromRow(row) : null;
}

/** At most `limit` wallets of `shards` after `after`, in order. */
export async function walletsOf(
  database: Queryable,
  shards: readonly Shard[],
  after: WalletPlace | null,
  limit: number,
): Promise<WalletPlace[]> {
  const { shard, organizationId } = after ?? BEFORE_ALL_WALLETS;
  const rows = await database.query(selectOrganizationsOfShards, [shards, shard, organizationId, limit]);
  return rows.map((row) => ({ shard: row.tag, organizationId: row.organization_id }));
}

/**
 * Takes the shard's lock exclusively until the transaction ends, and raises its epoch. Returns
 * where the shard records from then on: all entries before are of an earlier epoch.
 */
export async function raiseEpochExclusively(tx: Queryable, shard: Shard): Promise<LedgerPosition> {
  await tx.query(lockShard, [shard]);
  await tx.query(allowRaise, []);
  const [raised] = await tx.query(raiseEpoch, [shard]);
  await tx.query(endRaise, []);
  return positionFromRow(assertDefined(raised, "the shard's row"));
}

/**
 * Raises the shard's epoch and passes its wallets and open reservations to `sync`, {@link
 * ROWS_PER_SYNC_BATCH} rows at a time. They include exactly the entries of earlier epochs: the
 * snapshot is taken under the exclusive lock. The lock is released, and the epoch committed, before
 * `sync` is called.
 */
export async function readForSync<T>(
  database: Database,
  shard: Shard,
  open: (epoch: number, wallets: AsyncIterable<readonly SyncedWallet[]>) => Promise<T>,
): Promise<T> {
  // A second connection: the first one's commit would close the cursor.
  const batches = database.stream(selectForSync, [shard], ROWS_PER_SYNC_BATCH)[Symbol.asyncIterator]();
  try {
    const [epoch, first] = await database.transaction(async (tx) => {
      const position = await raiseEpochExclusively(tx, shard);
      return [position.epoch, await batches.next()] as const;
    });
    return await open(epoch, syncedWallets(first, batches));
  } finally {
    await batches.return?.();
  }
}

async function* syncedWallets(
  first: IteratorResult<SyncRow[]>,
  batches: AsyncIterator<SyncRow[]>,
): AsyncGenerator<SyncedWallet[], void, undefined> {
  for (let batch = first; batch.done !== true; batch = await batches.next()) {
    const rows = Map.groupBy(batch.value, (row) => row.organization_id);
    yield [...rows.values()].map((ofWallet) => syncedWalletFromRows(ofWallet));
  }
}

/** Oldest first. */
export async function oldReservations(
  database: Queryable,
  { beforeMs, longBeforeMs, after }: OldReservations,
  limit: number,
): Promise<Reservation[]> {
  const { at, chargeId } = after ?? BEFORE_ALL;
  const rows = await database.query(selectOldReservations, [toIso(beforeMs), toIso(longBeforeMs), at, chargeId, limit]);
  return rows.map((row) => ({
    chargeId: row.charge_id,
    commandId: row.command_id,
    organizationId: row.organization_id,
    credits: row.credits,
    at: row.at,
  }));
}

function syncedWalletFromRows(rows: readonly SyncRow[]): SyncedWallet {
  const row = assertDefined(rows[0], "a wallet's row");
  return {
    ...walletFromRow(row),
    available: row.available,
    reserved: row.reserved,
    consumed: row.consumed,
    purchased: row.purchased,
    updatedAtMs: row.updated_at.getTime(),
    reservations: rows.flatMap(({ charge_id: chargeId, reserved_credits: credits }) =>
      chargeId === null || credits === null ? [] : [{ chargeId, credits }],
    ),
  };
}

function walletFromRow(row: WalletRow): WalletRecord {
  return {
    id: row.id,
    organizationId: row.organization_id,
    lowBalanceThreshold: row.low_balance_threshold,
    createdAtMs: row.created_at.getTime(),
  };
}
