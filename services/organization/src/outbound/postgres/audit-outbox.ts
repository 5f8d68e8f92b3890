/** Entries for the audit log wait in `audit_outbox` until the console service fetches them. */
import { isIP } from "node:net";

import type { AuditEvent } from "@kapi/contracts";
import { toIso, uuidV7 } from "@kapi/kernel";
import { recordForAudit } from "@kapi/outbox";
import { statement, type Transaction } from "@kapi/postgres";

import type { AuditTransaction } from "../../domain/audit.ts";
import { columnsOf } from "./columns.ts";

// Keys are locked in order, to prevent deadlocks. Only the first use of a key is an audit entry.
const INSERT_FIRST_USES = statement<Record<string, never>>(
  "audit_insert_first_uses",
  `with unused as (
     select key_id from management_keys where key_id = any($1::text[]) and first_used_at is null
     order by key_id for update
   ),
   used as (
     update management_keys as kept set first_used_at = given.at::timestamptz
     from unnest($1::text[], $2::text[], $3::text[]) as given (key_id, at, address) join unused using (key_id)
     where kept.key_id = given.key_id
     returning kept.organization_id, kept.key_id, given.at, given.address
   )
   insert into audit_outbox (id, entry)
   select gen_random_uuid(), json_build_object(
     'organizationId', organization_id, 'at', at, 'action', 'key.first_used',
     'actor', json_build_object('type', 'key', 'id', key_id), 'address', address,
     'subject', json_build_object('type', 'key', 'id', key_id), 'details', json_build_object()
   ) from used`,
);

/** The audit entries of a transaction: they wait in `audit_outbox` for the console service. */
export function auditTransaction(tx: Pick<Transaction, "execute">): AuditTransaction {
  return {
    recordAudit: (records) => {
      for (const { atMs, eventId = uuidV7(atMs), details = {}, address, ...record } of records) {
        const event: AuditEvent = { ...record, eventId, at: toIso(atMs), address: addressOrNull(address), details };
        recordForAudit(tx, event);
      }
    },
    recordFirstKeyUses: (uses) => {
      if (uses.length === 0) return;
      const rows = uses.map(({ keyId, atMs, address }) => ({
        keyId,
        at: toIso(atMs),
        address: addressOrNull(address),
      }));
      tx.execute(INSERT_FIRST_USES, columnsOf(rows, "keyId", "at", "address"));
    },
  };
}

/** A proxy may send any text as the caller's address: texts that are no address become null. */
function addressOrNull(address: string | null): string | null {
  return address !== null && isIP(address) !== 0 ? address : null;
}
