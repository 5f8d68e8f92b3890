import type { WebhookDisabledReason, WebhookKind } from "@kapi/contracts";
import type { SealedPassword } from "@kapi/kernel";

import type { Endpoint } from "../../domain/endpoint.ts";

/** An endpoint as the database returns it. */
export interface EndpointRow {
  readonly id: string;
  readonly organization_id: string;
  readonly url: string;
  readonly description: string;
  readonly kinds: WebhookKind[] | null;
  readonly server_ids: string[] | null;
  readonly status: "enabled" | "disabled";
  readonly disabled_reason: WebhookDisabledReason | null;
  readonly secret: SealedPassword;
  readonly previous_secret: SealedPassword | null;
  readonly previous_until: Date | null;
  readonly failing_since: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** The columns of an {@link EndpointRow}. */
export const ENDPOINT_COLUMNS = `id, organization_id, url, description, kinds, server_ids::text[] as server_ids, status,
  disabled_reason, secret, previous_secret, previous_until, failing_since, created_at, updated_at`;

/** The endpoint of a row. Its secrets stay sealed. */
export function fromRow(row: EndpointRow): Endpoint {
  return {
    id: row.id,
    organizationId: row.organization_id,
    url: row.url,
    description: row.description,
    kinds: row.kinds,
    serverIds: row.server_ids,
    status: row.status,
    disabledReason: row.disabled_reason,
    secret: row.secret,
    previousSecret: row.previous_secret,
    previousUntilMs: row.previous_until?.getTime() ?? null,
    failingSinceMs: row.failing_since?.getTime() ?? null,
    createdAtMs: row.created_at.getTime(),
    updatedAtMs: row.updated_at.getTime(),
  };
}
