import { z } from "zod";

import { ExportRecord, MAX_EXPORT_RECORDS } from "../http/exports.ts";
import { DateTime, queryInteger } from "../values.ts";
import type { InternalRoute } from "./route.ts";

/**
 * The newest records of an account, for an export. Account and finance each serve their part of the
 * history.
 */
export const HISTORY_ROUTE = {
  method: "GET",
  path: "/internal/servers/:serverId/accounts/:accountNumber/history",
  callers: ["export"],
  query: z.object({
    from: DateTime.optional(),
    to: DateTime.optional(),
    // One record more than an export shows. This record shows whether more records match.
    limit: queryInteger(1, MAX_EXPORT_RECORDS + 1),
  }),
  answer: z.object({ records: z.array(ExportRecord) }),
} as const satisfies InternalRoute;
