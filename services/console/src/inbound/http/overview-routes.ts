import { ListNearLimitsQuery, ListRecentBreachesQuery } from "@kapi/contracts";
import { parse } from "@kapi/http";

import { listNearLimits, listRecentBreaches, type RiskListDependencies } from "../../operations/list-risks.ts";
import type { Overviews } from "../../operations/read-overview.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

/** The overview, and the lists of accounts near a limit and of breaches that it links to. */
export function registerOverviewRoutes(
  routes: SignedInRoutes,
  dependencies: RiskListDependencies & { readonly overviews: Overviews },
): void {
  routes.get("/overview", "read", ({ user }) => dependencies.overviews.read(user.organizationId));
  routes.get("/near-limits", "read", ({ user }, request) =>
    listNearLimits(dependencies, user.organizationId, parse(ListNearLimitsQuery, request.query)),
  );
  routes.get("/breaches", "read", ({ user }, request) =>
    listRecentBreaches(dependencies, user.organizationId, parse(ListRecentBreachesQuery, request.query)),
  );
}
