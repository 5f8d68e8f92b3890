import { delay } from "@kapi/kernel";

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_INTERVAL_MS = 20;

/**
 * Repeats `check` until it neither throws nor returns false, and returns its value. Put the
 * expectation inside of `check`. Throws the last failure after `timeoutMs`.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  {
    timeoutMs = DEFAULT_TIMEOUT_MS,
    intervalMs = DEFAULT_INTERVAL_MS,
  }: { timeoutMs?: number; intervalMs?: number } = {},
): Promise<Exclude<T, false>> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    let failure: unknown = new Error(`still false after ${timeoutMs} ms`);
    try {
      const value = await check();
      if (value !== false) return value as Exclude<T, false>;
    } catch (error) {
      failure = error;
    }
    if (Date.now() >= end) throw failure;
    await delay(intervalMs);
  }
}
