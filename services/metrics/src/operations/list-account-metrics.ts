import type { AccountMetricSnapshot, ListAccountMetricsQuery } from "@kapi/contracts";
import type { Clock } from "@kapi/kernel";

import type { SnapshotLists } from "../domain/ports.ts";
import { KEPT_DAYS } from "./store-snapshots.ts";

const DAY_MS = 86_400_000;

/**
 * Returns the body of listAccountMetrics (decisions, 9): stored snapshots, newest first. Snapshots
 * of the same minute are in the order of their account numbers. Omits snapshots past their
 * retention, even if they are not dropped yet. Returns none for another organization's server.
 */
export async function listAccountMetrics(
  dependencies: {
    readonly lists: SnapshotLists;
    readonly organizationOf: (serverId: string) => string | undefined;
    readonly clock: Clock;
  },
  query: ListAccountMetricsQuery & { readonly organizationId: string; readonly serverId: string },
): Promise<{ snapshots: AccountMetricSnapshot[] }> {
  const { organizationId, serverId, accountNumber, since, until, limit } = query;
  if (dependencies.organizationOf(serverId) !== organizationId) return { snapshots: [] };
  const firstKeptMs = dependencies.clock.nowMs() - KEPT_DAYS * DAY_MS;
  const snapshots = await dependencies.lists.list({
    organizationId,
    serverId,
    accountNumber: accountNumber ?? null,
    sinceMs: Math.max(firstKeptMs, since === undefined ? firstKeptMs : Date.parse(since)),
    untilMs: until === undefined ? null : Date.parse(until),
    limit,
  });
  return { snapshots };
}
