const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Rests after the first, second, … failed attempt (decisions, 11); after as many again there is no
 * further one.
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
 * A rest is longer by up to this part of it, so that what failed together does not come back
 * together.
 */
export const JITTER = 0.1;
/** A receiver cannot put a delivery off for longer. */
export const MAX_RETRY_AFTER_MS = 24 * HOUR_MS;

/**
 * How long to rest after a failed attempt, in milliseconds; null where it was the last one.
 * @param failures failed attempts so far, this one included; at least 1.
 * @param retryAfterMs what the receiver asked for: the rest is not shorter than that.
 * @param random from 0 (inclusive) to 1.
 */
export function restAfter(failures: number, retryAfterMs: number | null, random: number): number | null {
  const delayMs = RETRY_DELAYS_MS[failures - 1];
  if (delayMs === undefined) return null;
  const restMs = Math.round(delayMs * (1 + JITTER * random));
  return Math.max(restMs, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS));
}

const TOO_MANY_REQUESTS = 429;
const SERVICE_UNAVAILABLE = 503;
const WHOLE_SECONDS = /^\d{1,9}$/;
/** Begins with a day's name, as HTTP's dates do: much else is a date to Date.parse. */
const HTTP_DATE = /^[A-Z][a-z]{2}/;

/**
 * What `Retry-After` of an answer asks for, in milliseconds from now; null where it asks for
 * nothing. Only 429 and 503 can. The header is seconds or an HTTP date (RFC 9110, 10.2.3).
 */
export function retryAfterOf(status: number | null, header: string | undefined, nowMs: number): number | null {
  if ((status !== TOO_MANY_REQUESTS && status !== SERVICE_UNAVAILABLE) || header === undefined) return null;
  const text = header.trim();
  if (WHOLE_SECONDS.test(text)) return Number(text) * SECOND_MS;
  const atMs = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
