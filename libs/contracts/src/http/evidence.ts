/**
 * Evidence: a signed document that anybody can verify without kapi (decisions, 20). Numbers are
 * integers, such as counts and offsets, or decimal text: every program reads the same values. The
 * existing members of format `kapi-evidence/1` never change. Members may be added to the header and
 * to the records, because the signature covers these parts. `chain` and `signature` never get
 * further members.
 */
import { z } from "zod";

import { Currency, DateTime } from "../values.ts";
import { RiskBasis } from "./risk.ts";

/** The format of a document, and the first line of the text that is signed. */
export const EVIDENCE_FORMAT = "kapi-evidence/1";
/** Path at which the gateway serves {@link EvidenceKeys}. */
export const EVIDENCE_KEYS_PATH = "/.well-known/kapi-evidence-keys.json";
/** Maximum number of valuations and samples of one document: about 7 MB. */
export const MAX_EVIDENCE_RECORDS = 20_000;
/** Maximum number of open positions of one document. */
const MAX_EVIDENCE_POSITIONS = 10_000;
/** Maximum number of parts that one document says are missing. */
const MAX_MISSING_PARTS = 100;
/** Maximum length of a name, such as a symbol or the id of a position, in UTF-16 code units. */
const MAX_NAME_LENGTH = 250;
/** Maximum length of a decimal number, with its sign and decimal point. */
const MAX_DECIMAL_CHARACTERS = 40;

/** Half of a surrogate pair has no UTF-8 form, so its hash would differ between programs. */
const Name = z
  .string()
  .max(MAX_NAME_LENGTH)
  .refine((text) => text.isWellFormed(), { error: "must be well-formed Unicode" });
/** An amount of money with exactly two decimals: `-12.50`. */
export const MoneyText = z.string().regex(/^(?!-0\.00$)-?(0|[1-9][0-9]{0,15})\.[0-9]{2}$/, "must be such as 9500.00");
/** A decimal number without exponent: `1.08451`. */
export const DecimalText = z
  .string()
  .max(MAX_DECIMAL_CHARACTERS)
  .regex(/^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/, "must be such as 1.08451");
const Time = z.iso.datetime();
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits");
const Offset = z.int().min(0);

/** A valuation as kapi received it from the trading server. */
export const ValuationEvidence = z.object({
  kind: z.literal("valuation"),
  /** Its position in the topic `trading.valuations`. */
  partition: z.int().min(0),
  offset: Offset,
  /** When the trading server measured the values. */
  measuredAt: Time,
  /** Time of the record in kapi's log. */
  recordedAt: Time,
  balance: MoneyText,
  equity: MoneyText,
  margin: MoneyText,
  freeMargin: MoneyText,
  openPositionCount: z.int().min(0),
  /**
   * Deposits minus withdrawals since the creation, without the initial balance; null if the trading
   * server does not send them.
   */
  netDeposits: MoneyText.nullable(),
});

/** A sample, as the live stream sends it to subscribers. */
export const SampleEvidence = z.object({
  kind: z.literal("sample"),
  sequence: z.int().min(1),
  /**
   * The offsets of its valuations: `from` exclusive, `to` inclusive. `from` is -1 for the account's
   * first sample on a partition, and for its first one after `trading.valuations` was recreated.
   */
  from: z.int().min(-1),
  to: Offset,
  measuredAt: Time,
  balance: MoneyText,
  equity: MoneyText,
  margin: MoneyText,
  freeMargin: MoneyText,
  openPositionCount: z.int().min(0),
  intervalMinimumEquity: MoneyText,
  intervalMinimumMeasuredAt: Time,
});

export const EvidenceRecord = z.discriminatedUnion("kind", [ValuationEvidence, SampleEvidence]);
export type EvidenceRecord = z.infer<typeof EvidenceRecord>;
/** Valuations in the order of the log, then samples in the order of their sequences. */
export const EvidenceRecords = z.array(EvidenceRecord).max(MAX_EVIDENCE_RECORDS);

