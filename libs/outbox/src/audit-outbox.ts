/**
 * The outbox of audit entries. A service writes an entry in the transaction of the change that the
 * entry reports. The console service owns the audit log: it fetches the entries, records them, and
 * then asks the service to delete them. The table:
 *
 *     audit_outbox (
 *       id uuid primary key, entry json not null, created_at timestamptz not null default now())
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
 * Writes an entry in the transaction of its change. `eventId` identifies the entry here and in the
 * audit log. A second entry with the same id is ignored.
 */
export function recordForAudit(tx: Pick<Transaction, "execute">, entry: { readonly eventId: string }): void {
  tx.execute(INSERT, [entry.eventId, JSON.stringify(entry)]);
}

/** Adds the routes by which the console service fetches entries and deletes them. */
export function registerAuditOutboxRoutes(app: FastifyInstance, database: Database): void {
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
