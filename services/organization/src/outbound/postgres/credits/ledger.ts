import { type CreditsEvent, TOPICS } from "@kapi/contracts";
import type { OutboxTransaction } from "@kapi/outbox";
import { type Queryable, statement, type Transaction } from "@kapi/postgres";
import { type Shard, shardOf } from "@kapi/admission/redis";
import { assertDefined, toIso, uuidV5 } from "@kapi/kernel";

import {
  type LedgerEntry,
  type LedgerEntryKind,
  type RecordedEntry,
  deltasByOrganization,
  distinctInOrder,
  entryName,
} from "../../../domain/credits/ledger-entry.ts";
import { crossedThreshold } from "../../../domain/credits/low-balance.ts";
import { isUsageLine } from "../../../domain/credits/usage-line.ts";
import { columnsOf } from "../columns.ts";
import { enqueue } from "../outbox.ts";
import { type LedgerPosition, type PositionRow, positionFromRow, tablesOf } from "./ledger-positions.ts";
import {
  type KnownEntry,
  type Reserved,
  insertEntries,
  insertPurchases,
  readKnown,
  SELECT_OPEN_RESERVATIONS,
  selectReserved,
} from "./entries.ts";
import { checkPastEntries } from "./past-entries.ts";
import { keepUsageDays } from "./usage-days.ts";

/**
 * Recording in a shard fails if the shard's epoch is older than this. Every process raises epochs
 * that are more than ten minutes old, so an epoch is normally in the current month. An entry that
 * is repeated within `PAST_AGE_MS` (past-entries.ts) is in the month of the epoch or in the month
 * before.
 */
const MAX_EPOCH_LAG_SECONDS = 24 * 3_600;

// A sync and a drift check take the lock exclusively and raise the epoch; recording shares the
// lock. So each entry is either committed before, with a lower epoch, or recorded after, with the
// raised epoch. The lock is advisory, because sharing an advisory lock writes nothing.
const LOCK_SHARDS_SHARED = statement<Record<string, never>>(
  "ledger_share_tags",
  `select pg_advisory_xact_lock_shared(hashtext(current_schema()), tag)
   from (select tag from unnest($1::int[]) as tag order by tag) as ordered`,
);

const READ_POSITIONS = statement<PositionRow & { tag: Shard; lag_seconds: number }>(
  "ledger_read_positions",
  `select tag, epoch, previous_epoch, months_from, extract(epoch from now())::bigint - epoch as lag_seconds
   from tags cross join credit_ledger where tag = any($1::smallint[])`,
);

const SELECT_ORGANIZATIONS = statement<{ organizationId: string }>(
  "ledger_select_organizations",
  `select organization_id as "organizationId" from wallets where organization_id = any($1::uuid[])`,
);

const INSERT_OPEN_RESERVATIONS = statement<Record<string, never>>(
  "ledger_insert_open_reservations",
  `insert into open_reservations (charge_id, organization_id, credits, at, operation, command_id)
   select * from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::timestamptz[], $5::text[], $6::uuid[])`,
);

const DELETE_OPEN_RESERVATIONS = statement<Record<string, never>>(
  "ledger_delete_open_reservations",
  `delete from open_reservations where charge_id = any($1::uuid[])`,
);

const LOCK_WALLETS = statement<Record<string, never>>(
  "ledger_lock_wallets",
  `select 1 from wallets where organization_id = any($1::uuid[]) order by organization_id for update`,
);

interface ChangedWallet {
  readonly organizationId: string;
  readonly available: number;
  readonly threshold: number;
  readonly change: number;
}

const ADD_TO_WALLETS = statement<ChangedWallet>(
  "ledger_add_to_wallets",
  `update wallets as kept
   set purchased = kept.purchased + delta.purchased, reserved = kept.reserved + delta.reserved,
     consumed = kept.consumed + delta.consumed, usage_lines = kept.usage_lines + delta.lines, updated_at = $6
   from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
     as delta (organization_id, purchased, reserved, consumed, lines)
   where kept.organization_id = delta.organization_id
   returning kept.organization_id as "organizationId", kept.available, kept.low_balance_threshold as threshold,
     delta.purchased - delta.reserved - delta.consumed as change`,
);

