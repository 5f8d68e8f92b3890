import { AUDIT_OUTBOX_ROUTES } from "@kapi/contracts";
import { callRouteRaw, type InternalClient, unexpectedStatus } from "@kapi/http";

import type { AuditSource } from "../../domain/audit.ts";

const { readAuditOutbox, deleteRecordedEvents } = AUDIT_OUTBOX_ROUTES;
const OK = 200;

/** The outbox of another service over internal HTTP. */
export function createAuditSource(client: InternalClient): AuditSource {
  return {
    read: async () => {
      const { status, body } = await callRouteRaw(client, readAuditOutbox, {});
      if (status !== OK) throw unexpectedStatus(readAuditOutbox.path, status);
      return readAuditOutbox.answer.parse(JSON.parse(body.toString("utf8"))).events;
    },
    recorded: async (eventIds) => {
      const asked = { body: { eventIds } };
      const { status } = await callRouteRaw(client, deleteRecordedEvents, asked, { repeatable: true });
      if (status !== OK) throw unexpectedStatus(deleteRecordedEvents.path, status);
    },
  };
}
