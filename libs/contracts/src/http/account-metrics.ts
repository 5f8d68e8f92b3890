import { z } from "zod";

import { DateTime, queryInteger } from "../values.ts";

/**
 * A stored snapshot as the API shows it (interface, "Account metric snapshot"). Money in units of
 * currency.
 */
export const AccountMetricSnapshot = z.object({
  id: z.uuid(),
  organizationId: z.uuid(),
  serverId: z.guid(),
  accountNumber: z.string(),
  /** `eventId` and `sequence` of the live sample of the snapshot. */
  eventId: z.string(),
  sequence: z.int(),
  balance: z.number(),
  equity: z.number(),
  usedMargin: z.number(),
  freeMargin: z.number(),
  /** Percent; 0 with no margin in use. */
  marginLevel: z.number(),
  unrealizedProfit: z.number(),
  /** Percent of the equity at the start of the day (00:00 UTC). */
  dailyDrawdown: z.number(),
  /** Percent of the highest equity ever. */
  totalDrawdown: z.number(),
  accountStatus: z.string(),
  /** Rounded down to the minute. */
  measuredAt: z.iso.datetime(),
  createdAt: z.iso.datetime(),
});
export type AccountMetricSnapshot = z.infer<typeof AccountMetricSnapshot>;

/** Maximum number of snapshots per answer (decisions, 9). */
export const MAX_SNAPSHOTS = 1_000;

/** Query of listAccountMetrics: `since` inclusive, `until` exclusive, on `measuredAt`. */
export const ListAccountMetricsQuery = z.object({
  accountNumber: z.string().min(1).max(32).optional(),
  since: DateTime.optional(),
  until: DateTime.optional(),
  limit: queryInteger(1, MAX_SNAPSHOTS).default(100),
});
export type ListAccountMetricsQuery = z.infer<typeof ListAccountMetricsQuery>;

/** Answer of listAccountMetrics. */
export const AccountMetricsAnswer = z.object({ snapshots: z.array(AccountMetricSnapshot) });
