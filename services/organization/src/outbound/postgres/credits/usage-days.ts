import { actorToText } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { type Queryable, type Statement, statement, type Transaction } from "@kapi/postgres";

import type { LedgerEntry } from "../../../domain/credits/ledger-entry.ts";
import { type UsageDay, summedUsageDays, usageDayOf, withdrawn } from "../../../domain/credits/usage-day.ts";
import { perTable } from "./ledger-positions.ts";

// Keeps a completion (below) from changing the operation before this transaction commits.
const lockReservations = perTable<{ charge_id: string; operation: string }>(
  "usage_days_lock_reservations",
  (table) =>
    `select charge_id, operation from ${table} where charge_id = any($1::uuid[]) and leg = 'reserve'
     order by charge_id for share`,
);

interface CompletedRow {
  readonly charge_id: string;
  readonly organization_id: string;
  readonly credits: number;
  readonly operation: string;
  readonly at: Date;
  readonly old_operation: string;
  readonly old_at: Date;
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
     returning kept.charge_id, kept.organization_id, kept.credits, kept.operation, kept.at,
       before.operation as old_operation, before.at as old_at`,
);

interface ReleaseRow {
  readonly charge_id: string;
  readonly credits: number;
  readonly at: Date;
}

const selectReleases = perTable<ReleaseRow>(
  "usage_days_select_releases",
  (table) =>
    `select charge_id, credits, at from ${table}
     where charge_id = any($1::uuid[]) and leg = 'settle' and action = 'release'`,
);

const addToDays = statement<Record<string, never>>(
  "usage_days_add",
  `insert into usage_days as kept (organization_id, day, operation, requests, credits)
   select * from unnest($1::uuid[], $2::date[], $3::text[], $4::bigint[], $5::bigint[])
   on conflict (organization_id, day, operation) do update
   set requests = kept.requests + excluded.requests, credits = kept.credits + excluded.credits`,
);

const selectDays = statement<{ day: string; operation: string; requests: number; credits: number }>(
  "usage_days_select",
  `select to_char(day, 'YYYY-MM-DD') as day, operation, requests, credits from usage_days
   where organization_id = $1 and day >= $2::date and (requests <> 0 or credits <> 0)`,
);

/**
 * Adds new entries to their days. Reservations get the operation and time of `incomplete`, and may
 * move to another day. One write, the last one of the ledger: a transaction that waits for it holds
 * nothing that others need.
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
  tx.execute(addToDays, [
    changes.map((change) => change.organizationId),
    changes.map((change) => change.day),
    changes.map((change) => change.operation),
    changes.map((change) => change.requests),
    changes.map((change) => change.credits),
  ]);
}

async function addedBy(tx: Queryable, tables: readonly string[], fresh: readonly LedgerEntry[]): Promise<UsageDay[]> {
  const released = fresh.filter((entry) => entry.action === "release").map((entry) => entry.chargeId);
  const reservations = released.length === 0 ? [] : await inAll(tx, tables, lockReservations, [released]);
  const operations = new Map(reservations.map((row) => [row.charge_id, row.operation]));
  return fresh.flatMap((entry) => {
    const operation = entry.kind === "settle" ? operations.get(entry.chargeId) : undefined;
    return usageDayOf(entry, operation ?? entry.operation) ?? [];
  });
}

/** Changes that move completed reservations, with their releases. */
async function completeReservations(
  tx: Queryable,
  tables: readonly string[],
  incomplete: readonly LedgerEntry[],
): Promise<UsageDay[]> {
  const withRequest = incomplete.filter((entry) => entry.requestId !== null);
  if (withRequest.length === 0) return [];
  const completed = await inAll(tx, tables, completeReservationRows, [
    withRequest.map((entry) => entry.chargeId),
    withRequest.map((entry) => entry.operation),
    withRequest.map((entry) => entry.requestId),
    withRequest.map((entry) => toIso(entry.atMs)),
    withRequest.map((entry) => actorToText(entry.createdBy)),
  ]);
  if (completed.length === 0) return [];
  const releases = await inAll(tx, tables, selectReleases, [completed.map((row) => row.charge_id)]);
  const releaseOf = new Map(releases.map((row) => [row.charge_id, row]));
  return completed.flatMap((row) => movesOf(row, releaseOf.get(row.charge_id)));
}

async function inAll<Row>(
  tx: Queryable,
  tables: readonly string[],
  statementOf: (table: string) => Statement<Row>,
  values: readonly unknown[],
): Promise<Row[]> {
  return (await Promise.all(tables.map((table) => tx.query(statementOf(table), values)))).flat();
}

function movesOf(row: CompletedRow, release: ReleaseRow | undefined): UsageDay[] {
  const line = { organizationId: row.organization_id, credits: row.credits };
  const reserve = { ...line, kind: "reserve", action: null } as const;
  const before = usageDayOf({ ...reserve, atMs: row.old_at.getTime() }, row.old_operation);
  const after = usageDayOf({ ...reserve, atMs: row.at.getTime() }, row.operation);
  if (before === null || after === null) return [];
  if (release === undefined) return [withdrawn(before), after];
  const settle = { ...line, credits: release.credits, kind: "settle", action: "release" } as const;
  const releasedBefore = usageDayOf({ ...settle, atMs: release.at.getTime() }, row.old_operation);
  const releasedAfter = usageDayOf({ ...settle, atMs: release.at.getTime() }, row.operation);
  if (releasedBefore === null || releasedAfter === null) return [withdrawn(before), after];
  return [withdrawn(before), after, withdrawn(releasedBefore), releasedAfter];
}

/** Usage since `firstDay`, such as `2026-11-21`. */
export async function readUsageDays(
  database: Queryable,
  organizationId: string,
  firstDay: string,
): Promise<UsageDay[]> {
  const rows = await database.query(selectDays, [organizationId, firstDay]);
  return rows.map(({ day, operation, requests, credits }) => ({ organizationId, day, operation, requests, credits }));
}
