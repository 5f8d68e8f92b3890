import { COMMAND_DEADLINE_MS, EXPORT_DEADLINE_MS } from "@kapi/contracts";
import { shardOf } from "@kapi/admission/redis";
import { counter } from "@kapi/runtime";

import type { LedgerEntry } from "../../domain/credits/ledger-entry.ts";
import type { CommandState, CommandStatus, PendingWalletChange, Reservation } from "../../domain/credits/ports.ts";
import type { LedgerContext } from "./ledger-context.ts";

/**
 * A reservation that is older than its command may take to begin, by this much, and whose command
 * nobody knows, comes back. If the command is published after that all the same (its request is
 * made again), it is consumed by an entry of its own.
 */
const ORPHAN_MARGIN_MS = 5 * 60_000;
const MAX_RESERVATIONS_PER_BATCH = 100;

const abandoned = counter(
  "organization.claims.abandoned",
  "Claims that nobody came back for until their command had expired: what was reserved for them was released",
  "{claim}",
);

/**
 * Gives credits back that were reserved for commands which were never published: their request
 * ended 5xx and was not made again. Also those of a later reservation whose command ended with an
 * earlier one. The ledger has it first; {@link applyPending} tells Redis. Returns how many
 * reservations were released.
 */
export async function releaseOrphans(context: LedgerContext, commandStatus: CommandStatus): Promise<number> {
  const { store, clock } = context;
  const beforeMs = clock.nowMs() - COMMAND_DEADLINE_MS - ORPHAN_MARGIN_MS;
  const longBeforeMs = clock.nowMs() - EXPORT_DEADLINE_MS - ORPHAN_MARGIN_MS;
  let released = 0;
  let after: Reservation | null = null;
  // Commands that are known may be open for long: none of them may hide an orphan that came after
  // it.
  for (;;) {
    const page: readonly Reservation[] = await store.oldReservations(
      { beforeMs, longBeforeMs, after },
      MAX_RESERVATIONS_PER_BATCH,
    );
    if (page.length === 0) return released;
    if (after === null) await commandStatus.caughtUp();
    released += await releaseUnknown(context, commandStatus, page);
    after = page.at(-1) ?? null;
  }
}

async function releaseUnknown(
  context: LedgerContext,
  commandStatus: CommandStatus,
  old: readonly Reservation[],
): Promise<number> {
  const { store, clock } = context;
  const states = await commandStatus.states(old.map((reservation) => reservation.commandId));
  const orphans = old.filter((reservation, index) => isOrphan(reservation, states[index]));
  const entries = orphans.map(({ chargeId, commandId, organizationId, credits }) => ({
    chargeId,
    organizationId,
    credits,
    kind: "settle" as const,
    action: "release" as const,
    operation: "never published",
    requestId: null,
    commandId,
    atMs: clock.nowMs(),
  }));
  const count = await store.transaction(async (tx) => {
    const shards = [...new Set(entries.map((entry) => shardOf(entry.organizationId)))];
    const recorded = await tx.recordEntries(await tx.shareShardLocks(shards), entries, clock.nowMs());
    // With the entries: nothing else would tell Redis of them if this process ended now.
    const released = recorded.filter(({ isNew }) => isNew);
    await tx.insertPending(released.map(({ entry, epoch }) => ({ ...changeOf(entry), epoch })));
    return released.length;
  });
  abandoned.add(count);
  return count;
}

/**
 * A first reservation of a known command ends with the command's final event, whichever reservation
 * that settles. A later one is settled only by the event that names it: the message that named an
 * earlier one may have been carried out.
 */
function isOrphan({ chargeId, commandId }: Reservation, state: CommandState | undefined): boolean {
  return state === "unknown" || (state === "final" && chargeId !== commandId);
}

function changeOf({ chargeId, organizationId, credits }: LedgerEntry): Omit<PendingWalletChange, "epoch"> {
  return { chargeId, organizationId, credits, kind: "release" };
}
