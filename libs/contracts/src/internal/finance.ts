/** The internal routes of the finance service. */
import { z } from "zod";

import { ExportRecord, MAX_EXPORT_RECORDS } from "../http/exports.ts";
import { TransactionsAnswer } from "../http/finance.ts";
import { PageQuery } from "../http/pagination.ts";
import { DateTime, queryInteger } from "../values.ts";
import type { InternalRoutes } from "./route.ts";

const ACCOUNT = "/internal/servers/:serverId/accounts/:accountNumber";

/** The newest records of an account for an export, at each owner of history. */
export const HISTORY_ROUTE = {
  method: "GET",
  path: `${ACCOUNT}/history`,
  callers: ["export"],
  query: z.object({
    from: DateTime.optional(),
    to: DateTime.optional(),
    // One more than an export shows, which tells whether there are more.
    limit: queryInteger(1, MAX_EXPORT_RECORDS + 1),
  }),
  answer: z.object({ records: z.array(ExportRecord) }),
} as const;

/** An account that was deleted is 404 to every read. */
export const FINANCE_ROUTES = {
  listTradingAccountTransactions: {
    method: "GET",
    path: `${ACCOUNT}/transactions`,
    callers: ["gateway"],
    query: PageQuery,
    answer: TransactionsAnswer,
  },
  readHistory: HISTORY_ROUTE,
  deleteAccount: { method: "DELETE", path: ACCOUNT, callers: ["account"], answer: z.object({}) },
} as const satisfies InternalRoutes;
