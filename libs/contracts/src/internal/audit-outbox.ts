/**
 * The internal routes of every service that records changes for the audit log of the console
 * service.
 */
import { AuditOutboxAnswer, AuditRecordedBody } from "../messages/audit-event.ts";
import { z } from "zod";

import type { InternalRoutes } from "./route.ts";

export const AUDIT_OUTBOX_ROUTES = {
  readAuditOutbox: {
    method: "GET",
    path: "/internal/audit-outbox",
    callers: ["console"],
    answer: AuditOutboxAnswer,
  },
  deleteRecordedEvents: {
    method: "POST",
    path: "/internal/audit-outbox/recorded",
    callers: ["console"],
    body: AuditRecordedBody,
    answer: z.object({ recorded: z.number() }),
  },
} as const satisfies InternalRoutes;
