/**
 * Chooses the content of the evidence of a breach or of an interval (decisions, 20). The content
 * comes from the records of the account.
 */
import type {
  AccountMetricsFrame,
  EvidencePosition,
  EvidenceRecord,
  MissingEvidence,
  RiskBreach,
} from "@kapi/contracts";
import { MAX_EVIDENCE_RECORDS, OFFSETS_PER_GENERATION } from "@kapi/contracts";
import type { SampleRange } from "@kapi/contracts/codec";
import { type EvidenceClaim, moneyText, toEvidenceRule, toSampleEvidence } from "@kapi/evidence";
import { toIso } from "@kapi/kernel";

/** Evidence has the valuations from this long before a breach to this long after it. */
export const EVIDENCE_WINDOW_MS = 60_000;
/** Maximum number of valuations of one document; the rest of its records are samples. */
export const MAX_VALUATIONS = (3 * MAX_EVIDENCE_RECORDS) / 4;
export const MAX_SAMPLES = MAX_EVIDENCE_RECORDS - MAX_VALUATIONS;

type ValuationEvidence = Extract<EvidenceRecord, { kind: "valuation" }>;
type SampleEvidence = Extract<EvidenceRecord, { kind: "sample" }>;
type BreachClaim = Extract<EvidenceClaim, { kind: "breach" }>;

/** A valuation of the log, as evidence and as numbers. */
export interface LoggedValuation {
  readonly evidence: ValuationEvidence;
  readonly measuredAtMs: number;
  readonly equityMinor: number;
  readonly balanceMinor: number;
}

/** A sample of the log. Its `range` has positions ({@link OFFSETS_PER_GENERATION}), not offsets. */
export interface LoggedSample {
  readonly frame: AccountMetricsFrame;
  readonly range: SampleRange;
}

/** The records of one account in an interval. */
export interface AccountRecords {
  /** In the order of the log. */
  readonly valuations: readonly LoggedValuation[];
  /** All samples in the order of the log, also those that no reader accepts. */
  readonly samples: readonly LoggedSample[];
  /**
   * Whether valuations, or samples, of the interval may be missing: retention has deleted them, or
   * they are on the partition that the account had before the topics grew.
   */
  readonly isCut: { readonly valuations: boolean; readonly samples: boolean };
  /** Whether there were more records than are kept in memory. */
  readonly isFull: boolean;
}

/** A breach without evidence. */
export interface UnprovenBreach {
  readonly breach: RiskBreach;
  readonly organizationId: string;
  readonly partition: number;
  readonly currency: BreachClaim["currency"];
  readonly referenceMinor: number;
  readonly baseMinor: number;
  /**
   * When the reference was measured; null: the reference is the start value of the rule, or the
   * initial balance of the account.
   */
  readonly referenceAtMs: number | null;
  readonly thresholdMinor: number;
  readonly valueMinor: number;
  readonly measuredAtMs: number;
  /** When the seed of the rules was measured. */
  readonly ruleActiveFromMs: number;
  /** The rules apply to valuations from this offset on; null if `valuationOffset` is null. */
  readonly ruleActiveFromOffset: number | null;
  /**
   * The offset of the valuation that reached the limit. Null: the seed of the rules reached it, or
   * the offset is not known. New rules are at once compared with the newest values: the seed, or a
   * valuation that was measured after the seed. So the offset can be below `ruleActiveFromOffset`.
   */
  readonly valuationOffset: number | null;
  /** Whether the valuation that reached the limit was in a topic that is deleted now. */
  readonly isOfDeletedTopic: boolean;
}

/** The interval of a document, and where its breach is in the log. */
interface RecordRange {
  readonly fromMs: number;
  readonly toMs: number;
  /** The offset of the breaching valuation; null: it is not known, or there is none. */
  readonly around: number | null;
  /** As in {@link UnprovenBreach}; false without a breach. */
  readonly isOfDeletedTopic: boolean;
}

