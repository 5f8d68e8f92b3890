/**
 * The time of the database, for times on which several processes must agree: leases, deadlines, the
 * day of a record. Clocks of machines may differ by minutes, and may be changed.
 */
import { assertDefined, type Clock } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import type { Queryable } from "./pool.ts";
import { statement } from "./statement.ts";

/** While the database answers, a change of its time is noticed within this time. */
const MEASURE_INTERVAL_MS = 5_000;
/** Smaller differences are ignored, so that the time does not vary with the load. */
const TOLERANCE_MS = 100;

const NOW = statement<{ ms: number }>(
  "database_clock",
  "select extract(epoch from clock_timestamp())::float8 * 1000 as ms",
);

/**
 * Starts a clock that follows the database's time. Between measurements, and while the database is
 * unavailable, it advances with the monotonic clock of the process.
 * @throws if the database's time cannot be read at the start.
 */
export async function startDatabaseClock(
  database: Queryable,
  { logger }: { readonly logger: Logger },
): Promise<Started<Clock>> {
  let offsetMs = Date.now() - performance.now();
  const measure = async (): Promise<void> => {
    const begunMs = performance.now();
    const rows = await database.query(NOW, []);
    const tookMs = performance.now() - begunMs;
    const { ms } = assertDefined(rows[0], "the database's time");
    const apartMs = ms - (begunMs + tookMs / 2);
    if (Math.abs(apartMs - offsetMs) <= TOLERANCE_MS + tookMs / 2) return;
    logger.warn({ byMs: Math.round(apartMs - offsetMs) }, "the clock was set to the database's time");
    offsetMs = apartMs;
  };
  await measure();
  const timer = setInterval(() => {
    measure().catch((error: unknown) => logger.warn({ err: error }, "the database's time could not be read"));
  }, MEASURE_INTERVAL_MS);
  return {
    value: { nowMs: () => Math.round(performance.now() + offsetMs) },
    stop: () => {
      clearInterval(timer);
      return Promise.resolve();
    },
  };
}
