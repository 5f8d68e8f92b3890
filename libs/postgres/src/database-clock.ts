/**
 * The time of the database, for what several processes must agree on: leases, deadlines, the day of a record. Clocks of machines are apart by
 * minutes where nobody looks after them, and are set; the database has one.
 */
import type { Clock } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import type { Queryable } from "./pool.ts";
import { statement } from "./statement.ts";

/** How long a clock that was set stays unnoticed, at most. */
const MEASURE_INTERVAL_MS = 5_000;
/** A smaller difference is left: times should not go to and fro with the load. */
const TOLERANCE_MS = 100;

const NOW = statement<{ ms: number }>(
  "database_clock",
  "select extract(epoch from clock_timestamp())::float8 * 1000 as ms",
);

/**
 * Starts a clock that goes with `clock`, put right by how far this machine's time is from the database's. While the database is away
 * the last difference stays.
 */
export async function startDatabaseClock(
  database: Queryable,
  { clock, logger }: { clock: Clock; logger: Logger },
): Promise<Started<Clock>> {
  let offsetMs = 0;
  const measure = async (): Promise<void> => {
    const beganMs = performance.now();
    const rows = await database.query(NOW, []);
    const tookMs = performance.now() - beganMs;
    const apartMs = (rows[0]?.ms ?? Date.now()) + tookMs / 2 - Date.now();
    if (Math.abs(apartMs - offsetMs) <= TOLERANCE_MS + tookMs / 2) return;
    offsetMs = Math.round(apartMs);
    logger.warn({ offsetMs }, "this machine's clock differs from the database's, which counts");
  };
  await measure();
  const timer = setInterval(() => {
    measure().catch((error: unknown) => logger.warn({ err: error }, "the database's time could not be read"));
  }, MEASURE_INTERVAL_MS);
  return {
    value: { nowMs: () => clock.nowMs() + offsetMs },
    stop: () => {
      clearInterval(timer);
      return Promise.resolve();
    },
  };
}
