import { assertDefined, toIso } from "@kapi/kernel";
import { type Database, type Queryable, statement } from "@kapi/postgres";
import { type SyncedWallet, type Shard, shardOf } from "@kapi/admission/redis";

import type {
  CreditStore,
  CreditTransaction,
  Reservation,
  WalletPlace,
  WalletRecord,
} from "../../../domain/credits/ports.ts";
import { type LedgerPosition, type PositionRow, positionFromRow } from "./ledger-positions.ts";

/** Rows per read of a sync. */
const ROWS_PER_SYNC_BATCH = 1_000;

const WALLET_COLUMNS = `wallets.organization_id as "organizationId", wallets.id,
   wallets.low_balance_threshold as "lowBalanceThreshold", wallets.created_at as "createdAt"`;

interface WalletRow extends Omit<WalletRecord, "createdAtMs"> {
  readonly createdAt: Date;
}

/** A wallet with one of its open reservations, or with null if it has none. */
interface SyncRow extends WalletRow, Pick<SyncedWallet, "available" | "reserved" | "consumed" | "purchased"> {
  readonly updatedAt: Date;
  readonly chargeId: string | null;
  readonly reservedCredits: number | null;
}

const INSERT_WALLET_ROW = statement<Record<string, never>>(
  "wallets_insert",
  `insert into wallets (organization_id, id, tag, low_balance_threshold, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $5) on conflict (organization_id) do nothing`,
);
const SET_THRESHOLD_ROW = statement<{ id: string }>(
  "wallets_set_threshold",
  `update wallets set low_balance_threshold = $2, updated_at = $3 where organization_id = $1 returning id`,
);
const SELECT_WALLET_ROW = statement<WalletRow>(
  "wallets_select",
  `select ${WALLET_COLUMNS} from wallets where organization_id = $1`,
);

const LOCK_SHARD = statement<Record<string, never>>(
  "wallets_lock_tag",
  `select pg_advisory_xact_lock(hashtext(current_schema()), $1::int)`,
);
/**
 * Raising the epoch into a new month copies the wallets of the shard: 1.5 to 4.5 s for 200,000
 * wallets, more than the usual timeout.
 */
const RAISE_TIMEOUT_MS = 60_000;
/** Above PostgreSQL's timeout, so that PostgreSQL ends the statement first. */
const RAISE_ANSWER_TIMEOUT_MS = RAISE_TIMEOUT_MS + 1_000;
const ALLOW_RAISE = statement<Record<string, never>>(
  "wallets_allow_raise",
  `set local statement_timeout = ${RAISE_TIMEOUT_MS}`,
);
const END_RAISE = statement<Record<string, never>>("wallets_end_raise", `set local statement_timeout to default`);
// A trigger closes the month when the epoch enters the next one; see migrations/0015.
const RAISE_EPOCH = statement<PositionRow>(
  "wallets_raise_epoch",
  `update tags set epoch = greatest(epoch + 1, extract(epoch from now())::bigint) where tag = $1
   returning epoch, previous_epoch, (select months_from from credit_ledger) as months_from`,
  { answerTimeoutMs: RAISE_ANSWER_TIMEOUT_MS },
);
// `offset 0` makes PostgreSQL find the reservations of each wallet by their index. Without it, if
// one wallet has most reservations, PostgreSQL reads all reservations again for every wallet.
const SELECT_FOR_SYNC = statement<SyncRow>(
  "wallets_select_for_opening",
  `select ${WALLET_COLUMNS}, wallets.purchased, wallets.reserved, wallets.consumed, wallets.available,
     wallets.updated_at as "updatedAt", open.charge_id as "chargeId", open.credits as "reservedCredits"
   from wallets left join lateral (
     select charge_id, credits from open_reservations as kept
     where kept.organization_id = wallets.organization_id offset 0) as open on true
   where wallets.tag = $1 order by wallets.tag, wallets.organization_id`,
);
const SELECT_PLACES = statement<WalletPlace>(
  "wallets_select_organizations",
  `select tag as shard, organization_id as "organizationId" from wallets
   where tag = any($1::smallint[]) and (tag, organization_id) > ($2, $3)
   order by tag, organization_id limit $4`,
);
const BEFORE_ALL_WALLETS: WalletPlace = { shard: -1, organizationId: "00000000-0000-0000-0000-000000000000" };
// `command` (from a sync) and null (from an older release) mean that the operation is unknown: it
// may be an export, which has the later deadline.
const SELECT_OLD_RESERVATIONS = statement<Reservation>(
  "wallets_select_old_reservations",
  `select charge_id as "chargeId", coalesce(command_id, charge_id) as "commandId", organization_id as "organizationId",
     credits, at::text
   from open_reservations
   where at < $1 and (at < $2 or operation not in ('exportAccountHistory', 'command')) and (at, charge_id) > ($3, $4)
   order by open_reservations.at, charge_id limit $5`,
);
const BEFORE_ALL = { at: "-infinity", chargeId: "00000000-0000-0000-0000-000000000000" };

