import type { AccountMetricsFrame } from "../api/shapes.ts";

/** Samples that a chart keeps; one comes in a second at most but for changes of balance, so these are ten minutes. */
export const MAX_SAMPLES = 600;

/** `samples` and a new one behind them, unless it is known already; the oldest goes when there are too many. */
export function keptWith(
  samples: readonly AccountMetricsFrame[],
  sample: AccountMetricsFrame,
): readonly AccountMetricsFrame[] {
  const last = samples.at(-1);
  // A stream that was opened again begins with the newest sample, which may have been shown before.
  if (last !== undefined && sample.sequence <= last.sequence) return samples;
  return [...samples.slice(Math.max(0, samples.length + 1 - MAX_SAMPLES)), sample];
}
