import { delay } from "@kapi/kernel";
import { type Shard, readShard } from "@kapi/admission/redis";
import { gauge } from "@kapi/runtime";

import { type Drift, creditsOf, driftOfEntries, driftOfRedis } from "../../domain/credits/drift.ts";
import type { CheckableWallet, WalletCheck, WalletChecks, WalletPage } from "../../domain/credits/drift-ports.ts";
import { plus } from "../../domain/credits/ledger-entry.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { entryFromUsage } from "./convert-usage.ts";

/** Number of wallets in one comparison. */
const WALLETS_PER_PAGE = 500;
/** Shards with longer streams are not compared with Redis: reading the stream would block Redis. */
const MAX_ENTRIES_PER_CALL = 10_000;
/**
 * Settlements reach the ledger just before Redis. So a wallet drifts only if it differs at every
 * comparison. A busy wallet without drift agrees at one comparison at least.
 */
const COMPARISONS = 8;
const COMPARISON_PAUSE_MS = 1_000;
/**
 * Interval after which all entries of a wallet are summed up again, not only the entries since the
 * last check. For wallets with more lines than MAX_WHOLE_LINES only the new entries are summed up.
 */
const WHOLE_CHECK_INTERVAL_MS = 24 * 3_600_000;
const MAX_WHOLE_LINES = 500_000;
const BEFORE_ALL_IDS = "00000000-0000-0000-0000-000000000000";
const BEFORE_ALL_EPOCHS = -1;

const walletsInDrift = gauge(
  "organization.wallets_in_drift",
  "Wallets that differ between Redis, the ledger's sums and its entries",
  "{wallet}",
);
const greatestDrift = gauge("organization.greatest_drift", "Greatest drift of a wallet, in credits", "{credit}");

/** Dependencies of the drift check. */
export interface DriftContext extends LedgerContext {
  readonly checks: WalletChecks;
  /** Shorter in tests. */
  readonly comparisonPauseMs?: number;
}

/**
 * Compares every wallet in Redis, in the ledger, and by the ledger's entries. Logs drifts as
 * errors, sets the metrics and returns the drifts. It never corrects them. Throws if PostgreSQL is
 * unavailable. Not compared with Redis: unsynced and unreachable shards, shards with a long stream,
 * and wallets with a pending change.
 */
export async function checkDrift(context: DriftContext): Promise<Drift[]> {
  const found: Drift[] = [];
  for (const shard of await context.checks.shards()) {
    let afterId: string | null = BEFORE_ALL_IDS;
    while (afterId !== null) {
      const page = await checkPage(context, shard, afterId);
      found.push(...page.drifts);
      afterId = page.nextAfterId;
    }
  }
  for (const drift of found) context.logger.error({ ...drift }, "a wallet drifts");
  walletsInDrift.record(new Set(found.map((drift) => drift.organizationId)).size);
  greatestDrift.record(Math.max(0, ...found.map(creditsOf)));
  return found;
}

/** A page of wallets with its differences from Redis. */
interface ComparedPage extends WalletPage {
  readonly driftsOfRedis: readonly Drift[];
}

async function checkPage(
  context: DriftContext,
  shard: Shard,
  afterId: string,
): Promise<{ drifts: Drift[]; nextAfterId: string | null }> {
  const first = await comparePage(context, shard, afterId);
  const { wallets, throughEpoch } = first;
  const ofEntries = await checkEntries(context, wallets, throughEpoch);
  let ofRedis = first.driftsOfRedis;
  for (let comparisons = 1; comparisons < COMPARISONS && ofRedis.length > 0; comparisons += 1) {
    await delay(context.comparisonPauseMs ?? COMPARISON_PAUSE_MS);
    const again = await comparePage(context, shard, afterId);
    const before = new Set(ofRedis.map((drift) => drift.organizationId));
    ofRedis = again.driftsOfRedis.filter((drift) => before.has(drift.organizationId));
  }
  const last = wallets.at(-1);
  const nextAfterId = last && wallets.length === WALLETS_PER_PAGE ? last.organizationId : null;
  return { drifts: [...ofRedis, ...ofEntries], nextAfterId };
}

