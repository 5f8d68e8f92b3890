import { AuditRecordedBody, MAX_AUDIT_EVENTS } from "@kapi/contracts";
import type { FastifyInstance } from "fastify";

import { parse } from "./parse.ts";

/** Entries of the audit log that its owner has not fetched yet. */
interface AuditOutbox {
  read(limit: number): Promise<unknown[]>;
  delete(ids: readonly string[]): Promise<void>;
}

/** The routes by which the organization service fetches entries of the audit log; both are below /internal. */
export function installAuditOutbox(app: FastifyInstance, outbox: AuditOutbox): void {
  app.get("/internal/audit-outbox", async () => ({ events: await outbox.read(MAX_AUDIT_EVENTS) }));
  app.post("/internal/audit-outbox/recorded", async (request) => {
    const { eventIds } = parse(AuditRecordedBody, request.body);
    await outbox.delete(eventIds);
    return { recorded: eventIds.length };
  });
}
