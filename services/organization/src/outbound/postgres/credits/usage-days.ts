import { actorToText } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { type Queryable, statement, type Transaction } from "@kapi/postgres";

import type { LedgerEntry } from "../../../domain/credits/ledger-entry.ts";
import { type UsageDay, summedUsageDays, usageDayOf, withdrawn } from "../../../domain/credits/usage-day.ts";
import { columnsOf } from "../columns.ts";
import { perTable, queryAll } from "./ledger-positions.ts";

// Until this transaction commits, no other transaction can change the operation of these
// reservations (completeReservations).
const lockReservations = perTable<{ chargeId: string; operation: string }>(
  "usage_days_lock_reservations",
  (table) =>
    `select charge_id as "chargeId", operation from ${table} where charge_id = any($1::uuid[]) and leg = 'reserve'
     order by charge_id for share`,
);

interface CompletedRow {
  readonly chargeId: string;
  readonly organizationId: string;
  readonly credits: number;
  readonly operation: string;
  readonly at: Date;
  readonly oldOperation: string;
  readonly oldAt: Date;
}

// A final event or a sync may have recorded the reservation first, without details of the request.
const completeReservationRows = perTable<CompletedRow>(
  "usage_days_complete_reservations",
  (table) =>
    `update ${table} as kept
     set operation = given.operation, x_request_id = given.x_request_id, at = given.at,
       created_by = coalesce(given.created_by, kept.created_by)
     from unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[], $5::text[])
         as given (charge_id, operation, x_request_id, at, created_by)
       join ${table} as before on before.charge_id = given.charge_id and before.leg = 'reserve'
     where kept.charge_id = given.charge_id and kept.leg = 'reserve' and kept.x_request_id is null
     returning kept.charge_id as "chargeId", kept.organization_id as "organizationId", kept.credits, kept.operation,
       kept.at, before.operation as "oldOperation", before.at as "oldAt"`,
);

interface ReleaseRow {
  readonly chargeId: string;
  readonly credits: number;
  readonly at: Date;
}

const selectReleases = perTable<ReleaseRow>(
  "usage_days_select_releases",
  (table) =>
    `select charge_id as "chargeId", credits, at from ${table}
     where charge_id = any($1::uuid[]) and leg = 'settle' and action = 'release'`,
);

const ADD_TO_DAYS = statement<Record<string, never>>(
  "usage_days_add",
  `insert into usage_days as kept (organization_id, day, operation, requests, credits)
   select * from unnest($1::uuid[], $2::date[], $3::text[], $4::bigint[], $5::bigint[])
   on conflict (organization_id, day, operation) do update
   set requests = kept.requests + excluded.requests, credits = kept.credits + excluded.credits`,
);

/**
 * Adds new entries to their days. `incomplete` are repeated reservations: the ledger has each
 * without the details of its request. If the repeat has them, the stored reservation gets the
 * operation, request id, time and author of the repeat, and may move to another day.
 *
 * One statement writes the days, after all other writes of the ledger: a transaction that has
 * locked days waits for no other lock.
 */
export async function keepUsageDays(
  tx: Transaction,
  /** Tables of the entries and their reservations. */
  tables: readonly string[],
  fresh: readonly LedgerEntry[],
  incomplete: readonly LedgerEntry[],
): Promise<void> {
  // In this order: a release of this call is added under the old operation, then moves.
  const added = await addedBy(tx, tables, fresh);
  const changes = summedUsageDays([...added, ...(await completeReservations(tx, tables, incomplete))]);
  if (changes.length === 0) return;
  tx.execute(ADD_TO_DAYS, columnsOf(changes, "organizationId", "day", "operation", "requests", "credits"));
}

async function addedBy(tx: Queryable, tables: readonly string[], fresh: readonly LedgerEntry[]): Promise<UsageDay[]> {
  const released = fresh.filter((entry) => entry.action === "release").map((entry) => entry.chargeId);
  const reservations = released.length === 0 ? [] : await queryAll(tx, tables, lockReservations, [released]);
  const operations = new Map(reservations.map(({ chargeId, operation }) => [chargeId, operation]));
  return fresh.flatMap((entry) => {
    const operation = entry.kind === "settle" ? operations.get(entry.chargeId) : undefined;
    return usageDayOf(entry, operation ?? entry.operation) ?? [];
  });
}

/**
 * Adds the details of the request to reservations. Returns the changes of usage days: reservations
 * and their releases move to the operation of the request, reservations also to its day.
 */
async function completeReservations(
  tx: Queryable,
  tables: readonly string[],
  incomplete: readonly LedgerEntry[],
): Promise<UsageDay[]> {
  const withRequest = incomplete.filter((entry) => entry.requestId !== null);
  if (withRequest.length === 0) return [];
  const columns = [
    ...columnsOf(withRequest, "chargeId", "operation", "requestId"),
    withRequest.map((entry) => toIso(entry.atMs)),
    withRequest.map((entry) => actorToText(entry.createdBy)),
  ];
  const completed = await queryAll(tx, tables, completeReservationRows, columns);
  if (completed.length === 0) return [];
  const releases = await queryAll(tx, tables, selectReleases, columnsOf(completed, "chargeId"));
  const releaseOf = new Map(releases.map((row) => [row.chargeId, row]));
  return completed.flatMap((row) => {
    const release = releaseOf.get(row.chargeId);
    const before = usageOf(row, row.oldAt, row.oldOperation, release);
    return before.map(withdrawn).concat(usageOf(row, row.at, row.operation, release));
  });
}

/** The usage that a reservation at `at` and its release add to their days under `operation`. */
function usageOf(
  { organizationId, credits }: CompletedRow,
  at: Date,
  operation: string,
  release: ReleaseRow | undefined,
): UsageDay[] {
  const line = { organizationId, credits, kind: "reserve", action: null, atMs: at.getTime() } as const;
  const settled = { ...line, kind: "settle", action: "release" } as const;
  const back = release && { ...settled, credits: release.credits, atMs: release.at.getTime() };
  return [usageDayOf(line, operation), back ? usageDayOf(back, operation) : null].flatMap((day) => day ?? []);
}
