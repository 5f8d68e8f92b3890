import {
  cursorScope,
  ListAuditQuery,
  ListCommandsQuery,
  ListDealsQuery,
  ListOrdersQuery,
  ListPositionsQuery,
  listScope,
  ListTransactionsQuery,
} from "@kapi/contracts";
import { ApiError, parse } from "@kapi/http";
import type { z } from "zod";

import { RECORD_LISTS, type RecordList, type RecordQuery } from "../../domain/account-records.ts";
import { exportAccountRecords, type RecordExportDependencies } from "../../operations/export-account-records.ts";
import { listAccountAudit, listAccountCommands, readAccountRecords } from "../../operations/read-account-records.ts";
import { sendCsv } from "./csv-answer.ts";
import { AccountPath } from "./server-routes.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

const JSON_TYPE = "application/json; charset=utf-8";
const ACCOUNT = "/servers/:serverId/accounts/:accountNumber";

const QUERIES: Readonly<Record<RecordList, z.ZodType<RecordQuery>>> = {
  orders: ListOrdersQuery,
  positions: ListPositionsQuery,
  deals: ListDealsQuery,
  transactions: ListTransactionsQuery,
};
/** Fields of a query that choose a page: an export has all pages. */
type PageFields = "page" | "limit" | "cursor";

/**
 * Lists about one account. Orders, positions, deals, transactions and commands have the filters of
 * the management API, and are also offered as CSV. The audit log is only in pages.
 */
export function registerAccountRecordRoutes(routes: SignedInRoutes, dependencies: RecordExportDependencies): void {
  for (const list of RECORD_LISTS) {
    routes.get(`${ACCOUNT}/${list}`, "read", async ({ user }, request, reply) => {
      const account = parse(AccountPath, request.params);
      const query = parse(QUERIES[list], request.query);
      requireOwnCursor(query["cursor"], listScope({ ...account }));
      const asked = { list, query };
      return reply.type(JSON_TYPE).send(await readAccountRecords(dependencies, user.organizationId, account, asked));
    });
    routes.get(`${ACCOUNT}/${list}.csv`, "read", async ({ user }, request, reply) => {
      const account = parse(AccountPath, request.params);
      const query: RecordQuery = withoutPage(parse(QUERIES[list], request.query));
      const exported = await exportAccountRecords(dependencies, user.organizationId, account, { list, query });
      return sendCsv(reply, { name: list, ...exported });
    });
  }
  routes.get(`${ACCOUNT}/commands`, "read", async ({ user }, request, reply) => {
    const account = parse(AccountPath, request.params);
    const query = parse(ListCommandsQuery, request.query);
    requireOwnCursor(query.cursor, listScope({ serverId: account.serverId }));
    return reply.type(JSON_TYPE).send(await listAccountCommands(dependencies, user.organizationId, account, query));
  });
  routes.get(`${ACCOUNT}/commands.csv`, "read", async ({ user }, request, reply) => {
    const account = parse(AccountPath, request.params);
    const query = withoutPage(parse(ListCommandsQuery, request.query));
    const asked = { list: "commands", query } as const;
    const exported = await exportAccountRecords(dependencies, user.organizationId, account, asked);
    return sendCsv(reply, { name: "commands", ...exported });
  });
  routes.get(`${ACCOUNT}/audit`, "audit:read", ({ user }, request) => {
    const account = parse(AccountPath, request.params);
    return listAccountAudit(dependencies, user.organizationId, account, parse(ListAuditQuery, request.query));
  });
}

/**
 * Throws 400 for a cursor of another account or server than that of `scope`, see `listScope`. The
 * format of `cursor` was validated before.
 */
export function requireOwnCursor(cursor: unknown, scope: string): void {
  if (typeof cursor !== "string" || cursorScope(cursor) === scope) return;
  const message = "must be nextCursor of an earlier page of this list";
  throw new ApiError("VALIDATION_FAILED", { issues: [{ path: ["cursor"], code: "custom", message }] });
}

function withoutPage<Query extends Readonly<Record<string, unknown>>>(query: Query): Omit<Query, PageFields> {
  const { page: _page, limit: _limit, cursor: _cursor, ...filters } = query;
  return filters;
}
