import type { AuditEvent, UpdateWebhookBody } from "@kapi/contracts";
import type { Caller } from "@kapi/http";
import { toIso, uuidV7 } from "@kapi/kernel";

/** The caller that requests a change; null if unknown. */
export type ChangedBy = Caller | null;

/** The webhooks service itself: it disables endpoints that answer 410 or keep failing. */
export const THIS_SERVICE: Caller = { actor: { type: "system", id: "webhooks" }, address: null };

/** The entry of the audit log for a change of an endpoint. */
export function auditEventOf(
  action: AuditEvent["action"],
  { organizationId, endpointId }: { readonly organizationId: string; readonly endpointId: string },
  by: ChangedBy,
  nowMs: number,
  details: AuditEvent["details"] = {},
): AuditEvent {
  return {
    eventId: uuidV7(nowMs),
    organizationId,
    at: toIso(nowMs),
    action,
    actor: by?.actor ?? null,
    address: by?.address ?? null,
    subject: { type: "webhook", id: endpointId },
    details,
  };
}

/** Scheme, host and port of a URL. The path and query may contain a token. */
export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "";
}

/** The names of the fields in the request, the origin of the URL and the status, if given. */
export function changeDetails(change: UpdateWebhookBody): AuditEvent["details"] {
  const { url, status } = change;
  const changed = Object.entries(change).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  return {
    changed,
    ...(url === undefined ? {} : { receiver: originOf(url) }),
    ...(status === undefined ? {} : { status }),
  };
}
