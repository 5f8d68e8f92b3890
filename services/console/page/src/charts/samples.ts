import type { AccountMetricsFrame } from "../api/shapes.ts";

/**
 * Samples that a chart keeps; one comes in a second at most but for changes of balance, so these
 * are ten minutes.
 */
export const MAX_SAMPLES = 600;

/** What a chart has of an account. */
export interface Samples {
  /** In order, the newest last. */
  readonly list: readonly AccountMetricsFrame[];
  /** When the newest came, by this browser's own clock, in milliseconds. */
  readonly cameMs: number;
}

export const NO_SAMPLES: Samples = { list: [], cameMs: 0 };

/**
 * `samples` and a new one behind them, unless it is known already; the oldest goes when there are
 * too many.
 */
export function keptWith({ list, cameMs }: Samples, sample: AccountMetricsFrame, nowMs: number): Samples {
  const last = list.at(-1);
  // A stream that was opened again begins with the newest sample, which may have been shown before.
  if (last !== undefined && sample.sequence <= last.sequence) return { list, cameMs };
  return { list: [...list.slice(Math.max(0, list.length + 1 - MAX_SAMPLES)), sample], cameMs: nowMs };
}

/**
 * The lines of a chart: times in seconds, equity, balance. No new sample means that nothing has
 * changed, so the lines go on until `nowMs` as they are. That is counted from when the newest
 * sample came: the viewer's clock may be wrong.
 */
export function linesOf({ list, cameMs }: Samples, nowMs: number): [number[], number[], number[]] {
  const times = list.map(({ measuredAt }) => Date.parse(measuredAt) / 1000);
  const equity = list.map((sample) => sample.equity);
  const balance = list.map((sample) => sample.balance);
  const last = list.at(-1);
  if (last === undefined) return [times, equity, balance];
  const end = Date.parse(last.measuredAt) / 1000 + Math.max(nowMs - cameMs, 0) / 1000;
  return [
    [...times, end],
    [...equity, last.equity],
    [...balance, last.balance],
  ];
}

/**
 * Between which amounts a chart is drawn: with some room, and some also for lines that are flat.
 */
export function amountsShown(low: number, high: number): [number, number] {
  const room = Math.max((high - low) * ROOM, Math.abs(high) * FLAT_ROOM, LEAST_ROOM);
  return [low - room, high + room];
}

/**
 * Of what is between the lowest and the highest amount; of an amount that does not change; in units
 * of currency.
 */
const ROOM = 0.08;
const FLAT_ROOM = 0.0005;
const LEAST_ROOM = 0.05;