/** The wallets' part of a transaction. */
export function walletTransaction(
  tx: Queryable,
): Pick<CreditTransaction, "insertWallet" | "readWallet" | "setLowBalanceThreshold"> {
  return {
    insertWallet: async ({ organizationId, id, lowBalanceThreshold, createdAtMs }) => {
      const shard = shardOf(organizationId);
      await tx.query(INSERT_WALLET_ROW, [organizationId, id, shard, lowBalanceThreshold, toIso(createdAtMs)]);
    },
    readWallet: (organizationId) => readWallet(tx, organizationId),
    setLowBalanceThreshold: async (organizationId, credits, nowMs) =>
      (await tx.query(SET_THRESHOLD_ROW, [organizationId, credits, toIso(nowMs)])).length > 0,
  };
}

/** Reads of wallets and open reservations. */
export function walletStore(
  database: Database,
): Pick<CreditStore, "readWallet" | "walletsOf" | "readForSync" | "oldReservations"> {
  return {
    readWallet: (organizationId) => readWallet(database, organizationId),
    walletsOf: (shards, after, limit) => {
      const { shard, organizationId } = after ?? BEFORE_ALL_WALLETS;
      return database.query(SELECT_PLACES, [shards, shard, organizationId, limit]);
    },
    readForSync: (shard, sync) => readForSync(database, shard, sync),
    oldReservations: ({ beforeMs, longBeforeMs, after }, limit) => {
      const { at, chargeId } = after ?? BEFORE_ALL;
      return database.query(SELECT_OLD_RESERVATIONS, [toIso(beforeMs), toIso(longBeforeMs), at, chargeId, limit]);
    },
  };
}

async function readWallet(database: Queryable, organizationId: string): Promise<WalletRecord | null> {
  const [row] = await database.query(SELECT_WALLET_ROW, [organizationId]);
  return row ? walletFromRow(row) : null;
}

/**
 * Holds the shard's lock exclusively until the transaction ends, and raises its epoch. Returns the
 * shard's new position: all earlier entries have a lower epoch.
 */
export async function raiseEpochExclusively(tx: Queryable, shard: Shard): Promise<LedgerPosition> {
  await tx.query(LOCK_SHARD, [shard]);
  await tx.query(ALLOW_RAISE, []);
  const [raised] = await tx.query(RAISE_EPOCH, [shard]);
  await tx.query(END_RAISE, []);
  return positionFromRow(assertDefined(raised, "the shard's row"));
}

/**
 * Reads {@link ROWS_PER_SYNC_BATCH} rows at a time. The snapshot is taken under the exclusive lock.
 * The lock is released, and the epoch committed, before `sync` is called.
 */
export async function readForSync<T>(
  database: Database,
  shard: Shard,
  sync: (epoch: number, wallets: AsyncIterable<readonly SyncedWallet[]>) => Promise<T>,
): Promise<T> {
  // The stream has its own connection: on the connection of the transaction, the commit would
  // close the cursor of the stream.
  const batches = database.stream(SELECT_FOR_SYNC, [shard], ROWS_PER_SYNC_BATCH)[Symbol.asyncIterator]();
  try {
    const [epoch, first] = await database.transaction(async (tx) => {
      const position = await raiseEpochExclusively(tx, shard);
      return [position.epoch, await batches.next()] as const;
    });
    return await sync(epoch, syncedWallets(first, batches));
  } finally {
    await batches.return?.();
  }
}

async function* syncedWallets(
  first: IteratorResult<SyncRow[]>,
  batches: AsyncIterator<SyncRow[]>,
): AsyncGenerator<SyncedWallet[], void, undefined> {
  for (let batch = first; batch.done !== true; batch = await batches.next()) {
    const rows = Map.groupBy(batch.value, (row) => row.organizationId);
    yield [...rows.values()].map((ofWallet) => syncedWalletFromRows(ofWallet));
  }
}

function syncedWalletFromRows(rows: readonly SyncRow[]): SyncedWallet {
  const row = assertDefined(rows[0], "a wallet's row");
  const { available, reserved, consumed, purchased, updatedAt } = row;
  const reservations = rows.flatMap(({ chargeId, reservedCredits: credits }) =>
    chargeId === null || credits === null ? [] : [{ chargeId, credits }],
  );
  const sums = { available, reserved, consumed, purchased };
  return { ...walletFromRow(row), ...sums, updatedAtMs: updatedAt.getTime(), reservations };
}

function walletFromRow({ organizationId, id, lowBalanceThreshold, createdAt }: WalletRow): WalletRecord {
  return { organizationId, id, lowBalanceThreshold, createdAtMs: createdAt.getTime() };
}
