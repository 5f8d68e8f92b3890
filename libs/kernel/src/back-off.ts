/** Pauses between attempts: 1-2-4-8-16 s (decisions, 3.1). */
export const FIRST_RETRY_MS = 1_000;
export const MAX_RETRY_MS = 16_000;
/** Share of a pause that chance may take away, so that many do not come back at one moment. */
const JITTER = 0.25;

/** The pauses between attempts, in milliseconds: `firstMs`, doubled after each further failure, up to `maxMs`. */
export interface BackOff {
  readonly firstMs: number;
  /** Absent: every pause is `firstMs`. */
  readonly maxMs?: number;
}

const DEFAULT_BACK_OFF: BackOff = { firstMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS };

/**
 * Pause after the `failures`-th failure in a row, in milliseconds, less up to a quarter by chance.
 * Without a `backOff`: 1-2-4-8-16 s (decisions, 3.1).
 */
export function backOffMs(
  failures: number,
  random: () => number,
  { firstMs, maxMs = firstMs }: BackOff = DEFAULT_BACK_OFF,
): number {
  const full = Math.min(maxMs, firstMs * 2 ** (failures - 1));
  return Math.round(full * (1 - JITTER * random()));
}
