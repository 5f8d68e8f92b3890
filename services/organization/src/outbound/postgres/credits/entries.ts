/** Tables of credit ledger entries, one per month; see migrations/0015. */
import { actorToText } from "@kapi/contracts";
import { assertDefined, toIso } from "@kapi/kernel";
import { type Queryable, statement } from "@kapi/postgres";
import type { SettlementRequest } from "@kapi/admission/redis";

import { type LedgerEntry, entryName } from "../../../domain/credits/ledger-entry.ts";
import { columnsOf } from "../columns.ts";
import { type LedgerPosition, perTable } from "./ledger-positions.ts";

/**
 * An entry whose request came at least this long after a month began is not in the month before: a
 * shard enters a month at most a day late (MAX_EPOCH_LAG_SECONDS), and clocks differ.
 */
const MONTH_BEGIN_MARGIN_MS = 2 * 24 * 3_600_000;

type EntryKey = Pick<LedgerEntry, "chargeId" | "kind">;
const KEY_COLUMNS = `charge_id as "chargeId", leg as kind`;

// While this transaction shares the shards' locks, no shard moves to another month. So an entry is
// new if neither the current nor the previous month of its shard has it. A reservation may also be
// in an older month: then it is open, or one of these two months has its settlement.
//
// The previous month is always searched for reservations, settlements and entries without a request
// id, because a repeat of such an entry may have a new time. For example, a repeated request has a
// new time, and the charge id of the command's first reservation. For other entries, the previous
// month is searched only if their time is before $12 (month begin plus MONTH_BEGIN_MARGIN_MS).
function insertInto({ table, previousTable: previous }: LedgerPosition): string {
  const tables = previous === null ? [table] : [table, previous];
  const settled = tables.map(
    (name) =>
      `or exists (select from ${name} as ended where ended.charge_id = given.charge_id and ended.leg = 'settle')`,
  );
  const isInPrevious = `or (given.leg in ('reserve', 'settle') or given.x_request_id is null or given.at < $12)
       and exists (select from ${previous} as kept where kept.charge_id = given.charge_id and kept.leg = given.leg)`;
  return `insert into ${table} (charge_id, leg, organization_id, credits, action, operation, x_request_id, command_id, at, epoch,
     created_by)
   select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::uuid[],
     $9::timestamptz[], $10::bigint[], $11::text[])
     as given (charge_id, leg, organization_id, credits, action, operation, x_request_id, command_id, at, epoch,
       created_by)
   where $12::timestamptz is not null and not (
     given.leg = 'reserve' and (
       exists (select from open_reservations as open where open.charge_id = given.charge_id)
       ${settled.join("\n       ")})
     ${previous === null ? "" : isInPrevious})
   on conflict (charge_id, leg) do nothing
   returning ${KEY_COLUMNS}`;
}

/** Adds entries in their order within each month; returns the names of new ones. */
export async function insertEntries(
  tx: Queryable,
  entries: readonly LedgerEntry[],
  positionOf: (entry: LedgerEntry) => LedgerPosition,
): Promise<Set<string>> {
  const rows = entries.map((entry) => ({
    ...entry,
    at: toIso(entry.atMs),
    createdBy: actorToText(entry.createdBy),
    position: positionOf(entry),
    epoch: positionOf(entry).epoch,
  }));
  const byTables = Map.groupBy(rows, ({ position }) => `${position.table}_${position.previousTable}`);
  // One lock order for all transactions prevents deadlocks.
  const groups = [...byTables].sort(([a], [b]) => (a < b ? -1 : 1));
  const inserted = await Promise.all(
    groups.map(([tables, group]) => {
      const { position } = assertDefined(group[0], "a group's entry");
      return tx.query(statement<EntryKey>(`entries_insert_${tables}`, insertInto(position)), [
        ...columnsOf(group, "chargeId", "kind", "organizationId", "credits", "action", "operation"),
        ...columnsOf(group, "requestId", "commandId", "at", "epoch", "createdBy"),
        toIso(position.beganMs + MONTH_BEGIN_MARGIN_MS),
      ]);
    }),
  );
  return new Set(inserted.flat().map(entryName));
}

/** The price and operation of a reservation. */
export interface Reserved {
  readonly chargeId: string;
  readonly credits: number;
  /** Null if read from the ledger entries, or if an older release recorded the reservation. */
  readonly operation: string | null;
}

/** Reservations of charges, read from the ledger entries. */
export const selectReserved = perTable<Reserved>(
  "entries_select_reserved",
  (table) =>
    `select charge_id as "chargeId", credits, null as operation from ${table}
     where charge_id = any($1::uuid[]) and leg = 'reserve'`,
);
/** Open reservations of charges. Their entries may be in a dropped month. */
export const SELECT_OPEN_RESERVATIONS = statement<Reserved>(
  "entries_select_open_reservations",
  `select charge_id as "chargeId", credits, operation from open_reservations where charge_id = any($1::uuid[])`,
);

/** An entry that the ledger already had. */
export interface KnownEntry extends EntryKey, Pick<LedgerEntry, "credits" | "action"> {
  readonly epoch: number;
  /** A reservation that only a final event or a sync has reported so far. */
  readonly incomplete: boolean;
}

const selectKnown = perTable<KnownEntry>(
  "entries_select_known",
  (table) =>
    `select ${KEY_COLUMNS}, credits, action, epoch, leg = 'reserve' and x_request_id is null as incomplete from ${table}
     where (charge_id, leg) in (select * from unnest($1::uuid[], $2::text[]))`,
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
    const rows = await tx.query(selectKnown(table), columnsOf(missing, "chargeId", "kind"));
    for (const row of rows) found.set(entryName(row), row);
  }
  return found;
}

/** Settlements of charges, each with its epoch. */
export const selectSettlements = perTable<SettlementRequest>(
  "entries_select_settlements",
  (table) =>
    `select charge_id as "chargeId", organization_id as "organizationId", credits, action, epoch from ${table}
     where charge_id = any($1::uuid[]) and leg = 'settle'`,
);

/** Consumed credits of charges. */
export const selectConsumed = perTable<{ chargeId: string; credits: number }>(
  "entries_select_consumed",
  (table) =>
    `select charge_id as "chargeId", credits from ${table} where charge_id = any($1::uuid[]) and leg = 'consume'`,
);

const INSERT_PURCHASE_ROWS = statement<{ purchaseId: string }>(
  "entries_insert_purchases",
  `insert into purchases (purchase_id, organization_id, credits)
   select * from unnest($1::uuid[], $2::uuid[], $3::bigint[])
   on conflict (purchase_id) do nothing
   returning purchase_id as "purchaseId"`,
);
/** A purchase by its id. Reads the entry too: the previous release does not write `purchases`. */
export const SELECT_PURCHASE = statement<{ organizationId: string; credits: number }>(
  "entries_select_purchase",
  `select organization_id as "organizationId", credits from all_credit_entries where charge_id = $1 and leg = 'purchase'
   union all select organization_id, credits from purchases where purchase_id = $1`,
);

/** Stores purchase ids permanently; returns the new ones. */
export async function insertPurchases(tx: Queryable, purchases: readonly LedgerEntry[]): Promise<Set<string>> {
  const inserted = await tx.query(INSERT_PURCHASE_ROWS, columnsOf(purchases, "chargeId", "organizationId", "credits"));
  return new Set(inserted.map(({ purchaseId }) => purchaseId));
}
