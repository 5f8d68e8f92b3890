import { toIso } from "@kapi/kernel";
import { recordForAudit } from "@kapi/outbox";
import { type Database, statement } from "@kapi/postgres";

import { auditEventOf, changeDetails, originOf, THIS_SERVICE } from "../../domain/audit.ts";
import type { Endpoint } from "../../domain/endpoint.ts";
import type { EndpointStore } from "../../domain/ports.ts";
import { ENDPOINT_COLUMNS, type EndpointRow, fromRow } from "./endpoint-row.ts";

// Serializes concurrent creations, so that they cannot exceed the limit together.
const LOCK_LIST = statement<Record<string, never>>(
  "webhooks_lock_endpoints",
  "select pg_advisory_xact_lock(hashtextextended(current_schema() || ' endpoints of ' || $1, 0))",
);

/** $9: maximum number of endpoints of an organization. */
const INSERT = statement<EndpointRow>(
  "webhooks_insert_endpoint",
  `insert into endpoints (id, organization_id, url, description, kinds, server_ids, status, secret, created_at, updated_at)
   select $1::uuid, $2::uuid, $3::text, $4::text, $5::text[], $6::uuid[], 'enabled', $7::json, $8::timestamptz, $8::timestamptz
   where (select count(*) from endpoints where organization_id = $2) < $9::integer
   returning ${ENDPOINT_COLUMNS}`,
);

const LIST = statement<EndpointRow>(
  "webhooks_list_endpoints",
  `select ${ENDPOINT_COLUMNS} from endpoints where organization_id = $1 order by created_at, id`,
);

const GET = statement<EndpointRow>(
  "webhooks_get_endpoint",
  `select ${ENDPOINT_COLUMNS} from endpoints where id = $2 and organization_id = $1`,
);

const FIND = statement<EndpointRow>(
  "webhooks_find_endpoints",
  `select ${ENDPOINT_COLUMNS} from endpoints where id = any($1::uuid[])`,
);

/**
 * $3 to $10: for each field, whether it changes and its new value. $11: the new status, or null.
 * Enabling resets `failing_since`.
 */
const UPDATE = statement<EndpointRow>(
  "webhooks_update_endpoint",
  `update endpoints set
     url = case when $3::boolean then $4::text else url end,
     description = case when $5::boolean then $6::text else description end,
     kinds = case when $7::boolean then $8::text[] else kinds end,
     server_ids = case when $9::boolean then $10::uuid[] else server_ids end,
     status = coalesce($11::text, status),
     disabled_reason = case
       when $11::text = 'enabled' then null
       when $11::text = 'disabled' and status = 'enabled' then 'owner'
       else disabled_reason end,
     failing_since = case when $11::text = 'enabled' then null else failing_since end,
     updated_at = $12
   where id = $2 and organization_id = $1
   returning ${ENDPOINT_COLUMNS}`,
);

const DELETE = statement<{ id: string }>(
  "webhooks_delete_endpoint",
  "delete from endpoints where id = $2 and organization_id = $1 returning id",
);

const ROTATE = statement<EndpointRow>(
  "webhooks_rotate_secret",
  `update endpoints set previous_secret = secret, previous_until = $4, secret = $3::json, updated_at = $5
   where id = $2 and organization_id = $1
   returning ${ENDPOINT_COLUMNS}`,
);

const DISABLE = statement<{ organization_id: string }>(
  "webhooks_disable_endpoint",
  `update endpoints set status = 'disabled', disabled_reason = $2, updated_at = $3
   where id = $1 and url = $5 and status = 'enabled' and ($2 <> 'failing' or failing_since <= $4)
   returning organization_id`,
);

/** Endpoints in PostgreSQL. */
export function createEndpointStore(database: Database): EndpointStore {
  const one = ([row]: EndpointRow[]): Endpoint | null => (row === undefined ? null : fromRow(row));
  return {
    create: (draft, maxEndpoints, nowMs, by) =>
      database.transaction(async (tx) => {
        await tx.query(LOCK_LIST, [draft.organizationId]);
        const { id, organizationId, url, description, kinds, serverIds, secret } = draft;
        const values = [id, organizationId, url, description, kinds, serverIds, JSON.stringify(secret), toIso(nowMs)];
        const created = one(await tx.query(INSERT, [...values, maxEndpoints]));
        const details = { receiver: originOf(url), kinds: kinds?.length ?? null, servers: serverIds?.length ?? null };
        const name = { organizationId, endpointId: id };
        if (created !== null) recordForAudit(tx, auditEventOf("webhook.created", name, by, nowMs, details));
        return created;
      }),
    list: async (organizationId) => (await database.query(LIST, [organizationId])).map(fromRow),
    get: async (organizationId, endpointId) => one(await database.query(GET, [organizationId, endpointId])),
    find: async (endpointIds) => (await database.query(FIND, [endpointIds])).map(fromRow),
    update: (organizationId, endpointId, change, nowMs, by) =>
      database.transaction(async (tx) => {
        const { url, description, kinds, serverIds, status } = change;
        const fields = [url, description, kinds, serverIds].flatMap((value) => [value !== undefined, value ?? null]);
        const values = [organizationId, endpointId, ...fields, status ?? null, toIso(nowMs)];
        const updated = one(await tx.query(UPDATE, values));
        const name = { organizationId, endpointId };
        const event = auditEventOf("webhook.updated", name, by, nowMs, changeDetails(change));
        if (updated !== null) recordForAudit(tx, event);
        return updated;
      }),
    delete: (organizationId, endpointId, nowMs, by) =>
      database.transaction(async (tx) => {
        const [deleted] = await tx.query(DELETE, [organizationId, endpointId]);
        if (deleted === undefined) return false;
        recordForAudit(tx, auditEventOf("webhook.deleted", { organizationId, endpointId }, by, nowMs));
        return true;
      }),
    rotate: (organizationId, endpointId, secret, previousUntilMs, nowMs, by) =>
      database.transaction(async (tx) => {
        const times = [toIso(previousUntilMs), toIso(nowMs)];
        const values = [organizationId, endpointId, JSON.stringify(secret), ...times];
        const rotated = one(await tx.query(ROTATE, values));
        const name = { organizationId, endpointId };
        if (rotated !== null) recordForAudit(tx, auditEventOf("webhook.secret_rotated", name, by, nowMs));
        return rotated;
      }),
    disable: ({ id: endpointId, url }, reason, nowMs, failingBeforeMs) =>
      database.transaction(async (tx) => {
        const values = [endpointId, reason, toIso(nowMs), toIso(failingBeforeMs), url];
        const [disabled] = await tx.query(DISABLE, values);
        if (disabled === undefined) return false;
        const name = { organizationId: disabled.organization_id, endpointId };
        const details = { changed: ["status"], status: "disabled", reason };
        recordForAudit(tx, auditEventOf("webhook.updated", name, THIS_SERVICE, nowMs, details));
        return true;
      }),
  };
}
