import { type CreditsFact, TOPICS } from "@kapi/contracts";
import { type Queryable, statement, type Transaction } from "@kapi/postgres";
import { type SettlementRequest, type Tag, tagOf } from "@kapi/redis";
import { assertDefined, toIso, uuidV5 } from "@kapi/kernel";

import {
  type Leg,
  type LegKind,
  type RecordedLeg,
  deltasByOrganization,
  distinctInOrder,
  legName,
} from "../../domain/leg.ts";
import { crossedThreshold } from "../../domain/low-balance.ts";
import { isUsageLine } from "../../domain/usage-line.ts";
import { enqueue } from "./outbox.ts";
import { keepUsageDays } from "./usage-days.ts";

// Openings take the lock alone, everything that records legs shares it: an opening then sees each leg either committed, with an
// epoch below its own, or recorded after it, with its own. Advisory, so that sharing writes nothing.
const shareTags = statement<Record<string, never>>(
  "ledger_share_tags",
  `select pg_advisory_xact_lock_shared(hashtext(current_schema()), tag)
   from (select tag from unnest($1::int[]) as tag order by tag) as ordered`,
);

const readEpochs = statement<{ tag: number; epoch: number }>(
  "ledger_read_epochs",
  `select tag, epoch from tags where tag = any($1::smallint[])`,
);

const selectOrganizations = statement<{ organization_id: string }>(
  "ledger_select_organizations",
  `select organization_id from wallets where organization_id = any($1::uuid[])`,
);

const insertLegs = statement<{ charge_id: string; leg: LegKind }>(
  "ledger_insert_legs",
  `insert into credit_legs
     (charge_id, leg, organization_id, credits, action, operation, x_request_id, command_id, at, epoch)
   select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::uuid[],
     $9::timestamptz[], $10::bigint[])
   on conflict (charge_id, leg) do nothing
   returning charge_id, leg`,
);

const selectReserved = statement<{ charge_id: string; credits: number }>(
  "ledger_select_reserved",
  `select charge_id, credits from credit_legs where charge_id = any($1::uuid[]) and leg = 'reserve'`,
);

interface KnownLeg {
  readonly charge_id: string;
  readonly leg: LegKind;
  readonly credits: number;
  readonly action: Leg["action"];
  readonly epoch: number;
  readonly incomplete: boolean;
}

const readKnownLegs = statement<KnownLeg>(
  "ledger_read_known_legs",
  `select charge_id, leg, credits, action, epoch, leg = 'reserve' and x_request_id is null as incomplete from credit_legs
   where (charge_id, leg) in (select * from unnest($1::uuid[], $2::text[]))`,
);

const insertOpenReservations = statement<Record<string, never>>(
  "ledger_insert_open_reservations",
  `insert into open_reservations (charge_id, organization_id, credits, at)
   select * from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::timestamptz[])`,
);

const deleteOpenReservations = statement<Record<string, never>>(
  "ledger_delete_open_reservations",
  `delete from open_reservations where charge_id = any($1::uuid[])`,
);

const lockWallets = statement<Record<string, never>>(
  "ledger_lock_wallets",
  `select 1 from wallets where organization_id = any($1::uuid[]) order by organization_id for update`,
);

interface ChangedWallet {
  readonly organization_id: string;
  readonly available: number;
  readonly low_balance_threshold: number;
  readonly change: number;
}

const addToWallets = statement<ChangedWallet>(
  "ledger_add_to_wallets",
  `update wallets as kept
   set purchased = kept.purchased + delta.purchased, reserved = kept.reserved + delta.reserved,
     consumed = kept.consumed + delta.consumed, usage_lines = kept.usage_lines + delta.lines, updated_at = $6
   from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
     as delta (organization_id, purchased, reserved, consumed, lines)
   where kept.organization_id = delta.organization_id
   returning kept.organization_id, kept.available, kept.low_balance_threshold,
     delta.purchased - delta.reserved - delta.consumed as change`,
);

/**
 * Shares the locks of `tags` until the transaction ends and returns their epochs. It comes before anything is read from
 * Redis that the ledger shall record: no opening computes wallets in between.
 */
export async function shareTagLocks(tx: Queryable, tags: readonly Tag[]): Promise<Map<Tag, number>> {
  const [, rows] = await Promise.all([tx.query(shareTags, [tags]), tx.query(readEpochs, [tags])]);
  return new Map(rows.map((row) => [row.tag, row.epoch]));
}

