import type { AccountMetricsFrame } from "../api/shapes.ts";

/** Maximum number of samples of a chart: ten minutes at one sample a second. */
export const MAX_SAMPLES = 600;

/** Samples of an account in order, the newest last. */
export type Samples = readonly AccountMetricsFrame[];

export const NO_SAMPLES: Samples = [];

/**
 * Appends `sample`, and returns the newest `MAX_SAMPLES` samples. If `sample` is not newer than the
 * last of `samples`, returns `samples` itself.
 */
export function keptWith(samples: Samples, sample: AccountMetricsFrame): Samples {
  const last = samples.at(-1);
  // A reopened stream starts with the newest sample, which `samples` may already have.
  if (last !== undefined && sample.sequence <= last.sequence) return samples;
  return [...samples.slice(Math.max(0, samples.length + 1 - MAX_SAMPLES)), sample];
}

/** The range of the vertical axis for amounts from `low` to `high`, with a margin on both sides. */
export function amountsShown(low: number, high: number): [number, number] {
  const room = Math.max((high - low) * ROOM, Math.abs(high) * FLAT_ROOM, LEAST_ROOM);
  return [low - room, high + room];
}

/**
 * The margin above and below the amounts is the largest of three: a share of their range, a share
 * of the highest amount, and a number of units of currency.
 */
const ROOM = 0.08;
const FLAT_ROOM = 0.0005;
const LEAST_ROOM = 0.05;
