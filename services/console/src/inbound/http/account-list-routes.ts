import { ExportConsoleAccountsQuery, listScope, cursorScope, ListConsoleAccountsQuery } from "@kapi/contracts";
import { ApiError, parse } from "@kapi/http";

import { exportAccounts } from "../../operations/export-accounts.ts";
import { type AccountListDependencies, listAccounts } from "../../operations/list-accounts.ts";
import { sendCsv } from "./csv-answer.ts";
import { ServerPath } from "./server-routes.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

/** The accounts of a server, sorted and filtered, and as CSV. */
export function registerAccountListRoutes(routes: SignedInRoutes, dependencies: AccountListDependencies): void {
  routes.get("/servers/:serverId/accounts", "read", ({ user }, request) => {
    const { serverId } = parse(ServerPath, request.params);
    const query = parse(ListConsoleAccountsQuery, request.query);
    // The cursor is known to decode.
    if (query.cursor !== undefined && cursorScope(query.cursor) !== listScope({ serverId })) {
      const message = "must be nextCursor of an earlier page of this list";
      throw new ApiError("VALIDATION_FAILED", { issues: [{ path: ["cursor"], code: "custom", message }] });
    }
    return listAccounts(dependencies, user.organizationId, serverId, query);
  });
  routes.get("/servers/:serverId/accounts.csv", "read", async ({ user }, request, reply) => {
    const { serverId } = parse(ServerPath, request.params);
    const query = parse(ExportConsoleAccountsQuery, request.query);
    const { total, chunks } = await exportAccounts(dependencies, user.organizationId, serverId, query);
    return sendCsv(reply, { name: "accounts", total, chunks });
  });
}