/** The parts of a document that the log of an account gives. */
export interface ChosenRecords {
  readonly from: string;
  readonly to: string;
  readonly valuations: readonly LoggedValuation[];
  readonly samples: readonly SampleEvidence[];
  readonly missing: readonly MissingEvidence[];
}

/** The most extreme value since a breach. */
export interface Extreme {
  readonly valueMinor: number;
  /**
   * When the value was measured. The time is as the trading server wrote it, except for a breaching
   * value whose valuation was not read.
   */
  readonly at: string;
}

/**
 * Chooses the records of a document:
 * - the valuations that were measured in the interval, both ends inclusive. Of too many valuations,
 *   those around the offset `around` are chosen, or the first ones if none has this offset.
 * - the samples of one series ({@link seriesOf}) that include a chosen valuation; without a chosen
 *   valuation, the whole series. Of too many samples, the first ones are chosen.
 *
 * Samples of a deleted topic are chosen only if no valuation is chosen, and no sample of the
 * interval is of a newer topic. Offsets of two topics cannot be compared.
 */
export function chooseRecords(
  { valuations, samples, isCut, isFull }: AccountRecords,
  { fromMs, toMs, around, isOfDeletedTopic }: RecordRange,
): ChosenRecords {
  const missing: MissingEvidence[] = [];
  const isInside = (measuredAtMs: number): boolean => measuredAtMs >= fromMs && measuredAtMs <= toMs;
  const measured = valuations.filter(({ measuredAtMs }) => isInside(measuredAtMs));
  const first = measured[0]?.evidence.measuredAt ?? null;
  if (isCut.valuations) missing.push({ what: "valuations", reason: "expired", from: null, to: first });
  const kept = nearest(measured, around);
  if (isFull || kept.length < measured.length) {
    missing.push({ what: "valuations", reason: "limit", from: null, to: kept[0]?.evidence.measuredAt ?? null });
    missing.push({ what: "valuations", reason: "limit", from: kept.at(-1)?.evidence.measuredAt ?? null, to: null });
  }
  const [begin, end] = [kept[0]?.evidence.offset, kept.at(-1)?.evidence.offset];
  const inside = samples.filter(({ frame }) => isInside(Date.parse(frame.measuredAt)));
  const topicStart = topicStartOf(begin === undefined && inside.length > 0 ? inside : samples);
  const isRecreated = inside.some(({ range }) => range.to < topicStart);
  if (!isCut.valuations && (isRecreated || isOfDeletedTopic || (begin === undefined && inside.length > 0)))
    missing.push({ what: "valuations", reason: "unavailable", from: null, to: first });
  const series = seriesOf(ofTopic(samples, topicStart), around);
  const theirs = series.filter(
    ({ from, to, measuredAt }) =>
      begin === undefined ||
      // A sample that ends at or after `begin`, but was measured before the first valuation, is of
      // a deleted topic.
      (to >= begin && from < (end ?? begin) && Date.parse(measuredAt) >= (kept[0]?.measuredAtMs ?? fromMs)),
  );
  const chosen = theirs.slice(0, MAX_SAMPLES);
  if (isCut.samples)
    missing.push({ what: "samples", reason: "expired", from: null, to: chosen[0]?.measuredAt ?? null });
  if (chosen.length < theirs.length) {
    missing.push({ what: "samples", reason: "limit", from: chosen.at(-1)?.measuredAt ?? null, to: null });
  }
  const firstFrom = chosen[0]?.from;
  const isLate = begin !== undefined && firstFrom !== undefined && firstFrom >= begin;
  if ((isLate || isRecreated) && !isCut.samples) {
    missing.push({ what: "samples", reason: "unavailable", from: null, to: chosen[0]?.measuredAt ?? null });
  }
  const lastTo = chosen.at(-1)?.to ?? -1;
  if (end !== undefined && lastTo < end && chosen.length === theirs.length) {
    missing.push({ what: "samples", reason: "unavailable", from: chosen.at(-1)?.measuredAt ?? null, to: null });
  }
  return { from: toIso(fromMs), to: toIso(toMs), valuations: kept, samples: chosen, missing };
}

