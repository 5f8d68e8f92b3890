/**
 * A source of time. Domain code takes a clock as an argument and never reads the machine's clock.
 */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  nowMs(): number;
}

/** The machine's clock. */
export const systemClock: Clock = { nowMs: () => Date.now() };

/**
 * For durations and deadlines within this process. Starts at the machine's time; later changes of
 * the machine's clock have no effect. Times that several processes share come from the clock
 * of PostgreSQL or Redis.
 */
export const monotonicClock: Clock = { nowMs: () => Math.round(performance.timeOrigin + performance.now()) };

/** A clock with the latest time of several clocks: a clock that is behind has no effect. */
export function latestOf(...clocks: readonly Clock[]): Clock {
  return { nowMs: () => Math.max(...clocks.map((clock) => clock.nowMs())) };
}

/** ISO 8601 with milliseconds and `Z`, the form of every date-time that kapi writes. */
export function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Resolves after `ms` milliseconds, or at once when `signal` is aborted; it never rejects. */
export function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal?.addEventListener("abort", finish, { once: true });
  });
}
