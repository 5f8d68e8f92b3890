import type { AccountMetricSnapshot, ListAccountMetricsQuery } from "@kapi/contracts";
import type { Clock } from "@kapi/kernel";

import type { SnapshotLists } from "../domain/ports.ts";
import { KEPT_DAYS } from "./store-snapshots.ts";

const DAY_MS = 86_400_000;

/**
 * The body of listAccountMetrics: stored snapshots, newest first, those of one minute by account
 * number (decisions, 9). Nothing older than it is kept, also where its day is still there. Another
 * organization's server has none.
 */
export async function listAccountMetrics(
  needs: {
    readonly lists: SnapshotLists;
    readonly organizationOf: (serverId: string) => string | undefined;
    readonly clock: Clock;
  },
  query: ListAccountMetricsQuery & { readonly organizationId: string; readonly serverId: string },
): Promise<{ snapshots: AccountMetricSnapshot[] }> {
  const { organizationId, serverId, accountNumber, since, until, limit } = query;
  if (needs.organizationOf(serverId) !== organizationId) return { snapshots: [] };
  const firstKeptMs = needs.clock.nowMs() - KEPT_DAYS * DAY_MS;
  const snapshots = await needs.lists.list({
    organizationId,
    serverId,
    accountNumber: accountNumber ?? null,
    sinceMs: Math.max(firstKeptMs, since === undefined ? firstKeptMs : Date.parse(since)),
    untilMs: until === undefined ? null : Date.parse(until),
    limit,
  });
  return { snapshots };
}
