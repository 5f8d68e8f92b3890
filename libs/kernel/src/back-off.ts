/** Pauses between attempts: 1-2-4-8-16 s (decisions, 3.1). */
export const FIRST_RETRY_MS = 1_000;
export const MAX_RETRY_MS = 16_000;
/** Share of a pause that chance may take away, so that many do not come back at one moment. */
const JITTER = 0.25;

/** Pause after the `attempt`-th failure: 1-2-4-8-16 s, less up to a quarter by chance (decisions, 3.1). */
export function backOffMs(attempt: number, random: () => number): number {
  const full = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempt - 1));
  return Math.round(full * (1 - JITTER * random()));
}
