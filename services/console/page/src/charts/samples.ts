import type { AccountMetricsFrame } from "../api/shapes.ts";

/** Maximum number of samples of a chart: about ten minutes at one a second. */
export const MAX_SAMPLES = 600;

/** The samples of a chart. */
export interface Samples {
  /** In order, the newest last. */
  readonly list: readonly AccountMetricsFrame[];
  /** Arrival of the newest sample, by the browser's clock, in milliseconds. */
  readonly cameMs: number;
}

export const NO_SAMPLES: Samples = { list: [], cameMs: 0 };

/** Appends a sample unless it is known; drops the oldest above the limit. */
export function keptWith({ list, cameMs }: Samples, sample: AccountMetricsFrame, nowMs: number): Samples {
  const last = list.at(-1);
  // A reopened stream starts with the newest sample, which may be known.
  if (last !== undefined && sample.sequence <= last.sequence) return { list, cameMs };
  return { list: [...list.slice(Math.max(0, list.length + 1 - MAX_SAMPLES)), sample], cameMs: nowMs };
}

/**
 * Lines of a chart: times in seconds, equity, balance. Without a new sample the lines continue
 * unchanged until `nowMs`, counted from the arrival of the newest sample, because the viewer's
 * clock may be wrong.
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

/** Range of amounts of a chart, with a margin, also for flat lines. */
export function amountsShown(low: number, high: number): [number, number] {
  const room = Math.max((high - low) * ROOM, Math.abs(high) * FLAT_ROOM, LEAST_ROOM);
  return [low - room, high + room];
}

/**
 * Margin above and below the amounts: as a share of their range, as a share of an unchanged amount,
 * and at least this many units of currency.
 */
const ROOM = 0.08;
const FLAT_ROOM = 0.0005;
const LEAST_ROOM = 0.05;
