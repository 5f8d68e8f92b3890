import { AUDIT_OUTBOX_ROUTES, MAX_AUDIT_EVENTS } from "@kapi/contracts";
import type { FastifyInstance } from "fastify";

import { serve } from "./internal-routes.ts";

/** Entries of the audit log that its owner has not fetched yet. */
interface AuditOutbox {
  read(limit: number): Promise<unknown[]>;
  delete(ids: readonly string[]): Promise<void>;
}

/** The routes by which the organization service fetches entries of the audit log. */
export function installAuditOutbox(app: FastifyInstance, outbox: AuditOutbox): void {
  serve(app, AUDIT_OUTBOX_ROUTES.readAuditOutbox, async () => ({ events: await outbox.read(MAX_AUDIT_EVENTS) }));
  serve(app, AUDIT_OUTBOX_ROUTES.deleteRecordedEvents, async ({ body: { eventIds } }) => {
    await outbox.delete(eventIds);
    return { recorded: eventIds.length };
  });
}
