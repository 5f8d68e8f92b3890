/**
 * Evidence for the tests: the equity of an account falls by more than 5 % from its value at the
 * start of the day.
 */
import type { EvidenceRecord } from "@kapi/contracts";
import { buildEvidence, createSigner, type EvidenceClaim, moneyText, publicKeys } from "@kapi/evidence";
import type { Keyring } from "@kapi/kernel";

/** A keyring with one key, whose 32 bytes all have the value `byte`. */
export function keyring(keyId: string, byte: number): Keyring {
  return { currentKeyId: keyId, keys: new Map([[keyId, Buffer.alloc(32, byte)]]) };
}

export const RING = keyring("2026-11", 7);
export const SIGNER = createSigner(RING);
export const KEYS = publicKeys(RING, []);

const START_MS = Date.parse("2026-11-26T09:30:00.000Z");
const at = (seconds: number): string => new Date(START_MS + seconds * 1_000).toISOString();

type Valuation = Extract<EvidenceRecord, { kind: "valuation" }>;
type Sample = Extract<EvidenceRecord, { kind: "sample" }>;
type BreachClaim = Extract<EvidenceClaim, { kind: "breach" }>;

/** A valuation, 10 seconds after the one before it. */
export function valuation(index: number, equityMinor: number, more: Partial<Valuation> = {}): Valuation {
  return {
    kind: "valuation",
    partition: 3,
    offset: 1_200 + 7 * index,
    measuredAt: at(10 * index),
    recordedAt: at(10 * index + 0.012),
    balance: "10000.00",
    equity: moneyText(equityMinor),
    margin: "1080.00",
    freeMargin: moneyText(equityMinor - 1_080_00),
    openPositionCount: 1,
    netDeposits: "0.00",
    ...more,
  };
}

/**
 * The sample of the valuations after the one with index `from`, up to the one with index `to`. The
 * lowest equity includes the equity of the valuation with index `from`.
 */
export function sample(sequence: number, from: number, all: readonly Valuation[], to: number): Sample {
  const last = all[to];
  const lowest = all.slice(from, to + 1).toSorted((one, other) => Number(one.equity) - Number(other.equity))[0];
  if (last === undefined || lowest === undefined) throw new RangeError("a sample needs valuations");
  const { measuredAt, balance, equity, margin, freeMargin, openPositionCount } = last;
  return {
    kind: "sample",
    sequence,
    from: 1_200 + 7 * from,
    to: last.offset,
    measuredAt,
    balance,
    equity,
    margin,
    freeMargin,
    openPositionCount,
    intervalMinimumEquity: lowest.equity,
    intervalMinimumMeasuredAt: lowest.measuredAt,
  };
}

/** Equity in minor units of the valuations: the fifth is at the threshold of 9,500.00. */
const EQUITIES = [9_812_40, 9_703_15, 9_640_00, 9_503_75, 9_500_00, 9_431_20, 9_466_90];
const VALUATIONS = EQUITIES.map((equityMinor, index) => valuation(index, equityMinor));
export const RECORDS: readonly EvidenceRecord[] = [
  ...VALUATIONS,
  sample(511, 0, VALUATIONS, 2),
  sample(512, 2, VALUATIONS, 4),
  sample(513, 4, VALUATIONS, 6),
];

const SCOPE: Omit<BreachClaim, "kind" | "rule" | "breach" | "positions"> = {
  organizationId: "0190a5c0-1d2e-7f3a-8b4c-5d6e7f8091a2",
  serverId: "0190a5c0-2222-7aaa-8bbb-cccccccccccc",
  accountNumber: "10000001",
  currency: "USD",
  from: at(-20),
  to: at(100),
  missing: [],
  createdAt: at(101),
};

/**
 * A claim of a breach by the fifth valuation. `breach` replaces fields of the claim's `breach`, and
 * `more` replaces other fields of the claim.
 */
export function breachClaim(breach: Partial<BreachClaim["breach"]> = {}, more: Partial<BreachClaim> = {}): BreachClaim {
  return {
    kind: "breach",
    ...SCOPE,
    rule: {
      id: "daily",
      version: 4,
      type: "dailyLoss",
      action: "flatten_and_disable",
      activeFrom: "2026-11-20T00:00:00.000Z",
      limit: { unit: "percent", value: "5" },
      parameters: { basis: "equity", timeZone: "Europe/London", dayStart: "00:00", warnAt: "80" },
    },
    breach: {
      id: "0190a5c0-3333-7aaa-8bbb-cccccccccccc",
      period: "2026-11-26",
      at: at(40),
      compared: "equity",
      side: "atOrBelow",
      reference: { value: "10000.00", base: "10000.00", at: "2026-11-25T23:59:58.500Z" },
      threshold: "9500.00",
      value: "9500.00",
      valuationIndex: 4,
      extremeValue: "9431.20",
      extremeAt: at(50),
      sequence: 512,
      action: "flatten_and_disable",
      commandId: "0190a5c0-4444-7aaa-8bbb-cccccccccccc",
      ...breach,
    },
    positions: [
      {
        positionId: "P-77",
        // The canonical form escapes only the tab. Programs that write ASCII escape more.
        symbol: "Gold/€ \u{1F947}\u007F\t",
        side: "buy",
        volume: "0.5",
        openPrice: "2410.35",
        price: "2399.975",
        profit: "-518.75",
      },
    ],
    ...more,
  };
}

export const BREACH = buildEvidence(breachClaim(), RECORDS, SIGNER);
export const INTERVAL = buildEvidence(
  { kind: "interval", ...SCOPE, missing: [{ what: "samples", reason: "expired", from: at(-20), to: null }] },
  VALUATIONS.slice(0, 3),
  SIGNER,
);
