/** Audit log entries that are recorded in the transaction of usage and settlements. */
import {
  type Actor,
  AUDIT_ACTIONS,
  type AuditAction,
  type CommandEvent,
  isFinal,
  isPasswordReset,
} from "@kapi/contracts";
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
 * Audit log entries of the final commands that are in `AUDIT_ACTIONS`. Password resets are recorded
 * whoever requested them. Other commands are recorded only if a person requested them. A repeated
 * command event gives an entry with the same `eventId`. Sorted: one lock order for all transactions
 * prevents deadlocks.
 */
export function auditedCommandsOf(events: readonly CommandEvent[]): AuditRecord[] {
  return events.flatMap(auditRecordOf).sort((a, b) => ((a.eventId ?? "") < (b.eventId ?? "") ? -1 : 1));
}

/** Fields of a command's result that the audit log shows. */
const SHOWN_RESULTS = ["transactionId", "balanceAfter", "version"] as const;

function auditRecordOf(event: CommandEvent): AuditRecord[] {
  const { commandId, organizationId, operation, status, serverId, accountNumber, errorCode, result } = event;
  const actor: Actor | null = event.createdBy ?? null;
  if (!isFinal(status) || !isAuditAction(operation)) return [];
  if (actor?.type !== "user" && !isPasswordReset(operation)) return [];
  const shown = SHOWN_RESULTS.flatMap((name) => (result?.[name] === undefined ? [] : [[name, result[name]] as const]));
  return [
    {
      actor,
      address: event.callerAddress ?? null,
      organizationId,
      action: operation,
      // A command on a risk template has no account.
      subject:
        accountNumber === null
          ? { type: "server", id: serverId }
          : { type: "account", id: `${serverId}/${accountNumber}` },
      details: { commandId, status, errorCode, ...Object.fromEntries(shown) },
      atMs: Date.parse(event.occurredAt),
      eventId: uuidV5(commandId, "audit"),
    },
  ];
}

function isAuditAction(action: string): action is AuditAction {
  return (AUDIT_ACTIONS as readonly string[]).includes(action);
}
