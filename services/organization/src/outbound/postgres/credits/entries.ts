/** Tables of credit ledger entries, one per month; see migrations/0015. */
import { actorToText } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { type Queryable, type Statement, statement } from "@kapi/postgres";
import type { SettlementRequest } from "@kapi/admission/redis";

import { type LedgerEntry, type LedgerEntryKind, entryName } from "../../../domain/credits/ledger-entry.ts";
import type { LedgerPosition } from "../../../domain/credits/ports.ts";
import { perTable } from "./ledger-positions.ts";

/**
 * An entry whose request came this long after the month began is not in the month before: shards
 * may be a day late at a month's end (MAX_EPOCH_LAG_SECONDS), and clocks differ.
 */
const MONTH_BEGIN_MARGIN_MS = 2 * 24 * 3_600_000;

// The shared locks keep others from recording in the other month, so an entry in neither month is
// new. Reservations of an older month are the exception: they are open, or their end is in one of
// the two. A repeated command has the time and id of the new request under the charge id of its
// first reservation.
function insertInto(table: string, previous: string | null): string {
  const tables = previous === null ? [table] : [table, previous];
  const settled = tables.map(
    (name) =>
      `or exists (select from ${name} as ended where ended.charge_id = given.charge_id and ended.leg = 'settle')`,
  );
  const isInPrevious = `or (given.leg in ('reserve', 'settle') or given.x_request_id is null or given.at < $11)
       and exists (select from ${previous} as kept where kept.charge_id = given.charge_id and kept.leg = given.leg)`;
  return `insert into ${table} (charge_id, leg, organization_id, credits, action, operation, x_request_id, command_id, at, epoch,
     created_by)
   select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::uuid[],
     $9::timestamptz[], $10::bigint[], $12::text[])
     as given (charge_id, leg, organization_id, credits, action, operation, x_request_id, command_id, at, epoch,
       created_by)
   where $11::timestamptz is not null and not (
     given.leg = 'reserve' and (
       exists (select from open_reservations as open where open.charge_id = given.charge_id)
       ${settled.join("\n       ")})
     ${previous === null ? "" : isInPrevious})
   on conflict (charge_id, leg) do nothing
   returning charge_id, leg`;
}

const insertsInto = new Map<string, Statement<EntryName>>();

interface EntryName {
  readonly charge_id: string;
  readonly leg: LedgerEntryKind;
}

function insertStatement({ table, previousTable }: LedgerPosition): Statement<EntryName> {
  const name = `entries_insert_${table}_${previousTable}`;
  const made = insertsInto.get(name) ?? statement<EntryName>(name, insertInto(table, previousTable));
  insertsInto.set(name, made);
  return made;
}

/** Adds entries in their order within each month; returns the names of new ones. */
export async function insertEntries(
  tx: Queryable,
  entries: readonly LedgerEntry[],
  positionOf: (entry: LedgerEntry) => LedgerPosition,
): Promise<Set<string>> {
  const byTable = Map.groupBy(entries, (entry) => insertStatement(positionOf(entry)));
  // One lock order for all transactions prevents deadlocks.
  const groups = [...byTable].sort(([a], [b]) => (a.name < b.name ? -1 : 1));
  const inserted = await Promise.all(
    groups.map(([insert, group]) =>
      tx.query(insert, [
        ...entryColumns(group),
        group.map((entry) => positionOf(entry).epoch),
        probedBefore(group, positionOf),
        group.map((entry) => actorToText(entry.createdBy)),
      ]),
    ),
  );
  return new Set(inserted.flat().map((row) => entryName({ chargeId: row.charge_id, kind: row.leg })));
}

function probedBefore(entries: readonly LedgerEntry[], positionOf: (entry: LedgerEntry) => LedgerPosition): string {
  const [first] = entries;
  return toIso((first ? positionOf(first).beganMs : 0) + MONTH_BEGIN_MARGIN_MS);
}

function entryColumns(entries: readonly LedgerEntry[]): unknown[] {
  return [
    entries.map((entry) => entry.chargeId),
    entries.map((entry) => entry.kind),
    entries.map((entry) => entry.organizationId),
    entries.map((entry) => entry.credits),
    entries.map((entry) => entry.action),
    entries.map((entry) => entry.operation),
    entries.map((entry) => entry.requestId),
    entries.map((entry) => entry.commandId),
    entries.map((entry) => toIso(entry.atMs)),
  ];
}

export interface Reserved {
  readonly charge_id: string;
  readonly credits: number;
  /** Null: recorded by an older release. */
  readonly operation: string | null;
}

