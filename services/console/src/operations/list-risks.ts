/** Near limits and breaches of all servers of an organization, or one. */
import type { ListNearLimitsQuery, NearLimit, NearLimitsAnswer, RecentBreachesAnswer } from "@kapi/contracts";

import type { OverviewSources } from "../domain/overview-sources.ts";
import type { Directory } from "../domain/ports.ts";

export interface RiskListDependencies {
  readonly directory: Pick<Directory, "server" | "servers">;
  readonly sources: Pick<OverviewSources, "nearLimits" | "recentBreaches">;
}

/** A page of the accounts whose limit of losses is nearest. */
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

/** The newest breaches since a time, and their number. */
export async function listRecentBreaches(
  { directory, sources }: RiskListDependencies,
  organizationId: string,
  { serverId, from, limit }: { readonly serverId?: string | undefined; readonly from: string; readonly limit: number },
): Promise<RecentBreachesAnswer> {
  const serverIds = await ownServers(directory, organizationId, serverId);
  return sources.recentBreaches(serverIds, new Date(from).toISOString(), limit);
}

/** The place of the last account of a page: see `LimitCursor`. */
function cursorOf({ leftPercent, serverId, accountNumber }: NearLimit): string {
  return `${leftPercent}~${serverId}~${accountNumber}`;
}

async function ownServers(
  directory: RiskListDependencies["directory"],
  organizationId: string,
  serverId: string | undefined,
): Promise<string[]> {
  if (serverId !== undefined) return [(await directory.server(organizationId, serverId)).serverId];
  return (await directory.servers(organizationId)).map((server) => server.serverId);
}
