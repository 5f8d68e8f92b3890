import { type LedgerEntry, type WalletDelta, deltasByOrganization } from "./ledger-entry.ts";

/** The sums of a wallet, in credits. */
export interface WalletSums extends WalletDelta {
  readonly available: number;
}

/** A wallet as the ledger keeps it. */
export interface LedgerWallet {
  readonly organizationId: string;
  readonly sums: WalletDelta;
}

/** A wallet that another source tells otherwise than the ledger's sums. */
export interface Drift {
  readonly organizationId: string;
  /** Who tells it otherwise: the wallet in Redis, or the entries of the ledger itself. */
  readonly source: "redis" | "entries";
  readonly expected: WalletSums;
  /** Null: that source has no such wallet. */
  readonly found: WalletSums | null;
}

const NAMES = ["purchased", "reserved", "consumed", "available"] as const;

/** Sums with what follows from them: purchased = available + reserved + consumed. */
export function withAvailable({ purchased, reserved, consumed }: WalletDelta): WalletSums {
  return { purchased, reserved, consumed, available: purchased - reserved - consumed };
}

export function plus(one: WalletDelta, other: WalletDelta | undefined): WalletDelta {
  return {
    purchased: one.purchased + (other?.purchased ?? 0),
    reserved: one.reserved + (other?.reserved ?? 0),
    consumed: one.consumed + (other?.consumed ?? 0),
  };
}

/**
 * The wallets that Redis tells otherwise: it must have what the ledger has, and the charges
 * `unrecorded`, which it made and the ledger does not have yet.
 */
export function driftOfRedis(
  ledger: readonly LedgerWallet[],
  redis: ReadonlyMap<string, WalletSums>,
  unrecorded: readonly LedgerEntry[],
): Drift[] {
  const under = deltasByOrganization(unrecorded);
  return ledger.flatMap(({ organizationId, sums }) => {
    const expected = withAvailable(plus(sums, under.get(organizationId)));
    return driftBetween({ organizationId, source: "redis", expected, found: redis.get(organizationId) ?? null });
  });
}

/** The wallets whose entries sum up to something else. */
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

/**
 * How many credits a wallet is away from what it should be: the greatest difference of its sums.
 */
export function creditsOf({ expected, found }: Pick<Drift, "expected" | "found">): number {
  return Math.max(...NAMES.map((name) => Math.abs(expected[name] - (found?.[name] ?? 0))));
}
