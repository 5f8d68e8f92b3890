import { delay } from "@kapi/kernel";

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_INTERVAL_MS = 20;

/**
 * Repeats `check` until it neither throws nor returns false, and returns what it returned. For what
 * becomes true in a while: put the expectation inside. After `timeoutMs` the last failure is
 * thrown.
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
