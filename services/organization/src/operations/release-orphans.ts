import { CLAIM_TTL_MS, tagOf } from "@kapi/redis";
import { counter } from "@kapi/runtime";

import type { Leg } from "../domain/leg.ts";
import type { CommandStatus, PendingWalletChange } from "../domain/ports.ts";
import type { LedgerContext } from "./ledger-context.ts";

/** After its claim has ended no request can publish a command any more; an hour more for clocks and slow hands. */
const ORPHAN_AGE_MS = CLAIM_TTL_MS + 3_600_000;
const MAX_RESERVATIONS_PER_BATCH = 100;

const abandoned = counter(
  "organization.claims.abandoned",
  "Claims that nobody came back for until they ended: what was reserved for them was released",
  "{claim}",
);

/**
 * Gives credits back that were reserved for commands which were never published: their request ended 5xx and was not made
 * again. The ledger has it first; {@link applyPending} tells Redis. Returns how many reservations were released.
 */
export async function releaseOrphans(context: LedgerContext, commandStatus: CommandStatus): Promise<number> {
  const { store, clock } = context;
  const old = await store.oldReservations(clock.nowMs() - ORPHAN_AGE_MS, MAX_RESERVATIONS_PER_BATCH);
  if (old.length === 0) return 0;
  await commandStatus.caughtUp();
  const known = await commandStatus.known(old.map((reservation) => reservation.chargeId));
  const orphans = old.filter((_, index) => !known[index]);
  const legs = orphans.map(({ chargeId, organizationId, credits }) => ({
    chargeId,
    organizationId,
    credits,
    kind: "settle" as const,
    action: "release" as const,
    operation: "never published",
    requestId: null,
    commandId: chargeId,
    atMs: clock.nowMs(),
  }));
  const count = await store.transaction(async (tx) => {
    const tags = [...new Set(legs.map((leg) => tagOf(leg.organizationId)))];
    const recorded = await tx.recordLegs(await tx.shareTagLocks(tags), legs, clock.nowMs());
    // With the legs: nothing else would tell Redis of them if this process ended now.
    const released = recorded.filter(({ isNew }) => isNew);
    await tx.insertPending(released.map(({ leg, epoch }) => ({ ...changeOf(leg), epoch })));
    return released.length;
  });
  abandoned.add(count);
  return count;
}

function changeOf({ chargeId, organizationId, credits }: Leg): Omit<PendingWalletChange, "epoch"> {
  return { chargeId, organizationId, credits, kind: "release" };
}
