import { EquityHistoryQuery } from "@kapi/contracts";
import { parse } from "@kapi/http";

import { type EquityHistoryDependencies, readEquityHistory } from "../../operations/read-equity-history.ts";
import { AccountPath } from "./server-routes.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

/** The equity of an account over time. */
export function registerEquityRoutes(routes: SignedInRoutes, dependencies: EquityHistoryDependencies): void {
  routes.get("/servers/:serverId/accounts/:accountNumber/equity-history", "read", ({ user }, request) => {
    const account = parse(AccountPath, request.params);
    const { range } = parse(EquityHistoryQuery, request.query);
    return readEquityHistory(dependencies, user.organizationId, account, range);
  });
}
