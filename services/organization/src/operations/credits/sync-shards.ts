import { type Clock, delay } from "@kapi/kernel";
import { ALL_SHARDS, type Shard, syncShard, shardStates } from "@kapi/admission/redis";

import type { LedgerEntry } from "../../domain/credits/ledger-entry.ts";
import type { CommandStatus, EventLog, OpenCommand, WalletPlace } from "../../domain/credits/ports.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { recordUnderLocks } from "./record-under-locks.ts";
import { recordAllUsage } from "./record-usage.ts";

/**
 * Maximum wait until the ledger has consumed `command.events`. A sync that begins earlier loses
 * nothing: a settlement that is recorded later has at least the sync's epoch, so Redis applies it.
 */
const CONSUMPTION_WAIT_MS = 5_000;
const CONSUMPTION_POLL_MS = 20;
const RESERVATIONS_PER_BATCH = 1_000;
/** Organizations per request for open commands. */
const ORGANIZATIONS_PER_REQUEST = 500;

/** Dependencies of a sync: those of the ledger, the open commands, and `command.events`. */
export interface SyncContext extends LedgerContext {
  readonly commandStatus: CommandStatus;
  readonly eventLog: EventLog;
}

/** What became of the unsynced shards. */
export interface SyncResult {
  readonly synced: readonly Shard[];
  /** Redis did not accept their wallets or stopped answering; the next round retries. */
  readonly unsynced: readonly Shard[];
  /** Redis does not answer for them; the next round retries. */
  readonly unreachable: readonly Shard[];
}

/**
 * Syncs the unsynced shards among `shards`. Records all usage and open reservations that are known,
 * then sets the wallets from the ledger (architecture, 3.1). If the node of a shard is down, the
 * other shards are still synced. Throws if the ledger or command-status is unavailable; the shards
 * then stay unsynced. Several processes may sync the same shards, also concurrently.
 */
export async function syncShards(context: SyncContext, shards: readonly Shard[]): Promise<SyncResult> {
  const { unsynced, unreachable } = await shardStates(context.redis, shards);
  if (unsynced.length === 0) return { synced: [], unsynced, unreachable };
  const recorded = await recordAllUsage(context, unsynced);
  const organizations = await recordOpenReservations(context, recorded);
  if (organizations > 0) await waitForOwnConsumption(context);
  const synced: Shard[] = [];
  for (const shard of recorded) if (await syncFromLedger(context, shard)) synced.push(shard);
  context.logger.info({ shards: synced.length, organizations }, "synced shards from the ledger");
  return { synced, unsynced: unsynced.filter((shard) => !synced.includes(shard)), unreachable };
}

/**
 * Why the process is not ready after a round; null if it is ready. Unreachable shards do not make
 * the process unready if another shard answers.
 */
export function unreadyReasonOf({ unsynced, unreachable }: Omit<SyncResult, "synced">): string | null {
  if (unsynced.length > 0) return `${unsynced.length} of ${ALL_SHARDS.length} wallet shards are unsynced`;
  return unreachable.length === ALL_SHARDS.length ? "Redis does not answer for any wallet shard" : null;
}

/**
 * Records the reservations of open commands, because Redis may have lost their usage entries.
 * Returns the number of organizations with a wallet in `shards`.
 */
async function recordOpenReservations(context: SyncContext, shards: readonly Shard[]): Promise<number> {
  const { commandStatus, store } = context;
  let organizations = 0;
  let after: WalletPlace | null = null;
  for (;;) {
    const page: readonly WalletPlace[] = await store.walletsOf(shards, after, ORGANIZATIONS_PER_REQUEST);
    if (page.length === 0) return organizations;
    if (after === null) await commandStatus.caughtUp();
    await recordReservations(context, await commandStatus.open(page.map(({ organizationId }) => organizationId)));
    organizations += page.length;
    after = page.at(-1) ?? null;
  }
}

async function recordReservations({ store, clock }: LedgerContext, open: readonly OpenCommand[]): Promise<void> {
  const entries = open.filter((command) => command.reservedCredits > 0).map((command) => entryOf(command, clock));
  for (let from = 0; from < entries.length; from += RESERVATIONS_PER_BATCH) {
    const batch = entries.slice(from, from + RESERVATIONS_PER_BATCH);
    await store.transaction((tx) => recordUnderLocks(tx, batch, clock.nowMs()));
  }
}

async function waitForOwnConsumption({ store, clock, eventLog, logger }: SyncContext): Promise<void> {
  const [begins, ends] = await Promise.all([eventLog.begins(), eventLog.ends()]);
  const untilMs = clock.nowMs() + CONSUMPTION_WAIT_MS;
  for (;;) {
    const consumed = await store.consumedOffsets();
    const behind = [...ends].filter(
      ([partition, end]) => end > (begins.get(partition) ?? 0n) && end > (consumed.get(partition) ?? 0n),
    );
    if (behind.length === 0) return;
    if (clock.nowMs() > untilMs) {
      logger.warn(
        { partitions: behind.map(([partition]) => partition) },
        "syncing before all command events were consumed",
      );
      return;
    }
    await delay(CONSUMPTION_POLL_MS);
  }
}

/** Returns whether the shard is ready now. */
async function syncFromLedger({ store, redis, logger }: SyncContext, shard: Shard): Promise<boolean> {
  return store.readForSync(shard, async (epoch, wallets) => {
    try {
      return (await syncShard(redis, shard, epoch, wallets)) !== "overtaken";
    } catch (error) {
      logger.warn({ err: error, shard }, "a shard could not be synced; the next round retries");
      return false;
    }
  });
}

function entryOf(command: OpenCommand, clock: Clock): LedgerEntry {
  return {
    chargeId: command.commandId,
    kind: "reserve",
    organizationId: command.organizationId,
    credits: command.reservedCredits,
    action: null,
    operation: "command",
    requestId: null,
    commandId: command.commandId,
    atMs: clock.nowMs(),
  };
}
