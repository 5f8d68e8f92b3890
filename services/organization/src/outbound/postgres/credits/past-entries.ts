/**
 * Legs of requests that are weeks old. They are rare: events stay in Kafka for 7 days, and usage
 * waits in Redis only while the ledger is away. The months that a shard is in and was in before
 * cannot tell whether such a leg is new; all months together can.
 */
import { toIso } from "@kapi/kernel";
import { type Queryable, statement, type Transaction } from "@kapi/postgres";

import { type Leg, legName } from "../../../domain/credits/leg.ts";
import { KNOWN_COLUMNS, type KnownEntry, selectOpenReservations } from "./entries.ts";

const DAY_MS = 24 * 3_600_000;
/**
 * A leg of an older request is looked for in all months. Those of the newer ones are in their
 * shard's month or the one before, 28 days at least: 7 days are left for clocks that differ and for
 * epochs that are behind.
 */
export const PAST_AGE_MS = 21 * DAY_MS;
/**
 * An entry may be in a month that ended so long before its request, by clocks that differ and
 * epochs that are behind.
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
   select told.charge_id, told.leg, told.organization_id, told.entry, $5
   from unnest($1::uuid[], $2::text[], $3::uuid[], $4::jsonb[]) as told (charge_id, leg, organization_id, entry)
   on conflict (charge_id, leg) do nothing`,
);

/** The legs that can be recorded, and of those that the ledger has in any month what it has. */
export async function withoutPast(
  tx: Transaction,
  legs: readonly Leg[],
  nowMs: number,
): Promise<{ legs: readonly Leg[]; past: ReadonlyMap<string, KnownEntry> }> {
  const old = legs.filter((leg) => leg.kind !== "purchase" && leg.atMs < nowMs - PAST_AGE_MS);
  if (old.length === 0) return { legs, past: new Map() };
  const past = await readAnywhere(tx, old);
  const [row] = await tx.query(selectKeptFrom, []);
  const keptFromMs = row?.kept_from === null || row === undefined ? 0 : row.kept_from.getTime() + MONTH_MARGIN_MS;
  const unfound = old.filter((leg) => leg.atMs < keptFromMs && !past.has(legName(leg)));
  // Of a dropped month the ledger still has what is open: it is reserved, and not settled.
  const open = new Map(
    (await tx.query(selectOpenReservations, [unfound.map((leg) => leg.chargeId)])).map((row) => [row.charge_id, row]),
  );
  for (const leg of unfound) {
    const reserved = open.get(leg.chargeId);
    if (leg.kind !== "reserve" || reserved === undefined) continue;
    const { charge_id, credits } = reserved;
    past.set(legName(leg), { charge_id, leg: leg.kind, credits, action: null, epoch: 0, incomplete: false });
  }
  const left = new Set(unfound.filter((leg) => !open.has(leg.chargeId)));
  refuse(tx, [...left], nowMs);
  return { legs: legs.filter((leg) => !left.has(leg)), past };
}

async function readAnywhere(tx: Queryable, legs: readonly Leg[]): Promise<Map<string, KnownEntry>> {
  const rows = await tx.query(selectAnywhere, [legs.map((leg) => leg.chargeId), legs.map((leg) => leg.kind)]);
  return new Map(rows.map((row) => [legName({ chargeId: row.charge_id, kind: row.leg }), row]));
}

/** Puts legs aside for the operator. They change no wallet: money must not be taken twice. */
function refuse(tx: Transaction, legs: readonly Leg[], nowMs: number): void {
  if (legs.length === 0) return;
  tx.execute(insertRefused, [
    legs.map((leg) => leg.chargeId),
    legs.map((leg) => leg.kind),
    legs.map((leg) => leg.organizationId),
    legs.map((leg) => JSON.stringify(leg)),
    toIso(nowMs),
  ]);
}
