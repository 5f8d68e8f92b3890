import type { UsageByDayAnswer } from "@kapi/contracts";
import type { Clock } from "@kapi/kernel";

import type { UsageLines } from "../../domain/credits/ports.ts";
import { firstDay, usageByDay } from "../../domain/credits/usage-day.ts";

/** Usage of the last `days` days (UTC) up to today, by operation. */
export async function listUsageByDay(
  { usageLines, clock }: { readonly usageLines: UsageLines; readonly clock: Clock },
  organizationId: string,
  days: number,
): Promise<UsageByDayAnswer> {
  const nowMs = clock.nowMs();
  return { days: usageByDay(await usageLines.byDay(organizationId, firstDay(days, nowMs)), days, nowMs) };
}
