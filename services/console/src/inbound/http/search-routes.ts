import { SearchQuery } from "@kapi/contracts";
import { parse } from "@kapi/http";

import { search, type SearchDependencies } from "../../operations/search.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

/** The global search. */
export function registerSearchRoutes(routes: SignedInRoutes, dependencies: SearchDependencies): void {
  routes.get("/search", "read", ({ user }, request) => {
    const { q } = parse(SearchQuery, request.query);
    return search(dependencies, user.organizationId, q);
  });
}
