/**
 * Entries of the credit ledger in the tables of the months that their shards are in; see
 * migrations/0015.
 */
import { actorToText } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { type Queryable, type Statement, statement } from "@kapi/postgres";
import type { SettlementRequest } from "@kapi/admission/redis";

import { type LedgerEntry, type LedgerEntryKind, entryName } from "../../../domain/credits/ledger-entry.ts";
import type { LedgerPosition } from "../../../domain/credits/ports.ts";
import { perTable } from "./ledger-positions.ts";

/**
 * A read that is told of with the time of its request cannot be in the month before if it was made
 * so long after this month began: shards may be a day late at a month's end
 * (MAX_EPOCH_LAG_SECONDS), and clocks differ.
 */
const MONTH_BEGIN_MARGIN_MS = 2 * 24 * 3_600_000;

// The shard's locks are shared, so that nobody records in the other month meanwhile: what is in
// neither is new. But for a reservation of an older month: it is open, or its end is in one of the
// two. A command that is asked for again is told of with the time and id of the new request, under
// the charge id of its first reservation.
function insertInto(table: string, previous: string | null): string {
  const tables = previous === null ? [table] : [table, previous];
  const settled = tables.map(
    (name) =>
      `or exists (select from ${name} as ended where ended.charge_id = told.charge_id and ended.leg = 'settle')`,
  );
  const isInPrevious = `or (told.leg in ('reserve', 'settle') or told.x_request_id is null or told.at < $11)
       and exists (select from ${previous} as kept where kept.charge_id = told.charge_id and kept.leg = told.leg)`;
  return `insert into ${table} (charge_id, leg, organization_id, credits, action, operation, x_request_id, command_id, at, epoch,
     created_by)
   select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::uuid[],
     $9::timestamptz[], $10::bigint[], $12::text[])
     as told (charge_id, leg, organization_id, credits, action, operation, x_request_id, command_id, at, epoch,
       created_by)
   where $11::timestamptz is not null and not (
     told.leg = 'reserve' and (
       exists (select from open_reservations as open where open.charge_id = told.charge_id)
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

/** Adds entries, in their order within each month; returns the names of those that were not there. */
export async function insertEntries(
  tx: Queryable,
  entries: readonly LedgerEntry[],
  positionOf: (entry: LedgerEntry) => LedgerPosition,
): Promise<Set<string>> {
  const byTable = Map.groupBy(entries, (entry) => insertStatement(positionOf(entry)));
  // One order for all transactions, so that they wait for each other and never in a circle.
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

/** The price and operation of a reservation. */
export interface Reserved {
  readonly charge_id: string;
  readonly credits: number;
  /** Null where an older release recorded it. */
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

/** What the ledger has of an entry. */
export interface KnownEntry extends EntryName {
  readonly credits: number;
  readonly action: LedgerEntry["action"];
  readonly epoch: number;
  /** Only its command's end was told of so far. */
  readonly incomplete: boolean;
}

export const KNOWN_COLUMNS = `charge_id, leg, credits, action, epoch, leg = 'reserve' and x_request_id is null as incomplete`;
const selectKnown = perTable<KnownEntry>(
  "entries_select_known",
  (table) =>
    `select ${KNOWN_COLUMNS} from ${table} where (charge_id, leg) in (select * from unnest($1::uuid[], $2::text[]))`,
);

/** What `tables` have of these entries, by name. */
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

/**
 * How the reservations of these charges ended, with the epoch that it was recorded under; of those
 * that have, in `tables`.
 */
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

/** Credits that these charges consumed, by charge id; of those that consumed any, in `tables`. */
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
// The entry first: a process of the release before wrote nothing else.
const selectPurchase = statement<{ organization_id: string; credits: number }>(
  "entries_select_purchase",
  `select organization_id, credits from all_credit_entries where charge_id = $1 and leg = 'purchase'
   union all select organization_id, credits from purchases where purchase_id = $1`,
);

/** Claims the ids of purchases for good; returns those that were free. */
export async function insertPurchases(tx: Queryable, purchases: readonly LedgerEntry[]): Promise<Set<string>> {
  const inserted = await tx.query(insertPurchaseRows, [
    purchases.map((entry) => entry.chargeId),
    purchases.map((entry) => entry.organizationId),
    purchases.map((entry) => entry.credits),
  ]);
  return new Set(inserted.map((row) => row.purchase_id));
}

/** What a purchase id names, or null. */
export async function readPurchase(
  database: Queryable,
  purchaseId: string,
): Promise<{ organizationId: string; credits: number } | null> {
  const [row] = await database.query(selectPurchase, [purchaseId]);
  return row ? { organizationId: row.organization_id, credits: row.credits } : null;
}
