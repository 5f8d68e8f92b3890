/** The documents of format `kapi-evidence/1` and the public keys, as kapi serves them. */

/** A valuation as kapi received it from the trading server. Amounts are decimal text. */
export interface EvidenceValuation {
  readonly kind: "valuation";
  readonly partition: number;
  readonly offset: number;
  readonly measuredAt: string;
  readonly recordedAt: string;
  readonly balance: string;
  readonly equity: string;
  readonly margin: string;
  readonly freeMargin: string;
  readonly openPositionCount: number;
  /** Deposits minus withdrawals; null if the trading server does not send them. */
  readonly netDeposits: string | null;
}

/** A sample of the live stream; `from` (exclusive) and `to` are the offsets of its valuations. */
export interface EvidenceSample {
  readonly kind: "sample";
  readonly sequence: number;
  readonly from: number;
  readonly to: number;
  readonly measuredAt: string;
  readonly balance: string;
  readonly equity: string;
  readonly margin: string;
  readonly freeMargin: string;
  readonly openPositionCount: number;
  readonly intervalMinimumEquity: string;
  readonly intervalMinimumMeasuredAt: string;
}

export type EvidenceRecord = EvidenceValuation | EvidenceSample;

export interface EvidenceRule {
  readonly id: string;
  readonly version: number;
  readonly type: string;
  readonly action: string;
  readonly activeFrom: string;
  readonly limit: { readonly unit: "percent" | "amount"; readonly value: string };
  readonly parameters: Readonly<Record<string, string | null>>;
}

export interface EvidenceBreach {
  readonly id: string;
  readonly period: string;
  readonly at: string;
  readonly compared: "equity" | "balance";
  readonly side: "atOrBelow" | "atOrAbove";
  readonly reference: { readonly value: string; readonly base: string; readonly at: string };
  readonly threshold: string;
  readonly value: string;
  /** Index in `records`; null if the values when the rule was set reached the threshold. */
  readonly valuationIndex: number | null;
  /** The value furthest beyond the threshold from the breach on. */
  readonly extremeValue: string;
  readonly extremeAt: string;
  readonly sequence: number | null;
  readonly action: string;
  readonly commandId: string | null;
}

export interface EvidencePosition {
  readonly positionId: string;
  readonly symbol: string;
  readonly side: string;
  readonly volume: string;
  readonly openPrice: string;
  readonly price: string | null;
  readonly profit: string | null;
}

export interface MissingEvidence {
  readonly what: "valuations" | "samples" | "positions" | "prices";
  readonly reason: "expired" | "unavailable" | "limit";
  readonly from: string | null;
  readonly to: string | null;
}

export interface EvidenceChain {
  readonly algorithm: "SHA-256";
  readonly headerHash: string;
  readonly recordHashes: readonly string[];
  readonly lastHash: string;
}

export interface EvidenceSignature {
  readonly algorithm: "Ed25519";
  readonly keyId: string;
  readonly value: string;
}

interface CommonEvidence {
  readonly format: "kapi-evidence/1";
  readonly organizationId: string;
  readonly serverId: string;
  readonly accountNumber: string;
  readonly currency: string;
  readonly from: string;
  readonly to: string;
  readonly missing: readonly MissingEvidence[];
  readonly createdAt: string;
  readonly records: readonly EvidenceRecord[];
  readonly chain: EvidenceChain;
  readonly signature: EvidenceSignature;
}

export interface BreachEvidence extends CommonEvidence {
  readonly kind: "breach";
  readonly rule: EvidenceRule;
  readonly breach: EvidenceBreach;
  readonly positions: readonly EvidencePosition[] | null;
}

export interface IntervalEvidence extends CommonEvidence {
  readonly kind: "interval";
}

export type EvidenceDocument = BreachEvidence | IntervalEvidence;

export interface EvidenceKey {
  readonly keyId: string;
  readonly algorithm: "Ed25519";
  /** Base64url, 32 bytes. */
  readonly publicKey: string;
  readonly pem: string;
  /** Null while the key may sign. */
  readonly retiredAt: string | null;
}

/** The document at `/.well-known/kapi-evidence-keys.json`. */
export interface EvidenceKeys {
  readonly keys: readonly EvidenceKey[];
}