/** A limit: a share of `base` of {@link EvidenceReference} in percent, or an amount of money. */
export const EvidenceLimit = z.object({ unit: z.enum(["percent", "amount"]), value: DecimalText });
export const EvidenceUnit = EvidenceLimit.shape.unit;

/** The rule in the version that was breached. */
export const EvidenceRule = z.object({
  id: Name,
  version: z.int().min(1),
  type: Name,
  action: Name,
  /**
   * `measuredAt` of the newest values of the account that kapi had when this version became active.
   * Valuations that were measured later were compared with this version.
   */
  activeFrom: Time,
  limit: EvidenceLimit,
  /** The other fields of the rule, such as `basis` and `dayStart`, as text. */
  parameters: z.record(z.string().regex(/^[A-Za-z]{1,40}$/), Name.nullable()),
});

/** The value from which a loss or profit counts. */
export const EvidenceReference = z.object({
  /**
   * Includes the deposits minus the withdrawals from `at` to the breach; if the reference is the
   * initial balance, from the creation of the account to the breach.
   */
  value: MoneyText,
  /** A limit in percent is a percentage of this value. */
  base: MoneyText,
  /**
   * When the values were measured that gave the reference. `rule.activeFrom` if no measured values
   * gave it: for a start value of the rule, and for the initial balance.
   */
  at: Time,
});

/** On which side of the threshold a breach is. */
export const EvidenceSide = z.enum(["atOrBelow", "atOrAbove"]);

/** Why kapi says that the rule was breached. */
export const EvidenceBreach = z.object({
  id: z.guid(),
  /** The day of a daily rule, or `lifetime`. */
  period: Name,
  /** When the value that reached the threshold was measured. */
  at: Time,
  /** Which value of the valuations is compared with the threshold. */
  compared: RiskBasis,
  side: EvidenceSide,
  reference: EvidenceReference,
  threshold: MoneyText,
  /** The value that reached the threshold. */
  value: MoneyText,
  /**
   * Index in `records` of the valuation that reached the threshold; null if it is not in `records`,
   * or not known.
   */
  valuationIndex: z.int().min(0).nullable(),
  /**
   * The value furthest beyond the threshold in the minute after the breach, and when the trading
   * server measured it.
   */
  extremeValue: MoneyText,
  extremeAt: Time,
  /** Sequence of the sample that includes the valuation; null if no sample does. */
  sequence: z.int().min(1).nullable(),
  action: Name,
  /** The command of the action; null if the rule only notifies. */
  commandId: z.guid().nullable(),
});

/** An open position at `breach.extremeAt`, or at `breach.at` if none was open at `extremeAt`. */
export const EvidencePosition = z.object({
  positionId: Name,
  symbol: Name,
  side: Name,
  /** The part that is open. */
  volume: DecimalText,
  openPrice: DecimalText,
  /** The price at which the position is valued; null if unknown. */
  price: DecimalText.nullable(),
  profit: MoneyText.nullable(),
});
export type EvidencePosition = z.infer<typeof EvidencePosition>;

/** A part of evidence. */
export const EvidencePart = z.enum(["valuations", "samples", "positions", "prices"]);

/**
 * Why a part is missing. `expired`: deleted after its retention. `unavailable`: kapi does not have
 * it, or its owner did not answer in time. `limit`: the document would be too large.
 */
export const MissingReason = z.enum(["expired", "unavailable", "limit"]);

/** A part that the document does not have. */
export const MissingEvidence = z.object({
  what: EvidencePart,
  reason: MissingReason,
  from: Time.nullable(),
  to: Time.nullable(),
});
export type MissingEvidence = z.infer<typeof MissingEvidence>;

