/**
 * Entries of requests that are weeks old. They are rare: Kafka keeps events for 7 days, and usage
 * waits in Redis only while the ledger is unavailable. Only all months together show whether such
 * an entry is new.
 */
import { toIso } from "@kapi/kernel";
import { type Queryable, statement, type Transaction } from "@kapi/postgres";

import { type LedgerEntry, entryName } from "../../../domain/credits/ledger-entry.ts";
import { KNOWN_COLUMNS, type KnownEntry, selectOpenReservations } from "./entries.ts";

const DAY_MS = 24 * 3_600_000;
/**
 * Older entries are looked for in all months. Newer ones are in their shard's month or the one
 * before, at least 28 days; 7 days are a margin for clocks and late epochs.
 */
export const PAST_AGE_MS = 21 * DAY_MS;
/**
 * Margin for clocks and late epochs: an entry may be in a month that ended this long before its
 * request.
 */
const MONTH_MARGIN_MS = 2 * DAY_MS;

const selectAnywhere = statement<KnownEntry>(
  "past_entries_select",
  `select ${KNOWN_COLUMNS} from all_credit_entries
   where (charge_id, leg) in (select * from unnest($1::uuid[], $2::text[]))`,
);
const selectKeptFrom = statement<{ kept_from: Date | null }>(
  "past_entries_select_kept_from",
  `select (dropped_through + interval '1 month') at time zone 'UTC' as kept_from from credit_ledger`,
);
const insertRefused = statement<Record<string, never>>(
  "past_entries_refuse",
  `insert into refused_credit_entries (charge_id, leg, organization_id, entry, refused_at)
   select given.charge_id, given.leg, given.organization_id, given.entry, $5
   from unnest($1::uuid[], $2::text[], $3::uuid[], $4::jsonb[]) as given (charge_id, leg, organization_id, entry)
   on conflict (charge_id, leg) do nothing`,
);

/** Entries that can be recorded, and what any month has of them. */
export async function withoutPast(
  tx: Transaction,
  entries: readonly LedgerEntry[],
  nowMs: number,
): Promise<{ entries: readonly LedgerEntry[]; past: ReadonlyMap<string, KnownEntry> }> {
  const old = entries.filter((entry) => entry.kind !== "purchase" && entry.atMs < nowMs - PAST_AGE_MS);
  if (old.length === 0) return { entries, past: new Map() };
  const past = await readAnywhere(tx, old);
  const [row] = await tx.query(selectKeptFrom, []);
  const keptFromMs = row?.kept_from === null || row === undefined ? 0 : row.kept_from.getTime() + MONTH_MARGIN_MS;
  const unfound = old.filter((entry) => entry.atMs < keptFromMs && !past.has(entryName(entry)));
  // An open reservation of a dropped month is known: it is reserved and not settled.
  const open = new Map(
    (await tx.query(selectOpenReservations, [unfound.map((entry) => entry.chargeId)])).map((row) => [
      row.charge_id,
      row,
    ]),
  );
  for (const entry of unfound) {
    const reserved = open.get(entry.chargeId);
    if (entry.kind !== "reserve" || reserved === undefined) continue;
    const { charge_id, credits } = reserved;
    past.set(entryName(entry), { charge_id, leg: entry.kind, credits, action: null, epoch: 0, incomplete: false });
  }
  const left = new Set(unfound.filter((entry) => !open.has(entry.chargeId)));
  refuse(tx, [...left], nowMs);
  return { entries: entries.filter((entry) => !left.has(entry)), past };
}

async function readAnywhere(tx: Queryable, entries: readonly LedgerEntry[]): Promise<Map<string, KnownEntry>> {
  const rows = await tx.query(selectAnywhere, [
    entries.map((entry) => entry.chargeId),
    entries.map((entry) => entry.kind),
  ]);
  return new Map(rows.map((row) => [entryName({ chargeId: row.charge_id, kind: row.leg }), row]));
}

/**
 * Puts entries aside for the operator. They change no wallet: credits must not be charged twice.
 */
function refuse(tx: Transaction, entries: readonly LedgerEntry[], nowMs: number): void {
  if (entries.length === 0) return;
  tx.execute(insertRefused, [
    entries.map((entry) => entry.chargeId),
    entries.map((entry) => entry.kind),
    entries.map((entry) => entry.organizationId),
    entries.map((entry) => JSON.stringify(entry)),
    toIso(nowMs),
  ]);
}