/** Reads wallets from the ledger and Redis while nothing is recorded in their shard. */
function comparePage({ checks, redis, logger }: DriftContext, shard: Shard, afterId: string): Promise<ComparedPage> {
  return checks.withPage(shard, afterId, WALLETS_PER_PAGE, async (page, unrecorded) => {
    const ids = page.wallets.map((wallet) => wallet.organizationId);
    const snapshot = await readShard(redis, shard, ids, MAX_ENTRIES_PER_CALL).catch((error: unknown) => {
      logger.warn({ err: error, shard }, "wallets of a shard could not be compared with Redis");
      return { kind: "unsynced" } as const;
    });
    if (snapshot.kind !== "ready") return { ...page, driftsOfRedis: [] };
    const entries = await unrecorded(snapshot.usage.map(entryFromUsage));
    // Redis may have a pending change already: such wallets are not comparable.
    const comparable = page.wallets.filter((wallet) => !wallet.waitsForRedis);
    return { ...page, driftsOfRedis: driftOfRedis(comparable, snapshot.wallets, entries) };
  });
}

/**
 * Sums up the entries since each wallet's last check. Stores the sums of each wallet without drift,
 * unless they are stored already: its next check starts from them.
 */
async function checkEntries(
  { checks, clock }: DriftContext,
  wallets: readonly CheckableWallet[],
  throughEpoch: number,
): Promise<Drift[]> {
  const nowMs = clock.nowMs();
  const bases = new Map(wallets.map((wallet) => [wallet.organizationId, baseOf(wallet, nowMs)]));
  const asked = [...bases].map(([organizationId, base]) => ({
    organizationId,
    afterEpoch: base?.epoch ?? BEFORE_ALL_EPOCHS,
  }));
  const added = await checks.sumEntries(asked, throughEpoch);
  const sums = new Map(
    [...added].map(([id, { sums }]) => {
      const base = bases.get(id);
      return [id, base ? plus(base.sums, sums) : sums];
    }),
  );
  const drifts = driftOfEntries(wallets, sums);
  const wrong = new Set(drifts.map((drift) => drift.organizationId));
  await checks.keep(
    wallets.flatMap(({ organizationId, sums }) => {
      const base = bases.get(organizationId);
      const hasNewSums =
        base === undefined || base === null || base.wholeAtMs === null || (added.get(organizationId)?.entries ?? 0) > 0;
      if (wrong.has(organizationId) || !hasNewSums) return [];
      return [{ organizationId, sums, epoch: throughEpoch, wholeAtMs: base?.wholeAtMs ?? nowMs }];
    }),
  );
  return drifts;
}

interface Base extends Pick<WalletCheck, "epoch" | "sums"> {
  /** When all entries were last summed up; null: this check sums them up. */
  readonly wholeAtMs: number | null;
}

/**
 * The sums to which the later entries of a wallet are added: usually the sums of the last check.
 * The sums of the dropped months are used instead if there is no last check, if the epoch of the
 * last check is in a dropped month, or if all kept entries are to be summed up again. In these
 * cases the result is null if no month was dropped: all entries are summed up from the first.
 */
function baseOf({ checked, closing, usageLines }: CheckableWallet, nowMs: number): Base | null {
  const isDue = checked !== null && nowMs - checked.wholeAtMs > WHOLE_CHECK_INTERVAL_MS;
  const isDropped = checked !== null && closing !== null && checked.epoch < closing.epoch;
  if (checked !== null && !isDropped && !(isDue && usageLines <= MAX_WHOLE_LINES)) return checked;
  return closing === null ? null : { ...closing, wholeAtMs: null };
}
