/** Accounts near a loss limit, and breaches: of all servers of an organization, or of one. */
import type {
  ListNearLimitsQuery,
  ListRecentBreachesQuery,
  NearLimit,
  NearLimitsAnswer,
  RecentBreachesAnswer,
} from "@kapi/contracts";

import type { OverviewSources } from "../domain/overview-sources.ts";
import type { Directory } from "../domain/ports.ts";

/**
 * `directory` limits both lists to the servers of the organization: `sources` do not check that the
 * organization has the servers.
 */
export interface RiskListDependencies {
  readonly directory: Pick<Directory, "server" | "servers">;
  readonly sources: Pick<OverviewSources, "nearLimits" | "recentBreaches">;
}

/** A page of the accounts that are nearest to a loss limit, nearest first. */
export async function listNearLimits(
  { directory, sources }: RiskListDependencies,
  organizationId: string,
  { serverId, type, within, limit, cursor }: ListNearLimitsQuery,
): Promise<NearLimitsAnswer> {
  const serverIds = await ownServers(directory, organizationId, serverId);
  // One account more shows whether another page follows.
  const { limits, total } = await sources.nearLimits({
    serverIds,
    type: type ?? null,
    within: within ?? null,
    after: cursor ?? null,
    limit: limit + 1,
  });
  const shown = limits.slice(0, limit);
  const last = limits.length > limit ? shown.at(-1) : undefined;
  return { limits: shown, total, nextCursor: last === undefined ? null : cursorOf(last) };
}

/** A page of the breaches since `from`, newest first, and the number of all breaches since then. */
export async function listRecentBreaches(
  { directory, sources }: RiskListDependencies,
  organizationId: string,
  { serverId, from, limit, cursor }: ListRecentBreachesQuery,
): Promise<RecentBreachesAnswer> {
  const serverIds = await ownServers(directory, organizationId, serverId);
  const since = new Date(from).toISOString();
  const { total, breaches, next } = await sources.recentBreaches(serverIds, since, limit, cursor);
  return { total, breaches, nextCursor: next === null ? null : `${next.measuredAt}~${next.id}` };
}

/** The cursor of the page after the account `last`: see `LimitCursor`. */
function cursorOf({ leftPercent, serverId, accountNumber }: NearLimit): string {
  return `${leftPercent}~${serverId}~${accountNumber}`;
}

async function ownServers(
  directory: RiskListDependencies["directory"],
  organizationId: string,
  serverId: string | undefined,
): Promise<string[]> {
  if (serverId !== undefined) return [(await directory.server(organizationId, serverId)).serverId];
  return (await directory.servers(organizationId)).servers.map((server) => server.serverId);
}