const HEADER = {
  format: z.literal(EVIDENCE_FORMAT),
  organizationId: z.guid(),
  serverId: z.guid(),
  accountNumber: z.string().min(4).max(32),
  currency: Currency,
  /** Valuations that were measured from `from` to `to`, both inclusive, are in `records`. */
  from: Time,
  to: Time,
  missing: z.array(MissingEvidence).max(MAX_MISSING_PARTS),
  /** When the document was made and signed. */
  createdAt: Time,
};

const BREACH_HEADER = {
  ...HEADER,
  kind: z.literal("breach"),
  rule: EvidenceRule,
  breach: EvidenceBreach,
  /** Null if kapi could not get them; `missing` has the reason. */
  positions: z.array(EvidencePosition).max(MAX_EVIDENCE_POSITIONS).nullable(),
};
const INTERVAL_HEADER = { ...HEADER, kind: z.literal("interval") };

/** All members of a document but `records`, `chain` and `signature`. */
export const EvidenceHeader = z.discriminatedUnion("kind", [z.object(BREACH_HEADER), z.object(INTERVAL_HEADER)]);
export type EvidenceHeader = z.infer<typeof EvidenceHeader>;

/**
 * The hashes of the document, as hex. `headerHash` is the hash of the header in canonical form. A
 * record's hash is made from the previous hash, followed by the record in canonical form.
 */
export const EvidenceChain = z.object({
  algorithm: z.literal("SHA-256"),
  headerHash: Sha256,
  /** One hash for each record. */
  recordHashes: z.array(Sha256).max(MAX_EVIDENCE_RECORDS),
  /** The hash of the last record, or of the header of a document without records. */
  lastHash: Sha256,
});

export const EvidenceSignature = z.object({
  algorithm: z.literal("Ed25519"),
  keyId: Name,
  /** Base64url, 64 bytes. */
  value: z.string().regex(/^[A-Za-z0-9_-]{86}$/),
});

const SIGNED = {
  records: EvidenceRecords,
  chain: EvidenceChain,
  signature: EvidenceSignature,
};

/** Evidence of a breach, with the valuations around it. */
export const BreachEvidence = z.object({ ...BREACH_HEADER, ...SIGNED });
export type BreachEvidence = z.infer<typeof BreachEvidence>;
/** Evidence of what kapi received in an interval. */
export const IntervalEvidence = z.object({ ...INTERVAL_HEADER, ...SIGNED });
export type IntervalEvidence = z.infer<typeof IntervalEvidence>;
export const EvidenceDocument = z.discriminatedUnion("kind", [BreachEvidence, IntervalEvidence]);
export type EvidenceDocument = z.infer<typeof EvidenceDocument>;

/** Maximum length of an interval of evidence. */
const MAX_EVIDENCE_INTERVAL_MS = 10 * 60_000;

/** Query of getIntervalEvidence: valuations measured from `from` to `to`, both inclusive. */
export const IntervalEvidenceQuery = z
  .object({ from: DateTime, to: DateTime })
  .refine(({ from, to }) => Date.parse(to) > Date.parse(from), { path: ["to"], error: "must be after from" })
  .refine(({ from, to }) => Date.parse(to) - Date.parse(from) <= MAX_EVIDENCE_INTERVAL_MS, {
    path: ["to"],
    error: "must be at most 10 minutes after from",
  });
export type IntervalEvidenceQuery = z.infer<typeof IntervalEvidenceQuery>;

/** A public key that verifies evidence. */
export const EvidenceKey = z.object({
  keyId: z.string(),
  algorithm: z.literal("Ed25519"),
  /** Base64url, 32 bytes (RFC 8032). */
  publicKey: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  /** The same key in the form of OpenSSL. */
  pem: z.string(),
  /** No document that was made later has a signature of this key; null while it may sign. */
  retiredAt: Time.nullable(),
});
export type EvidenceKey = z.infer<typeof EvidenceKey>;

/** All keys whose evidence is still kept, and keys that will sign later. */
export const EvidenceKeys = z.object({ keys: z.array(EvidenceKey).min(1) });
export type EvidenceKeys = z.infer<typeof EvidenceKeys>;
