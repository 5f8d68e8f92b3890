/** The internal routes of the metrics service. */
import { z } from "zod";

import { AccountMetricsAnswer, ListAccountMetricsQuery } from "../http/account-metrics.ts";
import { AccountMetricsFrame } from "../live/frames.ts";
import { AccountNumber, Guid } from "../values.ts";
import type { InternalRoutes } from "./route.ts";

/** Maximum number of accounts per `readLatestSamples` request. */
export const MAX_SAMPLED_ACCOUNTS = 1_000;

const SERVER = "/internal/servers/:serverId";

export const METRICS_ROUTES = {
  listAccountMetrics: {
    method: "GET",
    path: `${SERVER}/account-metrics`,
    callers: ["gateway"],
    query: ListAccountMetricsQuery.extend({ organizationId: Guid }),
    answer: AccountMetricsAnswer,
  },
  deleteAccount: {
    method: "DELETE",
    path: `${SERVER}/accounts/:accountNumber`,
    callers: ["account"],
    answer: z.object({}),
  },
  readLatestSamples: {
    method: "POST",
    path: "/internal/samples/latest",
    callers: ["account", "console"],
    /** Accounts of one server, or of several servers. */
    body: z.union([
      z.object({ serverId: Guid, accountNumbers: z.array(AccountNumber).max(MAX_SAMPLED_ACCOUNTS) }),
      z.object({
        accounts: z.array(z.object({ serverId: Guid, accountNumber: AccountNumber })).max(MAX_SAMPLED_ACCOUNTS),
      }),
    ]),
    /** In the order of the request; null for an account without a sample. */
    answer: z.object({ samples: z.array(AccountMetricsFrame.nullable()) }),
  },
  /** The number of sockets that one process serves, and the bytes that it buffers for them. */
  readLiveLoad: {
    method: "GET",
    path: "/internal/live/load",
    callers: ["operator"],
    answer: z.object({
      sockets: z.number(),
      subscriptions: z.number(),
      stalled: z.number(),
      bufferedBytes: z.number(),
      mostBufferedBytes: z.number(),
    }),
  },
} as const satisfies InternalRoutes;
