/** The pause of a consumer between a batch and the next fetch. */
import { type Clock, delay } from "@kapi/kernel";

import type { ConsumerOptions } from "./consumer-options.ts";

const MIN_INTERVAL_MS = 5;
/**
 * A batch with more messages of a partition than this counts as busy. With a limit of one and a
 * busy interval of 40 ms, a consumer with 50 messages a second would stay busy for ever: two
 * messages arrive in each interval, so the next batch is busy again. Every message would wait for
 * no benefit.
 */
const BUSY_ABOVE_MESSAGES = 4;

/** Minimum milliseconds from the start of a batch of `count` messages to the next fetch. */
export function intervalAfter(
  count: number,
  {
    minIntervalMs = MIN_INTERVAL_MS,
    busyIntervalMs = minIntervalMs,
  }: Pick<ConsumerOptions, "minIntervalMs" | "busyIntervalMs">,
): number {
  return count > BUSY_ABOVE_MESSAGES ? busyIntervalMs : minIntervalMs;
}

/** Resolves when the next fetch may begin. `count` and `begunMs` describe the last batch. */
export async function pauseAfter(
  count: number,
  begunMs: number,
  options: ConsumerOptions,
  clock: Clock,
): Promise<void> {
  const leftMs = (intervalMs: number): number => Math.max(0, begunMs + intervalMs - clock.nowMs());
  const shortMs = leftMs(intervalAfter(count, options));
  if (shortMs > 0) await delay(shortMs);
  const { unhurried } = options;
  const longMs = unhurried === undefined ? 0 : leftMs(unhurried.intervalMs);
  if (longMs > 0) await unhurried?.urgency.pause(longMs);
}
