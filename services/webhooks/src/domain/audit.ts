import type { AuditEvent, UpdateWebhookBody } from "@kapi/contracts";
import type { Caller } from "@kapi/http";
import { toIso, uuidV7 } from "@kapi/kernel";

/** Who asks for a change; null: not known. */
export type ChangedBy = Caller | null;

/** The webhooks service itself, which disables endpoints that are gone or only fail. */
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

/** Of an address its scheme, host and port: what comes behind may hold a token. */
export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "";
}

/** Which fields a change is of; of the address where it leads, of the status what it is. */
export function changeDetails(change: UpdateWebhookBody): AuditEvent["details"] {
  const { url, status } = change;
  const changed = Object.entries(change).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  return {
    changed,
    ...(url === undefined ? {} : { receiver: originOf(url) }),
    ...(status === undefined ? {} : { status }),
  };
}