/**
 * Adds what the ledger does not have yet of `legs`, in any order and however often it is told; keeps the wallets' sums, the
 * use per day and the open reservations, and writes a fact where a wallet reaches its low-balance threshold. The tags'
 * locks must be shared. Returns every distinct leg as it was recorded first, with the epoch of that; legs of organizations
 * without a wallet are left out.
 */
export async function recordLegs(
  tx: Transaction,
  epochs: ReadonlyMap<Tag, number>,
  told: Iterable<Leg>,
  nowMs: number,
): Promise<RecordedLeg[]> {
  const distinct = await ofKnownOrganizations(tx, distinctInOrder(told));
  if (distinct.length === 0) return [];
  const epochOf = (leg: Leg): number => assertDefined(epochs.get(tagOf(leg.organizationId)), "the tag's lock");
  const others = distinct.filter((leg) => leg.kind !== "settle");
  const [added, ends] = await Promise.all([
    insert(tx, others, epochOf),
    // Reads what has just been inserted, too.
    atReservedPrice(
      tx,
      distinct.filter((leg) => leg.kind === "settle"),
    ),
  ]);
  for (const name of await insert(tx, ends, epochOf)) added.add(name);
  const legs = [...others, ...ends];
  const fresh = legs.filter((leg) => added.has(legName(leg)));
  const known = legs.filter((leg) => !added.has(legName(leg)));
  keepReservations(tx, fresh);
  // In this order: the statement on the days is the last that waits for anybody.
  const [, earlier] = await Promise.all([keepWallets(tx, fresh, nowMs), keepDays(tx, fresh, known)]);
  return legs.map((leg) => {
    const before = earlier.get(legName(leg));
    return {
      leg: before === undefined ? leg : { ...leg, credits: before.credits, action: before.action },
      epoch: before?.epoch ?? epochOf(leg),
      isNew: added.has(legName(leg)),
    };
  });
}

/** Adds legs, in their order; returns the names of those that were not there. */
async function insert(tx: Queryable, legs: readonly Leg[], epochOf: (leg: Leg) => number): Promise<Set<string>> {
  if (legs.length === 0) return new Set();
  const inserted = await tx.query(insertLegs, [...legColumns(legs), legs.map(epochOf)]);
  return new Set(inserted.map((row) => legName({ chargeId: row.charge_id, kind: row.leg })));
}

/**
 * What was reserved is what settles (decisions, 7.2): the message of a command that was asked for again, after its claim was
 * lost, may name another price than the first one, for which the credits were set aside.
 */
async function atReservedPrice(tx: Queryable, ends: readonly Leg[]): Promise<Leg[]> {
  if (ends.length === 0) return [];
  const rows = await tx.query(selectReserved, [ends.map((leg) => leg.chargeId)]);
  const reserved = new Map(rows.map((row) => [row.charge_id, row.credits]));
  return ends.map((leg) => ({ ...leg, credits: reserved.get(leg.chargeId) ?? leg.credits }));
}

async function ofKnownOrganizations(tx: Queryable, legs: readonly Leg[]): Promise<Leg[]> {
  const rows = await tx.query(selectOrganizations, [[...new Set(legs.map((leg) => leg.organizationId))]]);
  const known = new Set(rows.map((row) => row.organization_id));
  return legs.filter((leg) => known.has(leg.organizationId));
}

function legColumns(legs: readonly Leg[]): unknown[] {
  return [
    legs.map((leg) => leg.chargeId),
    legs.map((leg) => leg.kind),
    legs.map((leg) => leg.organizationId),
    legs.map((leg) => leg.credits),
    legs.map((leg) => leg.action),
    legs.map((leg) => leg.operation),
    legs.map((leg) => leg.requestId),
    legs.map((leg) => leg.commandId),
    legs.map((leg) => toIso(leg.atMs)),
  ];
}

/** What is reserved and settled by the same legs is never open. */
function keepReservations(tx: Transaction, fresh: readonly Leg[]): void {
  const begun = chargesOf(fresh, "reserve");
  const ended = chargesOf(fresh, "settle");
  const reserved = fresh.filter((leg) => leg.kind === "reserve" && !ended.has(leg.chargeId));
  const settled = fresh.filter((leg) => leg.kind === "settle" && !begun.has(leg.chargeId));
  if (reserved.length > 0) {
    tx.execute(insertOpenReservations, [
      reserved.map((leg) => leg.chargeId),
      reserved.map((leg) => leg.organizationId),
      reserved.map((leg) => leg.credits),
      reserved.map((leg) => toIso(leg.atMs)),
    ]);
  }
  if (settled.length > 0) tx.execute(deleteOpenReservations, [settled.map((leg) => leg.chargeId)]);
}

