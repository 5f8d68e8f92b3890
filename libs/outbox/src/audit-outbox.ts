/**
 * Entries of the audit log beside the changes that they report, in the schema of the service that
 * makes the changes. They are fetched, not published: console, which owns the log, asks for them
 * and has them deleted once it has recorded them. The table:
 * `audit_outbox (id uuid primary key, entry json not null, created_at timestamptz not null default now())`.
 */
import { AUDIT_OUTBOX_ROUTES, MAX_AUDIT_EVENTS } from "@kapi/contracts";
import { type FastifyInstance, serve } from "@kapi/http";
import { type Database, statement, type Transaction } from "@kapi/postgres";

const INSERT = statement<Record<string, never>>(
  "audit_outbox_insert",
  "insert into audit_outbox (id, entry) values ($1, $2) on conflict (id) do nothing",
);
const READ = statement<{ id: string; entry: object | null }>(
  "audit_outbox_read",
  "select id, entry from audit_outbox order by created_at, id limit $1",
);
const DELETE = statement<Record<string, never>>(
  "audit_outbox_delete",
  "delete from audit_outbox where id = any($1::uuid[])",
);

/**
 * Adds an entry in the transaction of its change, once under its `eventId`, which names it in the
 * log, too.
 */
export function recordForAudit(tx: Pick<Transaction, "execute">, entry: { readonly eventId: string }): void {
  tx.execute(INSERT, [entry.eventId, JSON.stringify(entry)]);
}

/** The routes by which console fetches the entries in the schema of `database`. */
export function installAuditOutbox(app: FastifyInstance, database: Database): void {
  const { readAuditOutbox, deleteRecordedEvents } = AUDIT_OUTBOX_ROUTES;
  serve(app, readAuditOutbox, async () => ({ events: await readAuditEntries(database, MAX_AUDIT_EVENTS) }));
  serve(app, deleteRecordedEvents, async ({ body: { eventIds } }) => {
    await database.query(DELETE, [eventIds]);
    return { recorded: eventIds.length };
  });
}

/** The oldest entries, at most `limit`, each with the id of its row as `eventId`. */
export async function readAuditEntries(database: Database, limit: number): Promise<unknown[]> {
  return (await database.query(READ, [limit])).map(({ id, entry }) => Object.assign({}, entry, { eventId: id }));
}
