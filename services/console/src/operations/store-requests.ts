import type { LoggedRequests } from "@kapi/contracts";
import type { Clock } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import { keptDays, type RequestLogStore, rowsToStore } from "../domain/request-log.ts";

interface RequestLogDependencies {
  readonly requestLog: RequestLogStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Stores the requests that {@link rowsToStore} selects, at most `maxPerDay` of an organization and
 * day. Also stores the counts of the omitted requests, and the newest uses of keys.
 */
export async function storeRequests(
  { requestLog, clock }: Pick<RequestLogDependencies, "requestLog" | "clock">,
  records: readonly LoggedRequests[],
  maxPerDay: number,
): Promise<void> {
  if (records.length === 0) return;
  const days = keptDays(clock.nowMs());
  const organizationIds = [...new Set(records.map(({ organizationId }) => organizationId))];
  const stored = await requestLog.storedCounts(organizationIds, days);
  await requestLog.insert(rowsToStore(records, { days, stored, maxPerDay }));
}

/** Creates the partitions of the kept days, and drops earlier ones. */
export async function keepRequestDays({ requestLog, clock, logger }: RequestLogDependencies): Promise<void> {
  const days = keptDays(clock.nowMs());
  for (const day of days) await requestLog.keepDay(day);
  const dropped = await requestLog.dropDaysBefore(days[0] ?? "");
  if (dropped > 0) logger.info({ dropped }, "days of the request log were dropped");
}