function chargesOf(legs: readonly Leg[], kind: LegKind): Set<string> {
  return new Set(legs.filter((leg) => leg.kind === kind).map((leg) => leg.chargeId));
}

async function keepWallets(tx: Transaction, fresh: readonly Leg[], nowMs: number): Promise<void> {
  const deltas = deltasByOrganization(fresh);
  if (deltas.size === 0) return;
  const lines = Map.groupBy(fresh.filter(isUsageLine), (leg) => leg.organizationId);
  const organizationIds = [...deltas.keys()];
  tx.execute(lockWallets, [organizationIds]);
  const changed = await tx.query(addToWallets, [
    organizationIds,
    [...deltas.values()].map((delta) => delta.purchased),
    [...deltas.values()].map((delta) => delta.reserved),
    [...deltas.values()].map((delta) => delta.consumed),
    organizationIds.map((id) => lines.get(id)?.length ?? 0),
    toIso(nowMs),
  ]);
  const [cause] = fresh;
  for (const wallet of changed) tellLowBalance(tx, wallet, nowMs, cause ? legName(cause) : "");
}

function tellLowBalance(tx: Transaction, wallet: ChangedWallet, nowMs: number, cause: string): void {
  const { available: after, low_balance_threshold: threshold, organization_id: organizationId } = wallet;
  if (!crossedThreshold({ before: after - wallet.change, after, threshold })) return;
  const fact: CreditsFact = {
    eventId: uuidV5(organizationId, `credits.low_balance/${cause}`),
    organizationId,
    occurredAt: toIso(nowMs),
    type: "credits.low_balance",
    availableCredits: after,
    lowBalanceThreshold: threshold,
  };
  enqueue(tx, TOPICS.creditsEvents, organizationId, JSON.stringify(fact));
}

/** Keeps the use per day; returns what the ledger had of `known`. */
async function keepDays(
  tx: Transaction,
  fresh: readonly Leg[],
  known: readonly Leg[],
): Promise<ReadonlyMap<string, KnownLeg>> {
  const earlier = await readKnown(tx, known);
  const incomplete = known.filter((leg) => earlier.get(legName(leg))?.incomplete === true);
  await keepUsageDays(tx, fresh, incomplete);
  return earlier;
}

async function readKnown(tx: Queryable, known: readonly Leg[]): Promise<Map<string, KnownLeg>> {
  if (known.length === 0) return new Map();
  const rows = await tx.query(readKnownLegs, [known.map((leg) => leg.chargeId), known.map((leg) => leg.kind)]);
  return new Map(rows.map((row) => [legName({ chargeId: row.charge_id, kind: row.leg }), row]));
}

interface SettlementRow {
  readonly charge_id: string;
  readonly organization_id: string;
  readonly credits: number;
  readonly action: SettlementRequest["action"];
  readonly epoch: number;
}

const selectSettlements = statement<SettlementRow>(
  "ledger_select_settlements",
  `select charge_id, organization_id, credits, action, epoch from credit_legs
   where charge_id = any($1::uuid[]) and leg = 'settle'`,
);

/** How the reservations of these charges ended, with the epoch that it was recorded under; of those that have. */
export async function readSettlements(database: Queryable, chargeIds: readonly string[]): Promise<SettlementRequest[]> {
  const rows = await database.query(selectSettlements, [chargeIds]);
  return rows.map((row) => ({
    chargeId: row.charge_id,
    organizationId: row.organization_id,
    credits: row.credits,
    action: row.action,
    epoch: row.epoch,
  }));
}

const selectPurchase = statement<{ organization_id: string; credits: number }>(
  "ledger_select_purchase",
  `select organization_id, credits from credit_legs where charge_id = $1 and leg = 'purchase'`,
);

/** What a purchase id names, or null. */
export async function readPurchase(
  database: Queryable,
  purchaseId: string,
): Promise<{ organizationId: string; credits: number } | null> {
  const [row] = await database.query(selectPurchase, [purchaseId]);
  return row ? { organizationId: row.organization_id, credits: row.credits } : null;
}
