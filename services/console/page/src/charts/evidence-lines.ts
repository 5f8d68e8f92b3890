/** The lines and markers of the chart of evidence. */
import type { BreachEvidence } from "../api/shapes.ts";
import { amountsShown } from "./samples.ts";

/**
 * The reference is left out if its distance from the other lines is more than this share of their
 * range. With such a reference, the other lines would look flat.
 */
const MAX_REFERENCE_DISTANCE = 1;

/** A point of the chart: seconds since 1970, and units of currency. */
export interface Point {
  readonly timeS: number;
  readonly value: number;
}

/** The lines of the chart of a breach. */
export interface EvidenceLines {
  /** Seconds since 1970. */
  readonly times: number[];
  /** In units of currency; null at the ends of the interval. */
  readonly values: (number | null)[];
  readonly thresholds: number[];
  /** The value from which the rule counts the loss or profit. */
  readonly references: number[];
  readonly breach: Point;
  /** The value furthest beyond the threshold. */
  readonly extreme: Point;
  /** The interval of the document. */
  readonly fromS: number;
  readonly toS: number;
  readonly isReferenceShown: boolean;
  /** The range of the vertical axis. */
  readonly amounts: readonly [low: number, high: number];
}

/**
 * The lines of a document. Deposits and withdrawals are neither profit nor loss, so they move the
 * threshold and the reference. If the net deposits are unknown, threshold and reference stay where
 * they were at the breach. A valuation that is older than the valuation before it is left out,
 * because trading servers can send an old valuation again.
 */
export function evidenceLines({ breach, records, from, to }: BreachEvidence): EvidenceLines {
  const valuations = records.filter((record) => record.kind === "valuation");
  const breaching = breach.valuationIndex === null ? undefined : records[breach.valuationIndex];
  const depositsThen = breaching?.kind === "valuation" ? breaching.netDeposits : null;
  const threshold = Number(breach.threshold);
  const reference = Number(breach.reference.value);
  const times: number[] = [];
  const values: number[] = [];
  const thresholds: number[] = [];
  const references: number[] = [];
  for (const valuation of valuations) {
    const timeS = secondsOf(valuation.measuredAt);
    if (timeS < (times.at(-1) ?? Number.NEGATIVE_INFINITY)) continue;
    const deposits = valuation.netDeposits;
    const shift = deposits === null || depositsThen === null ? 0 : Number(deposits) - Number(depositsThen);
    times.push(timeS);
    values.push(Number(valuation[breach.compared]));
    thresholds.push(threshold + shift);
    references.push(reference + shift);
  }
  const extreme = { timeS: secondsOf(breach.extremeAt), value: Number(breach.extremeValue) };
  const others = [...values, ...thresholds, Number(breach.value), extreme.value];
  const range = { low: Math.min(...others), high: Math.max(...others) };
  const isReferenceShown = isNear(reference, range);
  const shown = isReferenceShown ? [...references, reference] : [];
  const [fromS, toS] = [secondsOf(from), secondsOf(to)];
  return {
    times: [fromS, ...times, toS],
    values: [null, ...values, null],
    thresholds: [thresholds[0] ?? threshold, ...thresholds, thresholds.at(-1) ?? threshold],
    references: [references[0] ?? reference, ...references, references.at(-1) ?? reference],
    breach: { timeS: secondsOf(breach.at), value: Number(breach.value) },
    extreme,
    fromS,
    toS,
    isReferenceShown,
    amounts: amountsShown(Math.min(range.low, ...shown), Math.max(range.high, ...shown)),
  };
}

function isNear(reference: number, { low, high }: { readonly low: number; readonly high: number }): boolean {
  const room = (high - low) * MAX_REFERENCE_DISTANCE;
  return reference >= low - room && reference <= high + room;
}

function secondsOf(time: string): number {
  return Date.parse(time) / 1000;
}