/** Whether the samples include the last valuation. */
export function hasAllSamples({ valuations, samples }: ChosenRecords): boolean {
  const last = valuations.at(-1);
  return last === undefined || (samples.at(-1)?.to ?? -1) >= last.evidence.offset;
}

function nearest(valuations: readonly LoggedValuation[], around: number | null): readonly LoggedValuation[] {
  if (valuations.length <= MAX_VALUATIONS) return valuations;
  const index = Math.max(
    valuations.findIndex(({ evidence }) => evidence.offset === around),
    0,
  );
  const begin = Math.min(Math.max(index - MAX_VALUATIONS / 2, 0), valuations.length - MAX_VALUATIONS);
  return valuations.slice(begin, begin + MAX_VALUATIONS);
}

/**
 * A series: samples that follow each other without a gap. The log may have samples that no reader
 * accepts, because they do not follow the last accepted sample (architecture, 3.5). So there can be
 * several series. The series that includes the offset `around` is chosen, or the longest if no
 * series includes this offset.
 */
function seriesOf(samples: readonly SampleEvidence[], around: number | null): readonly SampleEvidence[] {
  const allSeries: SampleEvidence[][] = [];
  for (const sample of samples) {
    const before = allSeries.find((series) => {
      const last = series.at(-1);
      return last !== undefined && sample.sequence === last.sequence + 1 && sample.from === last.to;
    });
    if (before !== undefined) before.push(sample);
    else if (
      !allSeries.some((series) => series.some(({ sequence, to }) => sequence === sample.sequence && to === sample.to))
    )
      allSeries.push([sample]);
  }
  const longest = allSeries.toSorted((one, other) => other.length - one.length);
  const including = longest.find((series) => around !== null && series.some((sample) => includes(sample, around)));
  return including ?? longest[0] ?? [];
}

/** The position of offset 0 in the newest topic that the samples name. */
function topicStartOf(samples: readonly LoggedSample[]): number {
  const newest = samples.reduce((to, { range }) => Math.max(to, range.to), 0);
  return newest - (newest % OFFSETS_PER_GENERATION);
}

/**
 * The samples that end in the topic whose offset 0 has the position `topicStart`, with offsets.
 * `from` is -1 if the sample before ends in a deleted topic.
 */
function ofTopic(samples: readonly LoggedSample[], topicStart: number): SampleEvidence[] {
  return samples.flatMap(({ frame, range }) => {
    const [from, to] = [Math.max(range.from - topicStart, -1), range.to - topicStart];
    return to >= 0 && to < OFFSETS_PER_GENERATION ? [toSampleEvidence(frame, { from, to })] : [];
  });
}

function includes({ from, to }: SampleEvidence, offset: number): boolean {
  return from < offset && to >= offset;
}

/** The lowest equity since a breach; for a profit target, the highest equity or balance. */
export function extremeOf(unproven: UnprovenBreach, valuations: readonly LoggedValuation[]): Extreme {
  const { valueMinor, measuredAtMs, valuationOffset } = unproven;
  const isProfit = unproven.breach.rule.type === "profitTarget";
  const compared = comparedOf(unproven.breach.rule);
  const since = inOrder(valuations).filter((one) =>
    valuationOffset === null ? one.measuredAtMs > measuredAtMs : one.evidence.offset >= valuationOffset,
  );
  const breaching = since.find(({ evidence }) => evidence.offset === valuationOffset);
  let extreme: Extreme = { valueMinor, at: breaching?.evidence.measuredAt ?? toIso(measuredAtMs) };
  for (const one of since) {
    const minor = compared === "equity" ? one.equityMinor : one.balanceMinor;
    const isFurther = isProfit ? minor > extreme.valueMinor : minor < extreme.valueMinor;
    if (isFurther) extreme = { valueMinor: minor, at: one.evidence.measuredAt };
  }
  return extreme;
}

