/**
 * The documents of format `kapi-evidence/1` and the public keys, as kapi serves them. Amounts,
 * prices and volumes are decimal text; times are ISO 8601 in UTC.
 */

/**
 * A valuation as kapi received it from the trading server. `partition` and `offset` are its
 * position in the log of kapi.
 */
export interface EvidenceValuation {
  readonly kind: "valuation";
  readonly partition: number;
  readonly offset: number;
  /** When the trading server measured the values. */
  readonly measuredAt: string;
  /** When the valuation was written to the log of kapi. */
  readonly recordedAt: string;
  readonly balance: string;
  readonly equity: string;
  readonly margin: string;
  readonly freeMargin: string;
  readonly openPositionCount: number;
  /**
   * Deposits minus withdrawals, without the initial balance; null if the trading server does not
   * send them.
   */
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
  /** The lowest equity from the previous sample, which is included, to this sample. */
  readonly intervalMinimumEquity: string;
  readonly intervalMinimumMeasuredAt: string;
}

export type EvidenceRecord = EvidenceValuation | EvidenceSample;

/** The rule that was breached, in the version that was active at the breach. */
export interface EvidenceRule {
  readonly id: string;
  readonly version: number;
  readonly type: string;
  readonly action: string;
  /** Valuations that were measured after this time were compared with this version. */
  readonly activeFrom: string;
  /** A percentage of `base` of the reference, or an amount in the currency of the account. */
  readonly limit: { readonly unit: "percent" | "amount"; readonly value: string };
  /** The other fields of the rule, such as `basis` and `dayStart`. */
  readonly parameters: Readonly<Record<string, string | null>>;
}

/** What kapi claims about the breach. {@link verifyEvidence} compares it with the records. */
export interface EvidenceBreach {
  readonly id: string;
  /** The day of a daily rule, or `lifetime`. */
  readonly period: string;
  /** When the value that reached the threshold was measured. */
  readonly at: string;
  /** Which value of the account was compared with the threshold. */
  readonly compared: "equity" | "balance";
  readonly side: "atOrBelow" | "atOrAbove";
  /**
   * `value`: the loss or profit counts from this amount. `base`: a limit in percent is a share of
   * this amount. `at`: when the trading server measured the values of the reference. If the
   * reference is the start value of the rule or the initial balance of the account, `at` is
   * `activeFrom` of the rule.
   */
  readonly reference: { readonly value: string; readonly base: string; readonly at: string };
  readonly threshold: string;
  /** The value that reached the threshold. */
  readonly value: string;
  /**
   * Index in `records` of the valuation that reached the threshold. Null if the values that the
   * account had when the rule was set reached the threshold, if `records` does not have the
   * valuation, or if kapi does not know its offset.
   */
  readonly valuationIndex: number | null;
  /**
   * The lowest equity from the breach to `to`; for a profit target, the highest equity or balance.
   */
  readonly extremeValue: string;
  readonly extremeAt: string;
  /** Sequence of the sample that includes the valuation; null if no sample does. */
  readonly sequence: number | null;
  readonly action: string;
  /** The command of the action; null if the rule only notifies. */
  readonly commandId: string | null;
}

/** An open position at `breach.extremeAt`, or at `breach.at` if none was open at `extremeAt`. */
export interface EvidencePosition {
  readonly positionId: string;
  readonly symbol: string;
  readonly side: string;
  /** The part that was still open. */
  readonly volume: string;
  readonly openPrice: string;
  /** The price at which the trading server valued the position; null if unknown. */
  readonly price: string | null;
  /** The profit at that price; null if unknown. */
  readonly profit: string | null;
}

/**
 * A part that the document does not have. `expired`: kapi had deleted it. `unavailable`: kapi could
 * not get it. `limit`: the document would have been too large.
 */
interface MissingEvidence {
  readonly what: "valuations" | "samples" | "positions" | "prices";
  readonly reason: "expired" | "unavailable" | "limit";
  /** Time at which the missing part begins; null: the beginning of the document. */
  readonly from: string | null;
  /** Time at which the missing part ends; null: the end of the document. */
  readonly to: string | null;
}

/**
 * The SHA-256 hashes that fix the content of the document, as 64 hex digits each (decisions, 20.2).
 */
export interface EvidenceChain {
  readonly algorithm: "SHA-256";
  /** The hash of the document without `records`, `chain` and `signature`. */
  readonly headerHash: string;
  /**
   * One hash per record, in order. Each includes the hash before it; the first includes
   * `headerHash`.
   */
  readonly recordHashes: readonly string[];
  /** The last of the hashes: `headerHash` if there are no records. */
  readonly lastHash: string;
}

/** The signature of the format, the key's id, `headerHash` and `lastHash` (decisions, 20.2). */
export interface EvidenceSignature {
  readonly algorithm: "Ed25519";
  /** The id of an {@link EvidenceKey}. */
  readonly keyId: string;
  /** Base64url. */
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

/** The evidence of one breach: valuations from a minute before it to a minute after it. */
export interface BreachEvidence extends CommonEvidence {
  readonly kind: "breach";
  readonly rule: EvidenceRule;
  readonly breach: EvidenceBreach;
  /** Null if kapi could not get the positions; then `missing` says so. */
  readonly positions: readonly EvidencePosition[] | null;
}

/** The evidence of an interval that the caller chose. It claims no breach. */
export interface IntervalEvidence extends CommonEvidence {
  readonly kind: "interval";
}

export type EvidenceDocument = BreachEvidence | IntervalEvidence;

/** A public key of kapi, with which a signature is verified. */
export interface EvidenceKey {
  readonly keyId: string;
  readonly algorithm: "Ed25519";
  /** Base64url, 32 bytes. */
  readonly publicKey: string;
  /** The same key in the form of OpenSSL. */
  readonly pem: string;
  /** Null while the key may sign. */
  readonly retiredAt: string | null;
}

/** The document at `/.well-known/kapi-evidence-keys.json`. */
export interface EvidenceKeys {
  readonly keys: readonly EvidenceKey[];
}