export const selectReserved = perTable<Reserved>(
  "entries_select_reserved",
  (table) =>
    `select charge_id, credits, null as operation from ${table} where charge_id = any($1::uuid[]) and leg = 'reserve'`,
);
export const selectOpenReservations = statement<Reserved>(
  "entries_select_open_reservations",
  `select charge_id, credits, operation from open_reservations where charge_id = any($1::uuid[])`,
);

export interface KnownEntry extends EntryName {
  readonly credits: number;
  readonly action: LedgerEntry["action"];
  readonly epoch: number;
  /** Only the command's end reported it so far. */
  readonly incomplete: boolean;
}

export const KNOWN_COLUMNS = `charge_id, leg, credits, action, epoch, leg = 'reserve' and x_request_id is null as incomplete`;
const selectKnown = perTable<KnownEntry>(
  "entries_select_known",
  (table) =>
    `select ${KNOWN_COLUMNS} from ${table} where (charge_id, leg) in (select * from unnest($1::uuid[], $2::text[]))`,
);

/** Entries that are in `tables`, by name. */
export async function readKnown(
  tx: Queryable,
  tables: readonly string[],
  entries: readonly LedgerEntry[],
): Promise<Map<string, KnownEntry>> {
  const found = new Map<string, KnownEntry>();
  for (const table of tables) {
    const missing = entries.filter((entry) => !found.has(entryName(entry)));
    if (missing.length === 0) break;
    const names = [missing.map((entry) => entry.chargeId), missing.map((entry) => entry.kind)];
    for (const row of await tx.query(selectKnown(table), names)) {
      found.set(entryName({ chargeId: row.charge_id, kind: row.leg }), row);
    }
  }
  return found;
}

interface SettlementRow {
  readonly charge_id: string;
  readonly organization_id: string;
  readonly credits: number;
  readonly action: SettlementRequest["action"];
  readonly epoch: number;
}

const selectSettlements = perTable<SettlementRow>(
  "entries_select_settlements",
  (table) =>
    `select charge_id, organization_id, credits, action, epoch from ${table}
     where charge_id = any($1::uuid[]) and leg = 'settle'`,
);

/** Settlements of these charges in `tables`, each with its epoch. */
export async function readSettlements(
  tx: Queryable,
  tables: readonly string[],
  chargeIds: readonly string[],
): Promise<SettlementRequest[]> {
  const rows = await Promise.all(tables.map((table) => tx.query(selectSettlements(table), [chargeIds])));
  return rows.flat().map((row) => ({
    chargeId: row.charge_id,
    organizationId: row.organization_id,
    credits: row.credits,
    action: row.action,
    epoch: row.epoch,
  }));
}

const selectConsumed = perTable<{ charge_id: string; credits: number }>(
  "entries_select_consumed",
  (table) => `select charge_id, credits from ${table} where charge_id = any($1::uuid[]) and leg = 'consume'`,
);

/** Consumed credits by charge id, in `tables`. */
export async function readConsumed(
  tx: Queryable,
  tables: readonly string[],
  chargeIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await Promise.all(tables.map((table) => tx.query(selectConsumed(table), [chargeIds])));
  return new Map(rows.flat().map((row) => [row.charge_id, row.credits]));
}

const insertPurchaseRows = statement<{ purchase_id: string }>(
  "entries_insert_purchases",
  `insert into purchases (purchase_id, organization_id, credits)
   select * from unnest($1::uuid[], $2::uuid[], $3::bigint[])
   on conflict (purchase_id) do nothing
   returning purchase_id`,
);
// The entry first: the previous release wrote nothing else.
const selectPurchase = statement<{ organization_id: string; credits: number }>(
  "entries_select_purchase",
  `select organization_id, credits from all_credit_entries where charge_id = $1 and leg = 'purchase'
   union all select organization_id, credits from purchases where purchase_id = $1`,
);

/** Reserves purchase ids for good; returns the new ones. */
export async function insertPurchases(tx: Queryable, purchases: readonly LedgerEntry[]): Promise<Set<string>> {
  const inserted = await tx.query(insertPurchaseRows, [
    purchases.map((entry) => entry.chargeId),
    purchases.map((entry) => entry.organizationId),
    purchases.map((entry) => entry.credits),
  ]);
  return new Set(inserted.map((row) => row.purchase_id));
}

/** Null: the purchase id is unused. */
export async function readPurchase(
  database: Queryable,
  purchaseId: string,
): Promise<{ organizationId: string; credits: number } | null> {
  const [row] = await database.query(selectPurchase, [purchaseId]);
  return row ? { organizationId: row.organization_id, credits: row.credits } : null;
}
