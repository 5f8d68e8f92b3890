/**
 * The time of Redis, for times that processes on several machines must agree on and that go beside
 * a claim. Clocks of machines are apart by minutes where nobody looks after them, and are set.
 * Between two looks the time goes on with the monotonic clock of the process, which is not set.
 */
import type { Clock } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import type { RedisConnection } from "./connection.ts";
import { numberReply } from "./replies.ts";

/**
 * How long a change of Redis' time stays unnoticed, at most: after a fail-over, or a pause of the
 * whole machine.
 */
const MEASURE_INTERVAL_MS = 5_000;
/** A smaller difference is left: times should not go to and fro with the load. */
const TOLERANCE_MS = 50;
/**
 * In a cluster any node is asked, and one may be down. After so many tries the clock begins with
 * the machine's own time.
 */
const MAX_FIRST_TRIES = 5;

/** Starts a clock. While Redis is away it goes on by itself. */
export async function startRedisClock(
  redis: Pick<RedisConnection, "commands">,
  { logger, intervalMs = MEASURE_INTERVAL_MS }: { readonly logger: Logger; readonly intervalMs?: number },
): Promise<Started<Clock>> {
  let offsetMs: number | null = null;
  const measure = async (): Promise<void> => {
    const begunMs = performance.now();
    const [seconds, microseconds] = await redis.commands.time();
    const tookMs = performance.now() - begunMs;
    const apartMs = numberReply(seconds) * 1_000 + numberReply(microseconds) / 1_000 - (begunMs + tookMs / 2);
    if (offsetMs !== null && Math.abs(apartMs - offsetMs) <= TOLERANCE_MS + tookMs / 2) return;
    if (offsetMs !== null) logger.warn({ byMs: Math.round(apartMs - offsetMs) }, "the time of Redis has changed");
    offsetMs = apartMs;
  };
  const tryToMeasure = async (): Promise<boolean> => {
    try {
      await measure();
      return true;
    } catch (error) {
      logger.warn({ err: error }, "the time of Redis could not be read");
      return false;
    }
  };
  for (let tries = 1; tries <= MAX_FIRST_TRIES; tries += 1) if (await tryToMeasure()) break;
  const timer = setInterval(() => {
    void tryToMeasure();
  }, intervalMs);
  return {
    value: { nowMs: () => Math.round(performance.now() + (offsetMs ?? performance.timeOrigin)) },
    stop: () => {
      clearInterval(timer);
      return Promise.resolve();
    },
  };
}
