/** Audit log entries that are recorded in the transaction of usage and settlements. */
import { type Actor, type CommandEvent, isFinal, isPasswordReset } from "@kapi/contracts";
import { uuidV5 } from "@kapi/kernel";
import type { UsageEntry } from "@kapi/admission/redis";

import type { AuditRecord, KeyUse } from "../../domain/audit.ts";

/** The oldest request of each key. Refunds and releases do not count. */
export function keyUsesOf(entries: readonly UsageEntry[]): KeyUse[] {
  const first = new Map<string, KeyUse>();
  for (const { createdBy, kind, atMs, address } of entries) {
    if (createdBy?.type !== "key" || (kind !== "consume" && kind !== "reserve")) continue;
    const { id: keyId } = createdBy;
    const known = first.get(keyId);
    if (known === undefined || atMs < known.atMs) first.set(keyId, { keyId, atMs, address });
  }
  return [...first.values()];
}

/**
 * Password resets with their outcome; a repeated event gives the same record. Sorted: one lock
 * order for all transactions prevents deadlocks.
 */
export function resetsOf(events: readonly CommandEvent[]): AuditRecord[] {
  return events.flatMap(resetOf).sort((a, b) => ((a.eventId ?? "") < (b.eventId ?? "") ? -1 : 1));
}

function resetOf(event: CommandEvent): AuditRecord[] {
  const { commandId, organizationId, operation, status, serverId, accountNumber, errorCode } = event;
  if (!isPasswordReset(operation) || accountNumber === null || !isFinal(status)) return [];
  const actor: Actor | null = event.createdBy ?? null;
  return [
    {
      actor,
      address: event.callerAddress ?? null,
      organizationId,
      action: operation,
      subject: { type: "account", id: `${serverId}/${accountNumber}` },
      details: { commandId, status, errorCode },
      atMs: Date.parse(event.occurredAt),
      eventId: uuidV5(commandId, "audit"),
    },
  ];
}
