import { type Clock, delay } from "@kapi/kernel";
import { type Shard, syncShard, shardOf, shardStates } from "@kapi/admission/redis";

import type { Leg } from "../../domain/credits/leg.ts";
import type { CommandStatus, EventLog, OpenCommand, WalletPlace } from "../../domain/credits/ports.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { recordAllUsage } from "./record-usage.ts";

/**
 * Longest wait for the ledger's own reading of `command.events`. What it does not reach is not
 * lost: a settlement recorded after the opening has its epoch, and is applied to the wallets then.
 */
const CONSUMPTION_WAIT_MS = 5_000;
const CONSUMPTION_POLL_MS = 20;
const RESERVATIONS_PER_BATCH = 1_000;
/** Organizations whose open commands are asked for together. */
const WALLETS_PER_QUESTION = 500;

export interface OpeningContext extends LedgerContext {
  readonly commandStatus: CommandStatus;
  readonly eventLog: EventLog;
}

/** What a look at tags found, and did. */
export interface Opening {
  readonly opened: readonly Shard[];
  /**
   * Tags that are still closed, because Redis did not take their wallets. They are looked at again
   * in the next round.
   */
  readonly closed: readonly Shard[];
  /** Tags that Redis does not answer for. They are looked at again in the next round. */
  readonly unreachable: readonly Shard[];
}

/**
 * Opens those of `tags` that are closed (a Redis that lost its data, or is another one): everything
 * that tells of money is taken into the ledger first, then the wallets are set from it
 * (architecture, 3.1). A tag whose node is down keeps none of the others closed. Throws where the
 * ledger or command-status is away; the tags stay closed, and the call can be repeated at any time,
 * also by several processes.
 */
export async function openClosedTags(context: OpeningContext, tags: readonly Shard[]): Promise<Opening> {
  const { unsynced: closed, unreachable } = await shardStates(context.redis, tags);
  if (closed.length === 0) return { opened: [], closed, unreachable };
  const recorded = await recordAllUsage(context, closed);
  const organizations = await recordOpenReservations(context, recorded);
  if (organizations > 0) await waitForOwnConsumption(context);
  const opened: Shard[] = [];
  for (const tag of recorded) if (await openFromLedger(context, tag)) opened.push(tag);
  context.logger.info({ tags: opened.length, organizations }, "opened tags from the ledger");
  return { opened, closed: closed.filter((tag) => !opened.includes(tag)), unreachable };
}

/**
 * Reservations whose usage entry was lost with an earlier Redis: command-status knows their
 * commands. Returns how many organizations have a wallet in `tags`.
 */
async function recordOpenReservations(context: OpeningContext, tags: readonly Shard[]): Promise<number> {
  const { commandStatus, store } = context;
  let organizations = 0;
  let after: WalletPlace | null = null;
  for (;;) {
    const page: readonly WalletPlace[] = await store.walletsOf(tags, after, WALLETS_PER_QUESTION);
    if (page.length === 0) return organizations;
    if (after === null) await commandStatus.caughtUp();
    await recordReservations(context, await commandStatus.open(page.map(({ organizationId }) => organizationId)));
    organizations += page.length;
    after = page.at(-1) ?? null;
  }
}

async function recordReservations({ store, clock }: LedgerContext, open: readonly OpenCommand[]): Promise<void> {
  const legs = open.filter((command) => command.reservedCredits > 0).map((command) => legOf(command, clock));
  for (let from = 0; from < legs.length; from += RESERVATIONS_PER_BATCH) {
    const batch = legs.slice(from, from + RESERVATIONS_PER_BATCH);
    await store.transaction(async (tx) => {
      const tags = [...new Set(batch.map((leg) => shardOf(leg.organizationId)))];
      await tx.recordLegs(await tx.shareTagLocks(tags), batch, clock.nowMs());
    });
  }
}

async function waitForOwnConsumption({ store, clock, eventLog, logger }: OpeningContext): Promise<void> {
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
        "opening before all command events were taken in",
      );
      return;
    }
    await delay(CONSUMPTION_POLL_MS);
  }
}

/** Whether the tag is open now. */
async function openFromLedger({ store, redis, logger }: OpeningContext, tag: Shard): Promise<boolean> {
  return store.readForOpening(tag, async (epoch, wallets) => {
    try {
      return (await syncShard(redis, tag, epoch, wallets)) !== "overtaken";
    } catch (error) {
      logger.warn({ err: error, tag }, "a tag could not be opened, and is tried again");
      return false;
    }
  });
}

function legOf(command: OpenCommand, clock: Clock): Leg {
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
