/** Compares what authentic evidence claims with its records. */
import type {
  BreachEvidence,
  EvidenceBreach,
  EvidenceDocument,
  EvidenceRule,
  EvidenceSample,
  EvidenceValuation,
} from "./document.ts";

/** A part of a document that does not agree with the rest. */
export interface Contradiction {
  /** The part, such as `records[17]` or `breach.extremeValue`. */
  readonly where: string;
  readonly message: string;
}

const PERCENT_WHOLE = 100n;
const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/;

/** A valuation with its index in `records`. */
interface IndexedValuation {
  readonly index: number;
  readonly record: EvidenceValuation;
}

/** All contradictions in a document; empty if its records show what it claims. */
export function contradictionsOf(document: EvidenceDocument): Contradiction[] {
  const found: Contradiction[] = [];
  const report: Report = (where, message) => void found.push({ where, message });
  const valuations: IndexedValuation[] = [];
  const samples: { readonly index: number; readonly record: EvidenceSample }[] = [];
  for (const [index, record] of document.records.entries()) {
    if (record.kind === "valuation") valuations.push({ index, record });
    else samples.push({ index, record });
  }
  checkValuations(document, valuations, report);
  let before: EvidenceSample | undefined;
  const byOffset = new Map(valuations.map(({ record }) => [record.offset, record]));
  for (const { index, record } of samples) {
    checkSample(record, before, byOffset, (message) => report(`records[${index}]`, message));
    before = record;
  }
  if (document.kind === "breach") checkBreach(document, inOrder(valuations), report);
  return found;
}

type Report = (where: string, message: string) => void;

function checkValuations(
  { from, to }: EvidenceDocument,
  valuations: readonly IndexedValuation[],
  report: Report,
): void {
  let before: EvidenceValuation | undefined;
  for (const { index, record } of valuations) {
    const where = `records[${index}]`;
    const { partition, offset, measuredAt } = record;
    if (before !== undefined && (partition !== before.partition || offset <= before.offset)) {
      report(
        where,
        `offset ${offset} of partition ${partition} does not follow offset ${before.offset} of partition ${before.partition}`,
      );
    }
    if (timeOf(measuredAt) < timeOf(from) || timeOf(measuredAt) > timeOf(to)) {
      report(where, `was measured at ${measuredAt}, outside of ${from} to ${to}`);
    }
    before = record;
  }
}

/**
 * Reports each of these faults of a sample: the sample does not follow the sample before it; its
 * lowest equity is above its equity; its values are not those of its last valuation.
 */
function checkSample(
  sample: EvidenceSample,
  before: EvidenceSample | undefined,
  byOffset: ReadonlyMap<number, EvidenceValuation>,
  report: (message: string) => void,
): void {
  if (before !== undefined && sample.sequence !== before.sequence + 1) {
    report(`sequence ${sample.sequence} does not follow ${before.sequence}`);
  } else if (before !== undefined && sample.from !== before.to) {
    report(`begins after offset ${sample.from}, but the sample before it ends at ${before.to}`);
  }
  if (minorOf(sample.intervalMinimumEquity) > minorOf(sample.equity)) {
    report(`intervalMinimumEquity ${sample.intervalMinimumEquity} is above its equity ${sample.equity}`);
  }
  const last = byOffset.get(sample.to);
  if (last === undefined) return;
  for (const name of ["measuredAt", "balance", "equity", "margin", "freeMargin", "openPositionCount"] as const) {
    if (sample[name] !== last[name]) {
      report(`${name} is ${sample[name]}, but ${last[name]} in the valuation with offset ${sample.to}`);
    }
  }
}

/**
 * Leaves out each valuation that was measured before a valuation with a lower offset: trading
 * servers repeat valuations.
 */
function inOrder(valuations: readonly IndexedValuation[]): IndexedValuation[] {
  let latestMs = Number.NEGATIVE_INFINITY;
  return valuations.filter(({ record }) => {
    const measuredMs = timeOf(record.measuredAt);
    if (measuredMs < latestMs) return false;
    latestMs = measuredMs;
    return true;
  });
}