/**
 * Leaves out repeats. A repeat is a valuation that was measured earlier than a valuation before it
 * in the log.
 */
function inOrder(valuations: readonly LoggedValuation[]): LoggedValuation[] {
  let latestMs = Number.NEGATIVE_INFINITY;
  return valuations.filter(({ measuredAtMs }) => {
    if (measuredAtMs < latestMs) return false;
    latestMs = measuredAtMs;
    return true;
  });
}

/** The sequence of the sample that includes the breach; null if no sample does. */
export function sequenceOf({ valuationOffset }: UnprovenBreach, samples: readonly SampleEvidence[]): number | null {
  if (valuationOffset === null) return null;
  return samples.find((sample) => includes(sample, valuationOffset))?.sequence ?? null;
}

/**
 * When the value that reached the threshold was measured. The time is as the trading server wrote
 * it if `valuations` include the breaching valuation.
 */
export function breachedAt(
  { valuationOffset, measuredAtMs }: UnprovenBreach,
  valuations: readonly LoggedValuation[],
): string {
  const breaching = valuations.find(({ evidence }) => evidence.offset === valuationOffset);
  return breaching?.evidence.measuredAt ?? toIso(measuredAtMs);
}

/** The claim of a document about a breach. */
export function claimOf(
  unproven: UnprovenBreach,
  { from, to, valuations, samples, missing }: ChosenRecords,
  positions: readonly EvidencePosition[] | null,
  extreme: Extreme,
  createdAt: string,
): BreachClaim {
  const { breach, organizationId, currency, referenceAtMs, valuationOffset } = unproven;
  const { rule, serverId, accountNumber } = breach;
  const activeFrom = toIso(activeFromMs(unproven, valuations));
  const index = valuations.findIndex(({ evidence }) => evidence.offset === valuationOffset);
  return {
    kind: "breach",
    organizationId,
    serverId,
    accountNumber,
    currency,
    from,
    to,
    missing: [...missing],
    createdAt,
    rule: toEvidenceRule(rule, breach.ruleVersion, activeFrom),
    breach: {
      id: breach.id,
      period: breach.period,
      at: breachedAt(unproven, valuations),
      compared: comparedOf(rule),
      side: rule.type === "profitTarget" ? "atOrAbove" : "atOrBelow",
      reference: {
        value: moneyText(unproven.referenceMinor),
        base: moneyText(unproven.baseMinor),
        at: referenceAtMs === null ? activeFrom : toIso(referenceAtMs),
      },
      threshold: moneyText(unproven.thresholdMinor),
      value: moneyText(unproven.valueMinor),
      valuationIndex: index === -1 ? null : index,
      extremeValue: moneyText(extreme.valueMinor),
      extremeAt: extreme.at,
      sequence: sequenceOf(unproven, samples),
      action: breach.action,
      commandId: breach.commandId,
    },
    positions: positions === null ? null : [...positions],
  };
}

function comparedOf(rule: RiskBreach["rule"]): "equity" | "balance" {
  return rule.type === "profitTarget" ? rule.basis : "equity";
}

/**
 * The time after which all valuations were compared with the rule: the latest time among the seed
 * and the valuations before the offset at which the rules became active. Valuations between the
 * seed and this time were perhaps not compared.
 */
function activeFromMs(
  { ruleActiveFromMs, ruleActiveFromOffset }: UnprovenBreach,
  valuations: readonly LoggedValuation[],
): number {
  return valuations.reduce(
    (ms, { evidence, measuredAtMs }) =>
      ruleActiveFromOffset !== null && evidence.offset < ruleActiveFromOffset ? Math.max(ms, measuredAtMs) : ms,
    ruleActiveFromMs,
  );
}
