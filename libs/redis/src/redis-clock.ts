/**
 * The time of Redis, for times that processes on several machines must agree on, such as the
 * deadlines of commands. Clocks of machines may differ by minutes, and may be changed. Between two
 * measurements the time advances with the monotonic clock of the process.
 */
import { assertDefined, type Clock } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";
import type { Redis } from "ioredis";

import type { RedisConnection } from "./connection.ts";
import { numberReply } from "./replies.ts";

/** Interval of measurements: a changed time of Redis is noticed within this time. */
const MEASURE_INTERVAL_MS = 5_000;
/** Smaller differences are ignored, so that the time does not vary with the load. */
const TOLERANCE_MS = 50;
/**
 * Attempts to measure at the start. If all of them fail, the clock starts at the machine's time.
 */
const MAX_FIRST_ATTEMPTS = 5;

interface Measurement {
  /** Difference between the time of a node and the monotonic clock of this process. */
  readonly apartMs: number;
  readonly tookMs: number;
}

/**
 * Starts a clock that follows the median time of the Redis masters. While half of the masters or
 * more are unavailable, it advances with the monotonic clock of the process.
 */
export async function startRedisClock(
  redis: Pick<RedisConnection, "masters">,
  { logger, intervalMs = MEASURE_INTERVAL_MS }: { readonly logger: Logger; readonly intervalMs?: number },
): Promise<Started<Clock>> {
  let offsetMs: number | null = null;
  const measure = async (): Promise<void> => {
    const answers = await Promise.allSettled(redis.masters().map(measureOne));
    const { apartMs, tookMs } = median(answers, offsetMs);
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
  for (let tries = 1; tries <= MAX_FIRST_ATTEMPTS; tries += 1) if (await tryToMeasure()) break;
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

async function measureOne(master: Pick<Redis, "time">): Promise<Measurement> {
  const begunMs = performance.now();
  const [seconds, microseconds] = await master.time();
  const tookMs = performance.now() - begunMs;
  const timeMs = numberReply(seconds) * 1_000 + numberReply(microseconds) / 1_000;
  return { apartMs: timeMs - (begunMs + tookMs / 2), tookMs };
}

/**
 * The median, so that one wrong clock has no effect. Of two middle values, the one nearer to
 * `offsetMs`; the lower one if `offsetMs` is null.
 * @throws if half of the masters or fewer answered.
 */
function median(answers: readonly PromiseSettledResult<Measurement>[], offsetMs: number | null): Measurement {
  const measured = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  if (measured.length <= answers.length / 2) {
    throw new Error(`only ${measured.length} of ${answers.length} Redis masters reported their time`);
  }
  measured.sort((one, other) => one.apartMs - other.apartMs);
  const upper = assertDefined(measured[Math.floor(measured.length / 2)], "the time of a master of Redis");
  const lower = measured[Math.floor((measured.length - 1) / 2)] ?? upper;
  if (offsetMs === null) return lower;
  return Math.abs(lower.apartMs - offsetMs) <= Math.abs(upper.apartMs - offsetMs) ? lower : upper;
}
