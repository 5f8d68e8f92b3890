/** The row of the operation table for daily digests (decisions, 21). */
import { DigestsAnswer, ListDigestsQuery } from "./http/digests.ts";

export const DIGEST_OPERATIONS = {
  listDailyDigests: {
    method: "GET",
    path: "/api/v1/management/servers/:serverId/digests",
    scope: "accounts:read",
    idempotencyKey: false,
    price: "read",
    success: [200],
    errors: [400, 401, 402, 403, 404, 409, 500],
    server: true,
    group: "History",
    summary: "The digests of all accounts of a server for one day that is over, by account number",
    query: ListDigestsQuery,
    answer: DigestsAnswer,
  },
} as const;
