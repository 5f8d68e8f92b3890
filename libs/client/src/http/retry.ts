import { delay } from "../delay.ts";
import { KapiError } from "../errors.ts";

/** How often, and for how long, a request is repeated. */
export interface RetryOptions {
  /** Maximum number of attempts, the first one included. Default 8; 1 means no retry. */
  readonly maxAttempts?: number | undefined;
  /**
   * Maximum time from the first attempt to the start of the last one, in milliseconds. Default
   * 60,000.
   */
  readonly maxElapsedMs?: number | undefined;
  /**
   * Limit of the random delay before the first retry, in milliseconds. The limit doubles with each
   * retry. Default 250.
   */
  readonly firstDelayMs?: number | undefined;
  /**
   * Highest limit of the random delay, in milliseconds. Default 8,000. The time of `Retry-After` is
   * added to the random delay.
   */
  readonly maxDelayMs?: number | undefined;
}

type RetryLimits = { readonly [Name in keyof RetryOptions]-?: number };

const DEFAULT_RETRY: RetryLimits = {
  maxAttempts: 8,
  maxElapsedMs: 60_000,
  firstDelayMs: 250,
  maxDelayMs: 8_000,
};

/** Decides when a failed request is repeated. */
export class RetryPolicy {
  readonly #limits: RetryLimits;

  constructor(options: RetryOptions = {}) {
    const given = Object.entries(options).filter(([, value]) => value !== undefined);
    this.#limits = { ...DEFAULT_RETRY, ...(Object.fromEntries(given) as Partial<RetryLimits>) };
  }

  /**
   * Runs `attempt` until it succeeds, it fails with an error that is not retryable, or a limit is
   * reached. No retry starts after `deadlineMs`, a time of `performance.now()`. Before a retry,
   * waits the time of `Retry-After` and a random time. Because of the random time, many clients do
   * not retry at the same moment.
   * @throws the error of the last attempt, whose `attempts` is the number of attempts; the reason
   * of an abort.
   */
  async run<T>(
    attempt: () => Promise<T>,
    isRetryable: (error: unknown) => error is KapiError,
    {
      signal,
      deadlineMs = Infinity,
    }: { readonly signal: AbortSignal | undefined; readonly deadlineMs: number | undefined },
  ): Promise<T> {
    const latestMs = Math.min(performance.now() + this.#limits.maxElapsedMs, deadlineMs);
    for (let number = 1; ; number += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (error instanceof KapiError) error.attempts = number;
        if (!isRetryable(error) || number >= this.#limits.maxAttempts) throw error;
        const delayMs = this.#delayMs(number, error.retryAfterS);
        if (performance.now() + delayMs > latestMs) throw error;
        await delay(delayMs, signal);
      }
    }
  }

  #delayMs(number: number, retryAfterS: number | null): number {
    const longestMs = Math.min(this.#limits.maxDelayMs, this.#limits.firstDelayMs * 2 ** (number - 1));
    return (retryAfterS ?? 0) * 1_000 + Math.random() * longestMs;
  }
}
