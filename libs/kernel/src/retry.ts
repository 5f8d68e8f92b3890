import { type BackOff, backOffMs } from "./back-off.ts";
import { delay, monotonicClock } from "./clock.ts";

/** When {@link retry} makes another attempt. Without limits it never gives up. */
export interface RetryOptions {
  readonly backOff: BackOff;
  /** Whether a further attempt may succeed after this error. By default, always. */
  readonly isRetryable?: (error: unknown) => boolean;
  /** Maximum number of attempts. Default: unlimited. */
  readonly maxAttempts?: number;
  /**
   * No attempt begins later than this many milliseconds after the first attempt. Default:
   * unlimited.
   */
  readonly timeoutMs?: number;
  /** When it is aborted, a pause ends at once and no further attempt begins. */
  readonly signal?: AbortSignal;
  /**
   * Called after each failure before the pause; `failures` counts from 1. Not called if the failure
   * allows no further attempt.
   */
  readonly onFailure?: (error: unknown, failures: number) => void;
  /** Between 0 and 1; for the jitter of pauses. Default Math.random. */
  readonly random?: () => number;
}

/**
 * Calls `attempt` until it succeeds, with a pause after each failure ({@link backOffMs}). Every
 * attempt must be safe to repeat: a failed attempt may have taken effect.
 * @throws the error of the last attempt; the reason of `signal` if it was aborted before the first
 * attempt.
 */
export async function retry<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { backOff, signal, maxAttempts = Number.POSITIVE_INFINITY, timeoutMs, random = Math.random } = options;
  const untilMs = timeoutMs === undefined ? Number.POSITIVE_INFINITY : monotonicClock.nowMs() + timeoutMs;
  const isAborted = (): boolean => signal?.aborted === true;
  signal?.throwIfAborted();
  for (let failures = 1; ; failures += 1) {
    try {
      return await attempt();
    } catch (error) {
      const pauseMs = backOffMs(failures, random, backOff);
      const isLast = failures >= maxAttempts || monotonicClock.nowMs() + pauseMs > untilMs;
      if (isLast || isAborted() || options.isRetryable?.(error) === false) throw error;
      options.onFailure?.(error, failures);
      await delay(pauseMs, signal);
      if (isAborted()) throw error;
    }
  }
}
