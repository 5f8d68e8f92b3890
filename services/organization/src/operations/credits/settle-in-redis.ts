import { type SettlementReply, type SettlementRequest, settle } from "@kapi/admission/redis";

import type { LedgerEntry, RecordedEntry } from "../../domain/credits/ledger-entry.ts";
import type { CreditTransaction, PendingWalletChange } from "../../domain/credits/ports.ts";
import type { LedgerContext } from "./ledger-context.ts";

/**
 * Settles recorded entries in Redis. A settlement that Redis does not apply becomes a pending
 * change.
 */
export async function settleInRedis(context: LedgerContext, settlements: readonly SettlementRequest[]): Promise<void> {
  if (settlements.length === 0) return;
  const replies = await settle(context.redis, settlements, (error) =>
    context.logger.warn({ err: error }, "settlements wait for Redis"),
  );
  const left = settlements.filter((_, index) => !isApplied(replies[index]));
  // A pending change keeps `isOld`: Redis may have applied and forgotten the settlement.
  await context.store.insertPending(
    left.map(({ chargeId, organizationId, action: kind, credits, epoch, isOld = false }) => ({
      chargeId,
      organizationId,
      kind,
      credits,
      epoch,
      isOld,
    })),
  );
}

/**
 * The change of a wallet in Redis by a recorded entry. `release` also returns the credits of a
 * refund.
 */
export function pendingChange(
  kind: "consume" | "release",
  { entry, epoch }: RecordedEntry,
  isOld = false,
): PendingWalletChange {
  const { chargeId, organizationId, credits } = entry;
  return { chargeId, organizationId, kind, credits, epoch, isOld };
}

/** Whether the wallet has the change, from this call, an earlier call or a sync. */
export function isApplied(reply: SettlementReply | undefined): boolean {
  return reply === "done" || reply === "included";
}

/**
 * The usage streams may report a reservation although the ledger has this reservation and its
 * settlement. Returns the settlements of such reservations. Usually the final event of the command
 * came first: then the reservation was recorded with the settlement, before the usage streams
 * reported it. But Redis may have reserved twice:
 * - Redis lost the reservation, the ledger recorded the settlement before the sync, and the command
 *   was requested again.
 * - The command was not published, its reservation was released, and the command was requested
 *   again.
 *
 * Settling again returns the second reservation. These settlements have `isOld`: if Redis has no
 * reservation of the command, the wallet in Redis has the settlement already.
 */
export async function repeatedSettlements(
  tx: CreditTransaction,
  usage: readonly LedgerEntry[],
  recorded: readonly RecordedEntry[],
): Promise<SettlementRequest[]> {
  const reservedAgain = new Set<string>();
  const givenBack = new Set<string>();
  for (const { kind, chargeId } of usage) {
    if (kind === "reserve") reservedAgain.add(chargeId);
    if (kind === "settle" && reservedAgain.delete(chargeId)) givenBack.add(chargeId);
  }
  for (const { entry } of recorded) {
    if (entry.kind === "settle" && !givenBack.has(entry.chargeId)) reservedAgain.delete(entry.chargeId);
  }
  const known = recorded.filter(
    ({ entry, isNew }) =>
      entry.kind === "reserve" && reservedAgain.has(entry.chargeId) && (!isNew || givenBack.has(entry.chargeId)),
  );
  if (known.length === 0) return [];
  const settlements = await tx.readSettlements(known.map(({ entry }) => entry.chargeId));
  return settlements.map((settlement) => Object.assign(settlement, { isOld: true }));
}
