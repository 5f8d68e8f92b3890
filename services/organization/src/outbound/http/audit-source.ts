import { AuditOutboxAnswer } from "@kapi/contracts";
import { type InternalClient, unexpected } from "@kapi/http";

import type { AuditSource } from "../../domain/audit.ts";

const OUTBOX = "/internal/audit-outbox";
const OK = 200;

/** The outbox of another service over internal HTTP. */
export function auditSourceOver(client: InternalClient): AuditSource {
  return {
    read: async () => {
      const { status, body } = await client.request("GET", OUTBOX);
      if (status !== OK) throw unexpected(OUTBOX, status);
      return AuditOutboxAnswer.parse(JSON.parse(body.toString("utf8"))).events;
    },
    recorded: async (eventIds) => {
      const path = `${OUTBOX}/recorded`;
      const { status } = await client.request("POST", path, { eventIds }, { repeatable: true });
      if (status !== OK) throw unexpected(path, status);
    },
  };
}