/** Shares the locks of `shards` until the transaction ends; returns the position of each shard. */
export async function shareShardLocks(tx: Queryable, shards: readonly Shard[]): Promise<Map<Shard, LedgerPosition>> {
  const [, rows] = await Promise.all([tx.query(LOCK_SHARDS_SHARED, [shards]), tx.query(READ_POSITIONS, [shards])]);
  for (const { tag, lag_seconds } of rows) {
    if (lag_seconds <= MAX_EPOCH_LAG_SECONDS) continue;
    throw new Error(
      `the epoch of wallet shard ${tag} is ${lag_seconds} s old: its entries would be looked for in the wrong months; ` +
        "see why the loop `credit months` fails",
    );
  }
  return new Map(rows.map((row) => [row.tag, positionFromRow(row)]));
}

/** Implements `recordEntries` of CreditTransaction. */
export async function recordEntries(
  tx: OutboxTransaction,
  positions: ReadonlyMap<Shard, LedgerPosition>,
  reported: Iterable<LedgerEntry>,
  nowMs: number,
): Promise<RecordedEntry[]> {
  const known = await ofKnownOrganizations(tx, distinctInOrder(reported));
  const { entries: distinct, past } = await checkPastEntries(tx, known, nowMs);
  if (distinct.length === 0) return [];
  const positionOf = (entry: LedgerEntry): LedgerPosition =>
    assertDefined(positions.get(shardOf(entry.organizationId)), "the shard's lock");
  const tables = tablesOf(distinct.map(positionOf));
  const wanted = distinct.filter((entry) => !past.has(entryName(entry)));
  const [others, settlements] = [wanted.filter((entry) => !isSettlement(entry)), wanted.filter(isSettlement)];
  const [added, atPrice] = await Promise.all([
    insertOthers(tx, others, positionOf),
    // Also reads the reservations that were just inserted.
    atReservedPrice(tx, tables, settlements),
  ]);
  for (const name of await insertEntries(tx, atPrice, positionOf)) added.add(name);
  const entries = [...others, ...atPrice];
  const fresh = entries.filter((entry) => added.has(entryName(entry)));
  const repeated = entries.filter((entry) => !added.has(entryName(entry)));
  updateOpenReservations(tx, fresh);
  // In this order: the usage days are written last, so a transaction that has locked days waits for
  // no other lock.
  const [, earlier] = await Promise.all([
    updateWallets(tx, fresh, nowMs),
    updateUsageDays(tx, tables, fresh, repeated),
  ]);
  return [...entries, ...distinct.filter((entry) => past.has(entryName(entry)))].map((entry) => {
    const before = earlier.get(entryName(entry)) ?? past.get(entryName(entry));
    return {
      entry: before === undefined ? entry : { ...entry, credits: before.credits, action: before.action },
      epoch: before?.epoch ?? positionOf(entry).epoch,
      isNew: added.has(entryName(entry)),
    };
  });
}

function isSettlement({ kind }: LedgerEntry): boolean {
  return kind === "settle";
}

/**
 * Adds entries other than settlements; purchases only with a new id. Returns the names of new
 * entries.
 */
async function insertOthers(
  tx: Queryable,
  entries: readonly LedgerEntry[],
  positionOf: (entry: LedgerEntry) => LedgerPosition,
): Promise<Set<string>> {
  const purchases = entries.filter((entry) => entry.kind === "purchase");
  if (purchases.length === 0) return insertEntries(tx, entries, positionOf);
  const fresh = await insertPurchases(tx, purchases);
  const wanted = entries.filter((entry) => entry.kind !== "purchase" || fresh.has(entry.chargeId));
  return insertEntries(tx, wanted, positionOf);
}

/**
 * A settlement uses the reserved price (decisions, 7.2): the message of a repeated command may name
 * another price. The entry of a reservation that is open for months may be dropped; then
 * `open_reservations` has its price and operation.
 */
