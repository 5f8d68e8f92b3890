import { COMMAND_DEADLINE_MS, EXPORT_DEADLINE_MS } from "@kapi/contracts";
import { counter } from "@kapi/runtime";

import type { CommandState, CommandStatus, Reservation } from "../../domain/credits/ports.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { recordUnderLocks } from "./record-under-locks.ts";
import { pendingChange } from "./settle-in-redis.ts";

/**
 * Time after a command's deadline. If command-status does not know the command then, its
 * reservation is released. If the command is published later all the same, a new credit ledger
 * entry consumes its credits.
 */
const ORPHAN_MARGIN_MS = 5 * 60_000;
const MAX_RESERVATIONS_PER_BATCH = 100;

const abandoned = counter(
  "organization.claims.abandoned",
  "Released reservations: of commands that were not published before their deadline, and second or later reservations of final commands",
  "{claim}",
);

/**
 * Releases reservations of commands that were never published: the request ended 5xx and was not
 * repeated. It also releases second and later reservations of a command that is final.
 * `applyPending` applies the releases in Redis. Returns the number of released reservations.
 */
export async function releaseOrphans(context: LedgerContext, commandStatus: CommandStatus): Promise<number> {
  const { store, clock } = context;
  const beforeMs = clock.nowMs() - COMMAND_DEADLINE_MS - ORPHAN_MARGIN_MS;
  const longBeforeMs = clock.nowMs() - EXPORT_DEADLINE_MS - ORPHAN_MARGIN_MS;
  let released = 0;
  let after: Reservation | null = null;
  // Reads every page: old reservations of known commands may fill whole pages, and orphans after
  // them must be found too.
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
    operation: "orphaned reservation",
    requestId: null,
    commandId,
    atMs: clock.nowMs(),
  }));
  const count = await store.transaction(async (tx) => {
    const released = (await recordUnderLocks(tx, entries, clock.nowMs())).filter(({ isNew }) => isNew);
    // In the same transaction: after a crash nothing else would apply them in Redis.
    await tx.insertPending(released.map((recorded) => pendingChange("release", recorded)));
    return released.length;
  });
  abandoned.add(count);
  return count;
}

/**
 * The final event of a command settles its first reservation, whose charge id is the command id. A
 * later reservation has another charge id. The event settles a later reservation only if the
 * executed message has that charge id. Otherwise no event ever settles the later reservation.
 */
function isOrphan({ chargeId, commandId }: Reservation, state: CommandState | undefined): boolean {
  return state === "unknown" || (state === "final" && chargeId !== commandId);
}
