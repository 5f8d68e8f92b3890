import type { Database, Transaction } from "./pool.ts";
import { statement } from "./statement.ts";

/**
 * Entries of the audit log beside the changes that they tell of, in the schema of the service that
 * makes the changes. The organization service, which owns the log, fetches them and has them deleted
 * once it has written them. The table: `audit_outbox (id uuid primary key, entry json not null,
 * created_at timestamptz not null default now())`.
 */
export interface AuditOutbox {
  /** The oldest entries, at most `limit`, each with the id of its row as `eventId`. */
  read(limit: number): Promise<unknown[]>;
  /** Deletes entries that are in the log. */
  delete(ids: readonly string[]): Promise<void>;
}

const INSERT = statement<Record<string, never>>(
  "audit_outbox_insert",
  "insert into audit_outbox (id, entry) values ($1, $2)",
);
const READ = statement<{ id: string; entry: object | null }>(
  "audit_outbox_read",
  "select id, entry from audit_outbox order by created_at, id limit $1",
);
const DELETE = statement<Record<string, never>>(
  "audit_outbox_delete",
  "delete from audit_outbox where id = any($1::uuid[])",
);

/** Adds an entry in the transaction of its change. `eventId` names it in the log, too. */
export function recordForAudit(tx: Pick<Transaction, "execute">, entry: { readonly eventId: string }): void {
  tx.execute(INSERT, [entry.eventId, JSON.stringify(entry)]);
}

/** The outbox in the schema of `database`. */
export function createAuditOutbox(database: Database): AuditOutbox {
  return {
    read: async (limit) =>
      (await database.query(READ, [limit])).map(({ id, entry }) => Object.assign({}, entry, { eventId: id })),
    delete: async (ids) => {
      await database.query(DELETE, [ids]);
    },
  };
}