function checkBreach(
  { rule, breach, records }: BreachEvidence,
  valuations: readonly IndexedValuation[],
  report: Report,
): void {
  const { valuationIndex: index, at, value, threshold, sequence } = breach;
  checkThreshold(rule, breach, report);
  if (!isReached(breach, value, 0n)) report("breach.value", `${value} does not reach the threshold ${threshold}`);
  if (index === null) return;
  const breaching = valuations.find((each) => each.index === index)?.record;
  if (breaching === undefined) {
    report(
      "breach.valuationIndex",
      `records[${index}] is not a valuation, or was measured before a valuation with a lower offset`,
    );
    return;
  }
  if (breaching.measuredAt !== at) {
    report("breach.at", `is ${at}, but the valuation was measured at ${breaching.measuredAt}`);
  }
  const compared = breaching[breach.compared];
  if (compared !== value) report("breach.value", `is ${value}, but the valuation has ${breach.compared} ${compared}`);
  checkFirst(rule, breach, breaching, valuations, report);
  checkExtreme(
    breach,
    valuations.filter((each) => each.index >= index),
    report,
  );
  const sample = records.find((record) => record.kind === "sample" && record.sequence === sequence);
  if (sample?.kind === "sample" && (breaching.offset <= sample.from || breaching.offset > sample.to)) {
    report("breach.sequence", `sample ${sequence} does not include the valuation with offset ${breaching.offset}`);
  }
}

/**
 * The distance of the threshold from the reference must be the limit. With `lockAt` the threshold
 * may be lower.
 */
function checkThreshold({ limit, parameters }: EvidenceRule, breach: EvidenceBreach, report: Report): void {
  const { reference, threshold, side } = breach;
  const distance = limit.unit === "amount" ? minorOf(limit.value) : shareOf(minorOf(reference.base), limit.value);
  const value = minorOf(reference.value);
  const expected = side === "atOrBelow" ? value - distance : value + distance;
  const isLocked = typeof parameters["lockAt"] === "string" && minorOf(threshold) < expected;
  if (minorOf(threshold) !== expected && !isLocked) {
    report("breach.threshold", `is ${threshold}, but reference and limit give ${textOf(expected)}`);
  }
}

/**
 * Reports an earlier valuation that reached the threshold, if it was measured after `reference.at`
 * and after `rule.activeFrom`. Deposits and withdrawals move the threshold: they are neither profit
 * nor loss.
 */
function checkFirst(
  rule: EvidenceRule,
  breach: EvidenceBreach,
  breaching: EvidenceValuation,
  valuations: readonly IndexedValuation[],
  report: Report,
): void {
  const sinceMs = Math.max(timeOf(rule.activeFrom), timeOf(breach.reference.at));
  for (const { index, record } of valuations) {
    if (index === breach.valuationIndex) return;
    // Values with and without net deposits cannot be compared.
    const isComparable = (record.netDeposits === null) === (breaching.netDeposits === null);
    if (!isComparable || timeOf(record.measuredAt) <= sinceMs) continue;
    const shift = minorOf(record.netDeposits ?? "0") - minorOf(breaching.netDeposits ?? "0");
    if (isReached(breach, record[breach.compared], shift)) {
      report("breach.valuationIndex", `records[${index}] reached the threshold before the breach`);
      return;
    }
  }
}

function checkExtreme(breach: EvidenceBreach, since: readonly IndexedValuation[], report: Report): void {
  const { compared, side, extremeValue, extremeAt } = breach;
  const values = since.map(({ record }) => minorOf(record[compared]));
  const isFurther = (value: bigint, than: bigint): boolean => (side === "atOrBelow" ? value < than : value > than);
  const furthest = values.reduce((one, other) => (isFurther(other, one) ? other : one));
  if (minorOf(extremeValue) !== furthest) {
    report("breach.extremeValue", `is ${extremeValue}, but the valuations reach ${textOf(furthest)}`);
  } else if (!since.some(({ record }) => record[compared] === extremeValue && record.measuredAt === extremeAt)) {
    report("breach.extremeAt", `no valuation of ${extremeAt} has the value ${extremeValue}`);
  }
}

/** Whether a value is at or beyond the threshold plus `shift` minor units. */
function isReached({ side, threshold }: EvidenceBreach, value: string, shift: bigint): boolean {
  const distance = minorOf(value) - (minorOf(threshold) + shift);
  return side === "atOrBelow" ? distance <= 0n : distance >= 0n;
}

/** A share in percent of an amount, in minor units; a fraction of a minor unit is rounded up. */
function shareOf(amountMinor: bigint, percent: string): bigint {
  const [, , units = "", decimals = ""] = DECIMAL.exec(percent) ?? [];
  const whole = PERCENT_WHOLE * 10n ** BigInt(decimals.length);
  return (amountMinor * BigInt(units + decimals) + whole - 1n) / whole;
}

/** Converts decimal text with at most two decimals to minor units. */
function minorOf(amount: string): bigint {
  const [, sign, units = "0", decimals = ""] = DECIMAL.exec(amount) ?? [];
  const minor = BigInt(units + decimals.padEnd(2, "0"));
  return sign === "-" ? -minor : minor;
}

function textOf(minor: bigint): string {
  const digits = String(minor < 0n ? -minor : minor).padStart(3, "0");
  return `${minor < 0n ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

function timeOf(text: string): number {
  return Date.parse(text);
}
