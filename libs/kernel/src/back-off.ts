/** Pauses between attempts: 1-2-4-8-16 s (decisions, 3.1). */
export const FIRST_RETRY_MS = 1_000;
export const MAX_RETRY_MS = 16_000;
/**
 * Maximum share by which a pause is shortened at random, so that callers do not retry at the same
 * moment.
 */
const JITTER = 0.25;

/**
 * Pauses between attempts, in milliseconds: the first pause is `firstMs`, each further pause is
 * twice as long as the previous pause, up to `maxMs`.
 */
export interface BackOff {
  readonly firstMs: number;
  /** Without it, every pause is `firstMs`. */
  readonly maxMs?: number;
}

const DEFAULT_BACK_OFF: BackOff = { firstMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS };

/**
 * Pause after the `failures`-th consecutive failure, in milliseconds, shortened at random by up to
 * a quarter. The default `backOff` is 1-2-4-8-16 s (decisions, 3.1).
 */
export function backOffMs(
  failures: number,
  random: () => number,
  { firstMs, maxMs = firstMs }: BackOff = DEFAULT_BACK_OFF,
): number {
  const full = Math.min(maxMs, firstMs * 2 ** (failures - 1));
  return Math.round(full * (1 - JITTER * random()));
}
