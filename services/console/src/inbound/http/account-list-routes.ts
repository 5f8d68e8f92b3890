import { ExportConsoleAccountsQuery, ListConsoleAccountsQuery, listScope } from "@kapi/contracts";
import { parse } from "@kapi/http";

import { exportAccounts } from "../../operations/export-accounts.ts";
import { type AccountListDependencies, listAccounts } from "../../operations/list-accounts.ts";
import { requireOwnCursor } from "./account-record-routes.ts";
import { sendCsv } from "./csv-answer.ts";
import { ServerPath } from "./server-routes.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

/** The accounts of a server, sorted and filtered, and as CSV. */
export function registerAccountListRoutes(routes: SignedInRoutes, dependencies: AccountListDependencies): void {
  routes.get("/servers/:serverId/accounts", "read", ({ user }, request) => {
    const { serverId } = parse(ServerPath, request.params);
    const query = parse(ListConsoleAccountsQuery, request.query);
    requireOwnCursor(query.cursor, listScope({ serverId }));
    return listAccounts(dependencies, user.organizationId, serverId, query);
  });
  routes.get("/servers/:serverId/accounts.csv", "read", async ({ user }, request, reply) => {
    const { serverId } = parse(ServerPath, request.params);
    const query = parse(ExportConsoleAccountsQuery, request.query);
    const { total, chunks } = await exportAccounts(dependencies, user.organizationId, serverId, query);
    return sendCsv(reply, { name: "accounts", total, chunks });
  });
}
