/** The audit log in PostgreSQL. Entries are inserted and selected, never updated or deleted. */
import { isIP } from "node:net";

import type { AuditEntry } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { type Queryable, statement, type Transaction } from "@kapi/postgres";

import type { AuditFilters, AuditLog, AuditQuery, AuditRecord, FetchedAuditRecord } from "../../domain/audit.ts";

interface AuditRow {
  readonly id: number;
  readonly organization_id: string | null;
  readonly at: Date;
  readonly action: string;
  readonly actor_type: NonNullable<AuditEntry["actor"]>["type"] | null;
  readonly actor_id: string | null;
  readonly actor_name: string | null;
  readonly address: string | null;
  readonly subject_type: NonNullable<AuditEntry["subject"]>["type"] | null;
  readonly subject_id: string | null;
  readonly details: Record<string, unknown>;
}

const INSERT_ROWS = statement<Record<string, never>>(
  "audit_insert",
  `insert into audit_log
     (event_id, organization_id, at, action, actor_type, actor_id, address, subject_type, subject_id, details)
   select * from unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[],
     $8::text[], $9::text[], $10::jsonb[])
   on conflict (event_id) do nothing`,
);

/** Whether the actor is a user with a valid id: another service may send any text as the id. */
const USER_ID = "entry.actor_type = 'user' and entry.actor_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'";
const ENTRIES = `select entry.id, entry.organization_id, entry.at, entry.action, entry.actor_type, entry.actor_id,
    person.email as actor_name, entry.address, entry.subject_type, entry.subject_id, entry.details
  from audit_log as entry
    left join users as person on person.id = case when ${USER_ID} then entry.actor_id::uuid end`;
const PAGE = `entry.id < coalesce($1::bigint, 9223372036854775807)`;
const FILTERS = `($3::uuid is null or entry.organization_id = $3)
  and ($4::text is null or entry.actor_type = $4) and ($5::text is null or entry.actor_id = $5)
  and ($6::text is null or entry.action = $6)
  and ($7::text is null or entry.subject_type = $7) and ($8::text is null or entry.subject_id = $8)
  and ($9::timestamptz is null or entry.at >= $9) and ($10::timestamptz is null or entry.at < $10)`;
/**
 * Entries that meet `condition`, and the filters. A prepared statement has one plan for all values
 * of its filters. So each index has a statement of its own, whose `condition` uses the index.
 */
const selectBy = (condition: string): string =>
  `${ENTRIES} where ${PAGE} and ${condition} and ${FILTERS} order by entry.id desc limit $2`;
const SELECT_ALL = statement<AuditRow>("audit_select", selectBy("true"));
const SELECT_OF = statement<AuditRow>("audit_select_of", selectBy("entry.organization_id = $3"));
const SELECT_OF_ACTOR = statement<AuditRow>(
  "audit_select_of_actor",
  selectBy("entry.organization_id = $3 and entry.actor_id = $5"),
);
const SELECT_OF_SUBJECT = statement<AuditRow>(
  "audit_select_of_subject",
  selectBy("entry.organization_id = $3 and entry.subject_id = $8"),
);
const SELECT_OF_ACTION = statement<AuditRow>(
  "audit_select_of_action",
  selectBy("entry.organization_id = $3 and entry.action = $6"),
);

/** Adds entries; entries whose event id is in the audit log already are skipped. */
export function insertAudit(
  tx: Pick<Transaction, "execute">,
  records: readonly (AuditRecord | FetchedAuditRecord)[],
): void {
  if (records.length === 0) return;
  tx.execute(INSERT_ROWS, [
    records.map(({ eventId }) => eventId ?? null),
    records.map(({ organizationId }) => organizationId),
    records.map(({ atMs }) => toIso(atMs)),
    records.map(({ action }) => action),
    records.map(({ actor }) => actor?.type ?? null),
    records.map(({ actor }) => actor?.id ?? null),
    records.map(({ address }) => addressOrNull(address)),
    records.map(({ subject }) => subject?.type ?? null),
    records.map(({ subject }) => subject?.id ?? null),
    records.map(({ details }) => JSON.stringify(details ?? {})),
  ]);
}

/** A proxy may send any text as the caller's address: only IP addresses are kept. */
function addressOrNull(address: string | null): string | null {
  return address !== null && isIP(address) !== 0 ? address : null;
}

/** Reads the audit log. An actor that is a key has no name here: the caller looks the name up. */
export function createAuditLog(database: Queryable): AuditLog {
  return {
    page: async ({ organizationId, before, limit, filters }: AuditQuery) => {
      const { actorType, actorId, action, subjectType, subjectId, from, to } = filters;
      const given = [actorType, actorId, action, subjectType, subjectId, from, to];
      const values = [before ?? null, limit, organizationId, ...given.map((value) => value ?? null)];
      return (await database.query(selectFor(organizationId, filters), values)).map(fromRow);
    },
  };
}

/**
 * The statement whose index usually has the fewest matching entries: by subject, else by actor,
 * else by action, else by organization. For all organizations, entries are read by id.
 */
function selectFor(organizationId: string | null, { actorId, action, subjectId }: AuditFilters): typeof SELECT_ALL {
  if (organizationId === null) return SELECT_ALL;
  if (subjectId !== undefined) return SELECT_OF_SUBJECT;
  if (actorId !== undefined) return SELECT_OF_ACTOR;
  return action === undefined ? SELECT_OF : SELECT_OF_ACTION;
}

function fromRow(row: AuditRow): AuditEntry {
  const { actor_type: actorType, subject_type: subjectType, subject_id: subjectId } = row;
  return {
    id: String(row.id),
    at: row.at.toISOString(),
    organizationId: row.organization_id,
    action: row.action,
    actor: actorType === null ? null : { type: actorType, id: row.actor_id, name: row.actor_name },
    address: row.address,
    subject: subjectType === null || subjectId === null ? null : { type: subjectType, id: subjectId },
    details: row.details,
  };
}
