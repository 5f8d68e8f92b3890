import { delay } from "@kapi/kernel";
import { type Shard, readShard } from "@kapi/admission/redis";
import { gauge } from "@kapi/runtime";

import { type Drift, creditsOf, driftOfLegs, driftOfRedis, plus } from "../../domain/credits/drift.ts";
import type { CheckableWallet, WalletCheck, WalletChecks, WalletLook } from "../../domain/credits/drift-ports.ts";
import type { Leg } from "../../domain/credits/leg.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { legFromEntry } from "./usage-legs.ts";

/** Wallets that are looked at together. */
const WALLETS_PER_LOOK = 500;
/**
 * With more entries in its stream a tag is not compared in this round: reading them would hold
 * Redis.
 */
const MAX_ENTRIES_PER_LOOK = 10_000;
/**
 * A settlement is in the ledger a moment before it is in Redis. A wallet drifts when it does so at
 * each of these looks; one that is used without a pause agrees at some of them.
 */
const LOOKS = 8;
const LOOK_PAUSE_MS = 1_000;
/**
 * How often all legs of a wallet are summed up, not only those since the last check; wallets with
 * more lines never are again.
 */
const WHOLE_CHECK_INTERVAL_MS = 24 * 3_600_000;
const MAX_WHOLE_LINES = 500_000;
const BEFORE_ALL_IDS = "00000000-0000-0000-0000-000000000000";
const BEFORE_ALL_EPOCHS = -1;

const walletsInDrift = gauge(
  "organization.wallets_in_drift",
  "Wallets that Redis, the ledger's sums and its legs do not tell alike",
  "{wallet}",
);
const greatestDrift = gauge(
  "organization.greatest_drift",
  "How far the wallet is off that is off most, in credits",
  "{credit}",
);

export interface DriftContext extends LedgerContext {
  readonly checks: WalletChecks;
  /** Only tests look faster. */
  readonly lookPauseMs?: number;
}

/**
 * Compares every wallet as Redis has it, as the ledger keeps it, and as the ledger's legs give it;
 * logs those that differ as errors and sets the metrics. It repairs nothing: what is wrong shall be
 * seen. Returns what it found. Throws where PostgreSQL is away; tags that are closed or unreachable
 * are not compared with Redis.
 */
export async function checkDrift(context: DriftContext): Promise<Drift[]> {
  const found: Drift[] = [];
  for (const tag of await context.checks.tags()) {
    let afterId: string | null = BEFORE_ALL_IDS;
    while (afterId !== null) {
      const page = await checkPage(context, tag, afterId);
      found.push(...page.drifts);
      afterId = page.nextAfterId;
    }
  }
  for (const drift of found) context.logger.error({ ...drift }, "a wallet drifts");
  walletsInDrift.record(new Set(found.map((drift) => drift.organizationId)).size);
  greatestDrift.record(Math.max(0, ...found.map(creditsOf)));
  return found;
}

interface Look extends WalletLook {
  readonly driftsOfRedis: readonly Drift[];
}

async function checkPage(
  context: DriftContext,
  tag: Shard,
  afterId: string,
): Promise<{ drifts: Drift[]; nextAfterId: string | null }> {
  const first = await lookAt(context, tag, afterId);
  const { wallets, throughEpoch } = first;
  const ofLegs = await checkLegs(context, wallets, throughEpoch);
  let ofRedis = first.driftsOfRedis;
  for (let looks = 1; looks < LOOKS && ofRedis.length > 0; looks += 1) {
    await delay(context.lookPauseMs ?? LOOK_PAUSE_MS);
    const again = await lookAt(context, tag, afterId);
    const before = new Set(ofRedis.map((drift) => drift.organizationId));
    ofRedis = again.driftsOfRedis.filter((drift) => before.has(drift.organizationId));
  }
  const last = wallets.at(-1);
  const nextAfterId = last && wallets.length === WALLETS_PER_LOOK ? last.organizationId : null;
  return { drifts: [...ofRedis, ...ofLegs], nextAfterId };
}

/** Reads wallets in the ledger and in Redis while nothing is recorded in their tag. */
function lookAt({ checks, redis, logger }: DriftContext, tag: Shard, afterId: string): Promise<Look> {
  return checks.alone(async (tx) => {
    const seen = await tx.look(tag, afterId, WALLETS_PER_LOOK);
    const ids = seen.wallets.map((wallet) => wallet.organizationId);
    const snapshot = await readShard(redis, tag, ids, MAX_ENTRIES_PER_LOOK).catch((error: unknown) => {
      logger.warn({ err: error, tag }, "the wallets of a tag are not compared with Redis");
      return { kind: "unsynced" } as const;
    });
    if (snapshot.kind !== "ready") return { ...seen, driftsOfRedis: [] };
    const unrecorded: readonly Leg[] = await tx.unrecorded(seen, snapshot.usage.map(legFromEntry));
    // A change that waits for Redis may be there already: nobody can tell.
    const comparable = seen.wallets.filter((wallet) => !wallet.waitsForRedis);
    return { ...seen, driftsOfRedis: driftOfRedis(comparable, snapshot.wallets, unrecorded) };
  });
}

/**
 * Sums up the legs since the last check of each wallet; what is as it should be is where the next
 * check begins.
 */
async function checkLegs(
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
  const added = await checks.sumLegs(asked, throughEpoch);
  const sums = new Map(
    [...added].map(([id, { sums }]) => {
      const base = bases.get(id);
      return [id, base ? plus(base.sums, sums) : sums];
    }),
  );
  const drifts = driftOfLegs(wallets, sums);
  const wrong = new Set(drifts.map((drift) => drift.organizationId));
  await checks.keep(
    wallets.flatMap(({ organizationId, sums }) => {
      const base = bases.get(organizationId);
      const isNews =
        base === undefined || base === null || base.wholeAtMs === null || (added.get(organizationId)?.legs ?? 0) > 0;
      if (wrong.has(organizationId) || !isNews) return [];
      return [{ organizationId, sums, epoch: throughEpoch, wholeAtMs: base?.wholeAtMs ?? nowMs }];
    }),
  );
  return drifts;
}

interface Base extends Pick<WalletCheck, "epoch" | "sums"> {
  /** When all legs were last read; null: they are read now. */
  readonly wholeAtMs: number | null;
}

/**
 * What an earlier check found, to go on from; else what the dropped months summed up to. Null: all
 * legs are summed up.
 */
function baseOf({ checked, closed, usageLines }: CheckableWallet, nowMs: number): Base | null {
  const isDue = checked !== null && nowMs - checked.wholeAtMs > WHOLE_CHECK_INTERVAL_MS;
  const isDropped = checked !== null && closed !== null && checked.epoch < closed.epoch;
  if (checked !== null && !isDropped && !(isDue && usageLines <= MAX_WHOLE_LINES)) return checked;
  return closed === null ? null : { ...closed, wholeAtMs: null };
}
