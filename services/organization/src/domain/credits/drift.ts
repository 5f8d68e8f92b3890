import { type LedgerEntry, type WalletDelta, deltasByOrganization, plus } from "./ledger-entry.ts";

/** The sums of a wallet, in credits. */
export interface WalletSums extends WalletDelta {
  readonly available: number;
}

/** A wallet with its stored sums in the ledger. */
export interface LedgerWallet {
  readonly organizationId: string;
  readonly sums: WalletDelta;
}

/** A wallet whose stored sums in the ledger differ from another source. */
export interface Drift {
  readonly organizationId: string;
  /** The source that differs: the wallet in Redis, or the sums of the ledger's entries. */
  readonly source: "redis" | "entries";
  readonly expected: WalletSums;
  /** Null: the source has no such wallet. */
  readonly found: WalletSums | null;
}

const COMPARED_SUMS = ["purchased", "reserved", "consumed", "available"] as const;

/** Adds the available credits: purchased = available + reserved + consumed. */
export function withAvailable({ purchased, reserved, consumed }: WalletDelta): WalletSums {
  return { purchased, reserved, consumed, available: purchased - reserved - consumed };
}

/**
 * Wallets whose sums in Redis differ from the expected sums. The expected sums are the stored
 * sums plus `unrecorded`: charges that Redis made and that the ledger does not have yet.
 */
export function driftOfRedis(
  ledger: readonly LedgerWallet[],
  redis: ReadonlyMap<string, WalletSums>,
  unrecorded: readonly LedgerEntry[],
): Drift[] {
  const added = deltasByOrganization(unrecorded);
  return ledger.flatMap(({ organizationId, sums }) => {
    const expected = withAvailable(plus(sums, added.get(organizationId)));
    return driftBetween({ organizationId, source: "redis", expected, found: redis.get(organizationId) ?? null });
  });
}

/** Wallets of the ledger whose stored sums differ from the sums of their entries. */
export function driftOfEntries(ledger: readonly LedgerWallet[], entries: ReadonlyMap<string, WalletDelta>): Drift[] {
  return ledger.flatMap(({ organizationId, sums }) => {
    const found = entries.get(organizationId);
    const expected = withAvailable(sums);
    return driftBetween({ organizationId, source: "entries", expected, found: found ? withAvailable(found) : null });
  });
}

function driftBetween(drift: Drift): Drift[] {
  return creditsOf(drift) === 0 ? [] : [drift];
}

/** The greatest difference between expected and found sums, in credits. */
export function creditsOf({ expected, found }: Pick<Drift, "expected" | "found">): number {
  return Math.max(...COMPARED_SUMS.map((name) => Math.abs(expected[name] - (found?.[name] ?? 0))));
}
