import { type SettlementReply, type SettlementRequest, settle } from "@kapi/admission/redis";

import type { LedgerEntry, RecordedEntry } from "../../domain/credits/ledger-entry.ts";
import type { CreditTransaction } from "../../domain/credits/ports.ts";
import type { LedgerContext } from "./ledger-context.ts";

/** Settles in Redis what the ledger has recorded; keeps what cannot be settled now. */
export async function settleInRedis(context: LedgerContext, settlements: readonly SettlementRequest[]): Promise<void> {
  if (settlements.length === 0) return;
  const replies = await settle(context.redis, settlements, (error) =>
    context.logger.warn({ err: error }, "settlements wait for Redis"),
  );
  const left = settlements.filter((_, index) => !isApplied(replies[index]));
  await context.store.insertPending(
    // An old one stays old: the wallet may have it, and Redis may not remember that.
    left.map(({ chargeId, organizationId, action, credits, epoch, isOld = false }) => ({
      chargeId,
      organizationId,
      kind: action,
      credits,
      epoch,
      isOld,
    })),
  );
}

/** Whether the wallet has a change, by itself or through its opening. */
export function isApplied(reply: SettlementReply | undefined): boolean {
  return reply === "done" || reply === "included";
}

/**
 * The ends of reservations that the usage streams tell of although the ledger has had both for some
 * time. Mostly the entry was only read late, and Redis has the settlement. But where Redis lost the
 * reservation, the ledger heard of its end before the shard was opened again, and then the same
 * command was asked for once more, Redis has reserved for it a second time: telling the end once
 * more gives that back. So does a command that was reserved for, given back unpublished, and asked
 * for again. It is told as an old one: where there is no reservation, Redis has the end, however
 * long ago.
 */
export async function repeatedSettlements(
  tx: CreditTransaction,
  usage: readonly LedgerEntry[],
  recorded: readonly RecordedEntry[],
): Promise<SettlementRequest[]> {
  const told = new Set<string>();
  const givenBack = new Set<string>();
  for (const { kind, chargeId } of usage) {
    if (kind === "reserve") told.add(chargeId);
    if (kind === "settle" && told.delete(chargeId)) givenBack.add(chargeId);
  }
  for (const { entry } of recorded) {
    if (entry.kind === "settle" && !givenBack.has(entry.chargeId)) told.delete(entry.chargeId);
  }
  const known = recorded.filter(
    ({ entry, isNew }) =>
      entry.kind === "reserve" && told.has(entry.chargeId) && (!isNew || givenBack.has(entry.chargeId)),
  );
  if (known.length === 0) return [];
  const ends = await tx.readSettlements(known.map(({ entry }) => entry.chargeId));
  return ends.map((end) => Object.assign(end, { isOld: true }));
}
