import type { CommandEvent } from "@kapi/contracts";
import { isFinal } from "@kapi/contracts";
import { uuidV5 } from "@kapi/kernel";
import {
  SETTLED_TTL_MS,
  type SettlementRequest,
  type Shard,
  type UsageEntry,
  deleteUsage,
  readUsage,
} from "@kapi/admission/redis";

import type { LedgerEntry, RecordedEntry } from "../../domain/credits/ledger-entry.ts";
import type { PendingWalletChange } from "../../domain/credits/ports.ts";
import { applyChanges } from "./apply-pending.ts";
import { auditedCommandsOf, keyUsesOf } from "./audit-usage.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { recordUnderLocks, shardsOf } from "./record-under-locks.ts";
import { countRecorded, recordInTransaction } from "./record-usage.ts";
import { pendingChange, settleInRedis } from "./settle-in-redis.ts";

/** Maximum number of usage entries per shard that a batch of settlements records as well. */
const MAX_USAGE_PER_SHARD = 1_000;

/** Where a batch of `command.events` ends. */
export interface ReachedOffset {
  readonly partition: number;
  readonly nextOffset: bigint;
}

/**
 * Records settlements of final commands in the ledger, then in the wallets in Redis. `applyPending`
 * retries settlements that Redis cannot apply now, so events never wait for Redis. Waiting usage of
 * the same shards is recorded as well: most reservations are then written together with their
 * settlement, and never become open reservations.
 */
export async function recordSettlements(
  context: LedgerContext,
  events: readonly CommandEvent[],
  reached: readonly ReachedOffset[],
): Promise<void> {
  const entries = events.flatMap(entriesOf);
  let usage: ReadonlyMap<Shard, readonly UsageEntry[]> = new Map();
  const { settlements, late } = await context.store.transaction(async (tx) => {
    // Before the return below: commands that cost nothing are audited too.
    tx.recordAudit(auditedCommandsOf(events));
    if (entries.length === 0) {
      tx.raiseConsumedOffsets(reached);
      return { settlements: [], late: [] };
    }
    const shards = shardsOf(entries);
    await tx.shareShardLocks(shards);
    usage = await readableUsage(context, shards);
    const used = [...usage.values()].flat();
    tx.recordFirstKeyUses(keyUsesOf(used));
    const nowMs = context.clock.nowMs();
    const { recorded, repeated } = await recordInTransaction(tx, used, entries, nowMs);
    const ended = recorded.flatMap((one) => settlementOf(one, nowMs));
    const consumed = consumedAfterRelease(entries, recorded);
    if (consumed.length === 0) tx.raiseConsumedOffsets(reached);
    return { settlements: [...ended, ...repeated], late: consumed };
  });
  const changes = late.length === 0 ? [] : await recordLate(context, late, reached);
  countRecorded(usage);
  await Promise.all([
    settleInRedis(context, settlements),
    applyChanges(context, changes),
    deleteUsage(context.redis, usage),
  ]);
}

/**
 * Records consumptions that the first transaction found missing. This perhaps locks wallets that
 * the first transaction did not lock. The first transaction cannot lock more wallets without the
 * risk of a deadlock, so the consumptions have their own transaction. After a crash between the two
 * transactions, the events are read again and the same consumptions are found.
 *
 * Returns the changes of wallets in Redis. The transaction also stores them as pending, until Redis
 * has them. It is not enough that the events are read again after a crash: the reservation in Redis
 * shows whether an old settlement was applied, but a consumption has no reservation.
 */
async function recordLate(
  { store, clock }: LedgerContext,
  late: readonly LedgerEntry[],
  reached: readonly ReachedOffset[],
): Promise<PendingWalletChange[]> {
  return store.transaction(async (tx) => {
    const nowMs = clock.nowMs();
    const recorded = await recordUnderLocks(tx, late, nowMs);
    // A process of the previous release stored no pending change. Redis remembers recent changes,
    // so it applies a recent one once.
    const changed = recorded.filter(({ entry, isNew }) => isNew || !isPast(entry, nowMs));
    const changes = changed.map((one) => pendingChange("consume", one));
    await tx.insertPending(changes);
    tx.raiseConsumedOffsets(reached);
    return changes;
  });
}

/**
 * Consumptions of commands that were executed after their reservation was released. The release has
 * one of two reasons: command-status did not know the command for a long time, or the command was
 * not published until its request was repeated. The credits of each command are consumed once,
 * under another charge id. `reported`: the entries as events report them; `recorded`: as the ledger
 * has them.
 */
function consumedAfterRelease(reported: readonly LedgerEntry[], recorded: readonly RecordedEntry[]): LedgerEntry[] {
  const consumed = new Set(reported.filter((entry) => entry.action === "consume").map((entry) => entry.chargeId));
  return recorded
    .filter(({ entry }) => entry.action === "release" && consumed.has(entry.chargeId))
    .map(({ entry }) => consumptionOf(entry));
}

function consumptionOf(released: LedgerEntry): LedgerEntry {
  const chargeId = uuidV5(released.chargeId, "consumed after release");
  return { ...released, kind: "consume", action: null, chargeId };
}

/** The request to Redis that settles the entry's reservation; none if it is no settlement. */
function settlementOf({ entry, epoch, isNew }: RecordedEntry, nowMs: number): SettlementRequest[] {
  const { organizationId, chargeId, credits, action } = entry;
  if (action === null) return [];
  return [{ organizationId, chargeId, credits, action, epoch, isOld: !isNew && isPast(entry, nowMs) }];
}

/** Whether Redis may have forgotten the settlement. Half of the TTL, because clocks differ. */
function isPast({ atMs }: LedgerEntry, nowMs: number): boolean {
  return nowMs - atMs > SETTLED_TTL_MS / 2;
}

/** Usage of the reachable shards. Usage of the other shards is read later. */
async function readableUsage(
  { redis, logger }: LedgerContext,
  shards: readonly Shard[],
): Promise<ReadonlyMap<Shard, readonly UsageEntry[]>> {
  const { replies, unreachable, error } = await readUsage(redis, shards, MAX_USAGE_PER_SHARD);
  if (unreachable.length > 0)
    logger.warn({ err: error, shards: unreachable }, "usage of these shards is not readable now");
  return replies;
}

/**
 * The settlement that a final event reports, and its reservation, whose usage entry may come later.
 * If this is not the command's first reservation, also the first reservation and its release.
 */
function entriesOf(event: CommandEvent): LedgerEntry[] {
  if (event.settlement === null || !isFinal(event.status)) return [];
  const { chargeId, credits, action } = event.settlement;
  const common = {
    chargeId,
    organizationId: event.organizationId,
    credits,
    operation: event.operation,
    requestId: null,
    commandId: event.commandId,
    createdBy: event.createdBy ?? null,
    atMs: Date.parse(event.occurredAt),
  };
  const entries: LedgerEntry[] = [
    { ...common, kind: "reserve", action: null },
    { ...common, kind: "settle", action },
  ];
  if (chargeId === event.commandId) return entries;
  // The command's first reservation was released. A sync knows only the command id, and may have
  // recorded that reservation as open.
  const first = { ...common, chargeId: event.commandId };
  return [{ ...first, kind: "reserve", action: null }, { ...first, kind: "settle", action: "release" }, ...entries];
}
