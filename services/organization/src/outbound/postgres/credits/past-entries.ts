/**
 * Entries of requests that are weeks old. They are rare: Kafka keeps events for 7 days, and usage
 * waits in Redis only while the ledger is unavailable. Such an entry may be in the table of any
 * month, so all months are searched.
 */
import { toIso } from "@kapi/kernel";
import { statement, type Transaction } from "@kapi/postgres";

import { type LedgerEntry, entryName } from "../../../domain/credits/ledger-entry.ts";
import { columnsOf } from "../columns.ts";
import { type KnownEntry, readKnown, SELECT_OPEN_RESERVATIONS } from "./entries.ts";

const DAY_MS = 24 * 3_600_000;
/**
 * Entries of older requests are looked for in all months. Repeats of newer entries are found in the
 * current or the previous month of their shard. These two months reach back at least 28 days, of
 * which 7 days are a margin: a shard may enter its next month up to a day late, and clocks differ.
 */
export const PAST_AGE_MS = 21 * DAY_MS;
/**
 * For this time after the end of a month, entries of new requests may still get into its table: a
 * shard enters the next month at most a day late, and clocks differ.
 */
const MONTH_MARGIN_MS = 2 * DAY_MS;
const ALL_MONTHS = ["all_credit_entries"];

const SELECT_FIRST_MONTH = statement<{ keptFrom: Date | null }>(
  "past_entries_select_kept_from",
  `select (dropped_through + interval '1 month') at time zone 'UTC' as "keptFrom" from credit_ledger`,
);
const INSERT_REFUSED = statement<Record<string, never>>(
  "past_entries_refuse",
  `insert into refused_credit_entries (charge_id, leg, organization_id, entry, refused_at)
   select *, $5 from unnest($1::uuid[], $2::text[], $3::uuid[], $4::jsonb[])
   on conflict (charge_id, leg) do nothing`,
);

/**
 * Puts aside the entries that a dropped month may have, and returns the other entries. `past`:
 * those of the returned entries that the ledger already has, by `entryName`.
 */
export async function checkPastEntries(
  tx: Transaction,
  entries: readonly LedgerEntry[],
  nowMs: number,
): Promise<{ entries: readonly LedgerEntry[]; past: ReadonlyMap<string, KnownEntry> }> {
  const old = entries.filter((entry) => entry.kind !== "purchase" && entry.atMs < nowMs - PAST_AGE_MS);
  if (old.length === 0) return { entries, past: new Map() };
  const past = await readKnown(tx, ALL_MONTHS, old);
  const keptFrom = (await tx.query(SELECT_FIRST_MONTH, []))[0]?.keptFrom ?? null;
  const keptFromMs = keptFrom === null ? 0 : keptFrom.getTime() + MONTH_MARGIN_MS;
  const unfound = old.filter((entry) => entry.atMs < keptFromMs && !past.has(entryName(entry)));
  // If a charge is in `open_reservations`, its reservation was recorded and its settlement was not.
  const reservations = await tx.query(SELECT_OPEN_RESERVATIONS, columnsOf(unfound, "chargeId"));
  const open = new Map(reservations.map((reserved) => [reserved.chargeId, reserved]));
  for (const entry of unfound) {
    const reserved = open.get(entry.chargeId);
    if (entry.kind !== "reserve" || reserved === undefined) continue;
    const { chargeId, kind } = entry;
    past.set(entryName(entry), {
      chargeId,
      kind,
      credits: reserved.credits,
      action: null,
      epoch: 0,
      incomplete: false,
    });
  }
  const left = new Set(unfound.filter((entry) => !open.has(entry.chargeId)));
  refuse(tx, [...left], nowMs);
  return { entries: entries.filter((entry) => !left.has(entry)), past };
}

/**
 * Puts entries aside for the operator. They change no wallet: credits must not be charged twice.
 */
function refuse(tx: Transaction, entries: readonly LedgerEntry[], nowMs: number): void {
  if (entries.length === 0) return;
  const json = entries.map((entry) => JSON.stringify(entry));
  tx.execute(INSERT_REFUSED, [...columnsOf(entries, "chargeId", "kind", "organizationId"), json, toIso(nowMs)]);
}
