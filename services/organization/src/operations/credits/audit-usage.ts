/** What the credit ledger takes in and the audit log records too, in the same transaction. */
import { type Actor, type CommandEvent, isFinal, isPasswordReset } from "@kapi/contracts";
import { uuidV5 } from "@kapi/kernel";
import type { UsageEntry } from "@kapi/admission/redis";

import type { AuditRecord } from "../../domain/audit.ts";
import type { KeyUse } from "../../domain/directory/ports.ts";

/** The oldest request of each key among usage entries. What came back is no use. */
export function keyUsesOf(entries: readonly UsageEntry[]): KeyUse[] {
  const first = new Map<string, KeyUse>();
  for (const { keyId, kind, atMs, address } of entries) {
    if (keyId === null || (kind !== "consume" && kind !== "reserve")) continue;
    const known = first.get(keyId);
    if (known === undefined || atMs < known.atMs) first.set(keyId, { keyId, atMs, address });
  }
  return [...first.values()];
}

/**
 * The password resets among events of commands, each with how it ended; the same for each repeat of
 * its event. In one order, so that two transactions with the same ones do not wait for each other
 * in a circle.
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
      // The audit log names a reset as the command does.
      action: operation,
      subject: { type: "account", id: `${serverId}/${accountNumber}` },
      details: { commandId, status, errorCode },
      atMs: Date.parse(event.occurredAt),
      eventId: uuidV5(commandId, "audit"),
    },
  ];
}
