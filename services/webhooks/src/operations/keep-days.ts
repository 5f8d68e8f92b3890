import { type Clock, toIso } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { DayStore } from "../domain/ports.ts";

const DAY_MS = 86_400_000;
/** How long events and deliveries are kept (decisions, 11). */
export const KEPT_DAYS = 30;
/** Number of future days whose partitions are created in advance. */
const DAYS_AHEAD = 2;

/** Creates the partitions of today and the next days, and drops expired ones. */
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
