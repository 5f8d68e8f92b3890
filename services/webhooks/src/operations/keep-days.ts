import { type Clock, toIso } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { DayStore } from "../domain/ports.ts";

const DAY_MS = 86_400_000;
/** Events and deliveries are kept so long (decisions, 11). */
export const KEPT_DAYS = 30;
/** Partitions stand ready so many days ahead. */
const DAYS_AHEAD = 2;

/**
 * Makes the partitions of today and the days to come, and drops those of what is older than it is
 * kept.
 */
export async function keepDays({
  days,
  clock,
  logger,
}: {
  days: DayStore;
  clock: Clock;
  logger: Logger;
}): Promise<void> {
  const nowMs = clock.nowMs();
  const dayOf = (offset: number): string => toIso(nowMs + offset * DAY_MS).slice(0, "2026-01-01".length);
  for (let offset = 0; offset <= DAYS_AHEAD; offset += 1) await days.keep(dayOf(offset));
  const dropped = await days.dropBefore(dayOf(-KEPT_DAYS));
  if (dropped > 0) logger.info({ dropped }, "days of events were dropped");
}
