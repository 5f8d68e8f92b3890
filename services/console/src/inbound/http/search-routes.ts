import { SearchQuery } from "@kapi/contracts";
import { addressOf, parse } from "@kapi/http";

import { search, type SearchDependencies } from "../../operations/search.ts";
import { callerOf } from "../../operations/use-session.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

/** The global search. */
export function registerSearchRoutes(routes: SignedInRoutes, dependencies: SearchDependencies): void {
  routes.get("/search", "read", (signedIn, request) => {
    const { q } = parse(SearchQuery, request.query);
    const { organizationId } = signedIn.user;
    return search(dependencies, { organizationId, caller: callerOf(signedIn, addressOf(request)) }, q);
  });
}
