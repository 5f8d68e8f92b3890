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

import type { Leg, RecordedLeg } from "../../domain/credits/leg.ts";
import { keyUsesOf, resetsOf } from "./audit-usage.ts";
import { keepAskedRefunds, usageLegs } from "./usage-legs.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { usageRecorded } from "./record-usage.ts";
import { endsOfKnown, settleInRedis } from "./settle-in-redis.ts";
import { takingUsage } from "./usage-spans.ts";

/** Most usage entries of one tag that are taken along. */
const MAX_USAGE_PER_TAG = 1_000;

/** Where in `command.events` a batch ends. */
export interface TakenIn {
  readonly partition: number;
  readonly nextOffset: bigint;
}

/**
 * Takes the settlements of final commands into the ledger, then into the wallets. The ledger is
 * first: what Redis cannot take now (closed, away) is kept for {@link applyPending}, so that the
 * events never wait for Redis.
 *
 * The usage that waits in the same tags is taken along: most reservations are then written beside
 * their end, whole and at once, and never are open ones.
 */
export async function recordSettlements(
  context: LedgerContext,
  events: readonly CommandEvent[],
  takenIn: readonly TakenIn[],
): Promise<void> {
  const legs = events.flatMap(legsOf);
  const tags = [...new Set(legs.map((leg) => shardOf(leg.organizationId)))];
  let usage: ReadonlyMap<Shard, readonly UsageEntry[]> = new Map();
  const { settlements, late } = await context.store.transaction(async (tx) => {
    if (legs.length === 0) {
      tx.raiseConsumedOffsets(takenIn);
      return { settlements: [], late: [] };
    }
    const epochs = await tx.shareTagLocks(tags);
    usage = await readableUsage(context, tags);
    // First the usage: of a leg that both tell of, it knows the request.
    const entries = [...usage.values()].flat();
    const told = await usageLegs(tx, entries);
    const used = told.legs;
    tx.recordFirstKeyUses(keyUsesOf(entries));
    tx.recordAudit(resetsOf(events));
    const recorded = await takingUsage(entries, () => tx.recordLegs(epochs, used.concat(legs), context.clock.nowMs()));
    await keepAskedRefunds(tx, told, recorded);
    const ended = [
      ...recorded.flatMap((one) => (one.leg.kind === "settle" ? settlementOf(one, context.clock.nowMs()) : [])),
      ...(await endsOfKnown(tx, used, recorded)),
    ];
    const consumed = consumedAfterRelease(legs, recorded);
    if (consumed.length === 0) tx.raiseConsumedOffsets(takenIn);
    return { settlements: ended, late: consumed };
  });
  const ofLate = late.length === 0 ? [] : await recordLate(context, late, takenIn);
  usageRecorded.add([...usage.values()].reduce((total, ofTag) => total + ofTag.length, 0));
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
  late: readonly Leg[],
  takenIn: readonly TakenIn[],
): Promise<SettlementRequest[]> {
  const tags = [...new Set(late.map((leg) => shardOf(leg.organizationId)))];
  const recorded = await store.transaction(async (tx) => {
    const legs = await tx.recordLegs(await tx.shareTagLocks(tags), late, clock.nowMs());
    tx.raiseConsumedOffsets(takenIn);
    return legs;
  });
  return recorded.flatMap((one) => settlementOf(one, clock.nowMs()));
}

/**
 * Commands that were carried out although their reservation had come back: nobody knew of them for
 * long, or their publishing had failed, and then the same request was made again. Each is consumed
 * by a leg of its own, under an id of its own, once.
 */
function consumedAfterRelease(told: readonly Leg[], recorded: readonly RecordedLeg[]): Leg[] {
  const consumed = new Set(told.filter((leg) => leg.action === "consume").map((leg) => leg.chargeId));
  return recorded
    .filter(({ leg }) => leg.action === "release" && consumed.has(leg.chargeId))
    .map(({ leg }) => consumptionOf(leg));
}

function consumptionOf(released: Leg): Leg {
  const chargeId = uuidV5(released.chargeId, "consumed after release");
  return { ...released, kind: "consume", action: null, chargeId };
}

/**
 * The settlement that a recorded leg asks for: that of its reservation, or of a command that is
 * consumed without one.
 */
function settlementOf({ leg, epoch, isNew }: RecordedLeg, nowMs: number): SettlementRequest[] {
  const { organizationId, chargeId, credits, kind } = leg;
  const action = kind === "consume" ? kind : leg.action;
  if (action === null) return [];
  return [{ organizationId, chargeId, credits, action, epoch, isOld: !isNew && isPast(leg, nowMs) }];
}

/**
 * Whether Redis may have forgotten by now that it settled this; half of what it remembers, for
 * clocks that differ.
 */
function isPast({ atMs }: Leg, nowMs: number): boolean {
  return nowMs - atMs > SETTLED_TTL_MS / 2;
}

/** The usage of the tags that can be read now; that of the others comes later. */
async function readableUsage(
  { redis, logger }: LedgerContext,
  tags: readonly Shard[],
): Promise<ReadonlyMap<Shard, readonly UsageEntry[]>> {
  const { replies, unreachable, error } = await readUsage(redis, tags, MAX_USAGE_PER_TAG);
  if (unreachable.length > 0) logger.warn({ err: error, tags: unreachable }, "usage of these tags waits for Redis");
  return replies;
}

/**
 * A settlement implies its reservation: whichever of the two the ledger hears of first, it has
 * both.
 */
function legsOf(event: CommandEvent): Leg[] {
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
  const legs: Leg[] = [
    { ...common, kind: "reserve", action: null },
    { ...common, kind: "settle", action },
  ];
  if (chargeId === event.commandId) return legs;
  // The command's first reservation came back. Whoever knows the command but not its charge id may
  // have counted it as open.
  const first = { ...common, chargeId: event.commandId };
  return [{ ...first, kind: "reserve", action: null }, { ...first, kind: "settle", action: "release" }, ...legs];
}
