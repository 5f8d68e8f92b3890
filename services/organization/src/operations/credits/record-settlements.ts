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
  shardOf,
} from "@kapi/admission/redis";

import type { LedgerEntry, RecordedEntry } from "../../domain/credits/ledger-entry.ts";
import { keyUsesOf, resetsOf } from "./audit-usage.ts";
import { keepAskedRefunds, convertUsage } from "./convert-usage.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { usageRecorded } from "./record-usage.ts";
import { repeatedSettlements, settleInRedis } from "./settle-in-redis.ts";
import { traceUsage } from "./usage-spans.ts";

/** Most usage entries of one shard that are taken along. */
const MAX_USAGE_PER_SHARD = 1_000;

/** Where in `command.events` a batch ends. */
export interface ReachedOffset {
  readonly partition: number;
  readonly nextOffset: bigint;
}

/**
 * Takes the settlements of final commands into the ledger, then into the wallets. The ledger is
 * first: what Redis cannot take now (closed, away) is kept for {@link applyPending}, so that the
 * events never wait for Redis.
 *
 * The usage that waits in the same shards is taken along: most reservations are then written beside
 * their end, whole and at once, and never are open ones.
 */
export async function recordSettlements(
  context: LedgerContext,
  events: readonly CommandEvent[],
  reached: readonly ReachedOffset[],
): Promise<void> {
  const entries = events.flatMap(entriesOf);
  const shards = [...new Set(entries.map((entry) => shardOf(entry.organizationId)))];
  let usage: ReadonlyMap<Shard, readonly UsageEntry[]> = new Map();
  const { settlements, late } = await context.store.transaction(async (tx) => {
    if (entries.length === 0) {
      tx.raiseConsumedOffsets(reached);
      return { settlements: [], late: [] };
    }
    const epochs = await tx.shareShardLocks(shards);
    usage = await readableUsage(context, shards);
    // First the usage: of an entry that both tell of, it knows the request.
    const usageEntries = [...usage.values()].flat();
    const converted = await convertUsage(tx, usageEntries);
    const used = converted.entries;
    tx.recordFirstKeyUses(keyUsesOf(usageEntries));
    tx.recordAudit(resetsOf(events));
    const recorded = await traceUsage(usageEntries, () =>
      tx.recordEntries(epochs, used.concat(entries), context.clock.nowMs()),
    );
    await keepAskedRefunds(tx, converted, recorded);
    const ended = [
      ...recorded.flatMap((one) => (one.entry.kind === "settle" ? settlementOf(one, context.clock.nowMs()) : [])),
      ...(await repeatedSettlements(tx, used, recorded)),
    ];
    const consumed = consumedAfterRelease(entries, recorded);
    if (consumed.length === 0) tx.raiseConsumedOffsets(reached);
    return { settlements: ended, late: consumed };
  });
  const ofLate = late.length === 0 ? [] : await recordLate(context, late, reached);
  usageRecorded.add([...usage.values()].reduce((total, ofShard) => total + ofShard.length, 0));
  await Promise.all([settleInRedis(context, [...settlements, ...ofLate]), deleteUsage(context.redis, usage)]);
}

/**
 * Records consumptions that the first transaction found to be missing, in one of their own: it
 * locks wallets, and two processes that locked more wallets while they hold some would wait for
 * each other in a circle. Where the process dies in between, the events are read again and the same
 * consumptions are missing.
 */
async function recordLate(
  { store, clock }: LedgerContext,
  late: readonly LedgerEntry[],
  reached: readonly ReachedOffset[],
): Promise<SettlementRequest[]> {
  const shards = [...new Set(late.map((entry) => shardOf(entry.organizationId)))];
  const recorded = await store.transaction(async (tx) => {
    const entries = await tx.recordEntries(await tx.shareShardLocks(shards), late, clock.nowMs());
    tx.raiseConsumedOffsets(reached);
    return entries;
  });
  return recorded.flatMap((one) => settlementOf(one, clock.nowMs()));
}

/**
 * Commands that were carried out although their reservation had come back: nobody knew of them for
 * long, or their publishing had failed, and then the same request was made again. Each is consumed
 * by an entry of its own, under an id of its own, once.
 */
function consumedAfterRelease(converted: readonly LedgerEntry[], recorded: readonly RecordedEntry[]): LedgerEntry[] {
  const consumed = new Set(converted.filter((entry) => entry.action === "consume").map((entry) => entry.chargeId));
  return recorded
    .filter(({ entry }) => entry.action === "release" && consumed.has(entry.chargeId))
    .map(({ entry }) => consumptionOf(entry));
}

function consumptionOf(released: LedgerEntry): LedgerEntry {
  const chargeId = uuidV5(released.chargeId, "consumed after release");
  return { ...released, kind: "consume", action: null, chargeId };
}

/**
 * The settlement that a recorded entry asks for: that of its reservation, or of a command that is
 * consumed without one.
 */
function settlementOf({ entry, epoch, isNew }: RecordedEntry, nowMs: number): SettlementRequest[] {
  const { organizationId, chargeId, credits, kind } = entry;
  const action = kind === "consume" ? kind : entry.action;
  if (action === null) return [];
  return [{ organizationId, chargeId, credits, action, epoch, isOld: !isNew && isPast(entry, nowMs) }];
}

/**
 * Whether Redis may have forgotten by now that it settled this; half of what it remembers, for
 * clocks that differ.
 */
function isPast({ atMs }: LedgerEntry, nowMs: number): boolean {
  return nowMs - atMs > SETTLED_TTL_MS / 2;
}

/** The usage of the shards that can be read now; that of the others comes later. */
async function readableUsage(
  { redis, logger }: LedgerContext,
  shards: readonly Shard[],
): Promise<ReadonlyMap<Shard, readonly UsageEntry[]>> {
  const { replies, unreachable, error } = await readUsage(redis, shards, MAX_USAGE_PER_SHARD);
  if (unreachable.length > 0) logger.warn({ err: error, shards: unreachable }, "usage of these shards waits for Redis");
  return replies;
}

/**
 * A settlement implies its reservation: whichever of the two the ledger hears of first, it has
 * both.
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
  // The command's first reservation came back. Whoever knows the command but not its charge id may
  // have counted it as open.
  const first = { ...common, chargeId: event.commandId };
  return [{ ...first, kind: "reserve", action: null }, { ...first, kind: "settle", action: "release" }, ...entries];
}
