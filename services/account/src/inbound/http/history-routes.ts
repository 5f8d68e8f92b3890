/**
 * Reads of the history of accounts: lists, newest records for exports, positions that were open at
 * a time, and digests of deals.
 */
import { ACCOUNT_ROUTES } from "@kapi/contracts";
import { ApiError, type FastifyInstance, serve } from "@kapi/http";

import type { DealDigestReader } from "../../domain/digest-reads.ts";
import type { FeedSource, HistoryReader } from "../../domain/history-ports.ts";
import { listTradingAccountDeals } from "../../operations/list-trading-account-deals.ts";
import { listTradingAccountOrders } from "../../operations/list-trading-account-orders.ts";
import { listTradingAccountPositions } from "../../operations/list-trading-account-positions.ts";
import { readAccountHistory } from "../../operations/read-account-history.ts";
import { readOpenPositions } from "../../operations/read-open-positions.ts";
import { readDealDigests } from "../../operations/read-deal-digests.ts";

interface HistoryRouteDependencies {
  readonly reader: HistoryReader;
  readonly feed: FeedSource;
  readonly digests: DealDigestReader;
}

/**
 * Registers the reads of the history. All routes of one account return 404 for an unknown, deleting
 * or deleted account.
 */
export function registerHistoryRoutes(app: FastifyInstance, dependencies: HistoryRouteDependencies): void {
  serve(app, ACCOUNT_ROUTES.listTradingAccountOrders, async ({ params, query }) =>
    found(await listTradingAccountOrders(dependencies.reader, params, query)),
  );
  serve(app, ACCOUNT_ROUTES.listAccountPositions, async ({ params, query }) =>
    found(await listTradingAccountPositions(dependencies, params, query)),
  );
  serve(app, ACCOUNT_ROUTES.listAccountDeals, async ({ params, query }) =>
    found(await listTradingAccountDeals(dependencies.reader, params, query)),
  );
  serve(app, ACCOUNT_ROUTES.readHistory, async ({ params, query: { from = null, to = null, limit } }) =>
    found(await readAccountHistory(dependencies, params, { from, to, limit })),
  );
  serve(app, ACCOUNT_ROUTES.readOpenPositions, async ({ params, query: { at } }) =>
    found(await readOpenPositions(dependencies, params, at)),
  );
  serve(app, ACCOUNT_ROUTES.readDealDigests, ({ params, body }) =>
    readDealDigests(dependencies.digests, params.serverId, body),
  );
}

function found<T>(answer: T | null): T {
  if (answer === null) throw new ApiError("ACCOUNT_NOT_FOUND");
  return answer;
}