async function atReservedPrice(
  tx: Queryable,
  tables: readonly string[],
  settlements: readonly LedgerEntry[],
): Promise<LedgerEntry[]> {
  if (settlements.length === 0) return [];
  const reserved = new Map<string, Reserved>();
  for (const select of [...tables.map(selectReserved), SELECT_OPEN_RESERVATIONS]) {
    const missing = settlements.filter((entry) => !reserved.has(entry.chargeId)).map((entry) => entry.chargeId);
    if (missing.length === 0) break;
    for (const row of await tx.query(select, [missing])) reserved.set(row.chargeId, row);
  }
  return settlements.map((entry) => {
    const { credits, operation } = reserved.get(entry.chargeId) ?? entry;
    return { ...entry, credits, operation: operation ?? entry.operation };
  });
}

/** The entries whose organization has a wallet. */
async function ofKnownOrganizations(tx: Queryable, entries: readonly LedgerEntry[]): Promise<LedgerEntry[]> {
  const rows = await tx.query(SELECT_ORGANIZATIONS, [[...new Set(entries.map((entry) => entry.organizationId))]]);
  const known = new Set(rows.map(({ organizationId }) => organizationId));
  return entries.filter((entry) => known.has(entry.organizationId));
}

/**
 * Adds new reservations to `open_reservations` and removes settled reservations. A reservation is
 * not added if `fresh` also has its settlement.
 */
function updateOpenReservations(tx: Transaction, fresh: readonly LedgerEntry[]): void {
  const begun = chargesOf(fresh, "reserve");
  const ended = chargesOf(fresh, "settle");
  const reserved = fresh.filter((entry) => entry.kind === "reserve" && !ended.has(entry.chargeId));
  const settled = fresh.filter((entry) => entry.kind === "settle" && !begun.has(entry.chargeId));
  if (reserved.length > 0) {
    tx.execute(INSERT_OPEN_RESERVATIONS, [
      ...columnsOf(reserved, "chargeId", "organizationId", "credits"),
      reserved.map((entry) => toIso(entry.atMs)),
      ...columnsOf(reserved, "operation", "commandId"),
    ]);
  }
  if (settled.length > 0) tx.execute(DELETE_OPEN_RESERVATIONS, columnsOf(settled, "chargeId"));
}

function chargesOf(entries: readonly LedgerEntry[], kind: LedgerEntryKind): Set<string> {
  return new Set(entries.filter((entry) => entry.kind === kind).map((entry) => entry.chargeId));
}

/** Adds new entries to the wallets, and announces wallets that fell to their threshold. */
async function updateWallets(tx: OutboxTransaction, fresh: readonly LedgerEntry[], nowMs: number): Promise<void> {
  const deltas = deltasByOrganization(fresh);
  if (deltas.size === 0) return;
  const lines = Map.groupBy(fresh.filter(isUsageLine), (entry) => entry.organizationId);
  const organizationIds = [...deltas.keys()];
  tx.execute(LOCK_WALLETS, [organizationIds]);
  const changed = await tx.query(ADD_TO_WALLETS, [
    organizationIds,
    ...columnsOf([...deltas.values()], "purchased", "reserved", "consumed"),
    organizationIds.map((id) => lines.get(id)?.length ?? 0),
    toIso(nowMs),
  ]);
  const [cause] = fresh;
  for (const wallet of changed) announceLowBalance(tx, wallet, nowMs, cause ? entryName(cause) : "");
}

function announceLowBalance(tx: OutboxTransaction, wallet: ChangedWallet, nowMs: number, cause: string): void {
  const { organizationId, available: after, change, threshold } = wallet;
  if (!crossedThreshold({ before: after - change, after, threshold })) return;
  const event: CreditsEvent = {
    eventId: uuidV5(organizationId, `credits.low_balance/${cause}`),
    organizationId,
    occurredAt: toIso(nowMs),
    type: "credits.low_balance",
    availableCredits: after,
    lowBalanceThreshold: threshold,
  };
  enqueue(tx, TOPICS.creditsEvents, organizationId, JSON.stringify(event));
}

/** Updates usage per day; returns the ledger's entries for `known`, by name. */
async function updateUsageDays(
  tx: Transaction,
  tables: readonly string[],
  fresh: readonly LedgerEntry[],
  known: readonly LedgerEntry[],
): Promise<ReadonlyMap<string, KnownEntry>> {
  const earlier = await readKnown(tx, tables, known);
  const incomplete = known.filter((entry) => earlier.get(entryName(entry))?.incomplete === true);
  await keepUsageDays(tx, tables, fresh, incomplete);
  return earlier;
}
