const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Delays after the first, second, … failed attempt (decisions, 11). One more attempt follows the
 * last delay.
 */
export const RETRY_DELAYS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
] as const;
/**
 * Each delay is extended by up to this fraction, so that deliveries that failed together are not
 * retried together.
 */
export const JITTER = 0.1;
/** Maximum delay that a receiver can request. */
export const MAX_RETRY_AFTER_MS = 24 * HOUR_MS;

/**
 * The delay after a failed attempt, in milliseconds; null after the last attempt.
 * @param failures failed attempts since the delivery was created or last restarted, including this
 * one; at least 1.
 * @param retryAfterMs the minimum delay that the receiver requested; null without a request.
 * @param random from 0 (inclusive) to 1.
 */
export function retryDelayMs(failures: number, retryAfterMs: number | null, random: number): number | null {
  const delayMs = RETRY_DELAYS_MS[failures - 1];
  if (delayMs === undefined) return null;
  const jitteredMs = Math.round(delayMs * (1 + JITTER * random));
  return Math.max(jitteredMs, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS));
}

const TOO_MANY_REQUESTS = 429;
const SERVICE_UNAVAILABLE = 503;
const WHOLE_SECONDS = /^\d{1,9}$/;
/** HTTP dates start with a weekday. Date.parse accepts much more. */
const HTTP_DATE = /^[A-Z][a-z]{2}/;

/**
 * The delay that `Retry-After` requests, in milliseconds. The header is seconds or an HTTP date
 * (RFC 9110, 10.2.3). Null if the header is missing or malformed, or if the status is neither 429
 * nor 503.
 */
export function retryAfterOf(status: number | null, header: string | undefined, nowMs: number): number | null {
  if ((status !== TOO_MANY_REQUESTS && status !== SERVICE_UNAVAILABLE) || header === undefined) return null;
  const text = header.trim();
  if (WHOLE_SECONDS.test(text)) return Number(text) * SECOND_MS;
  const atMs = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
