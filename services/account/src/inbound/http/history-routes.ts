/** The history of accounts: lists for the gateway, the newest records for the export service. */
import { ACCOUNT_ROUTES } from "@kapi/contracts";
import { ApiError, type FastifyInstance, serve } from "@kapi/http";

import type { FeedSource, HistoryReader } from "../../domain/history-ports.ts";
import { listTradingAccountDeals } from "../../operations/list-trading-account-deals.ts";
import { listTradingAccountOrders } from "../../operations/list-trading-account-orders.ts";
import { listTradingAccountPositions } from "../../operations/list-trading-account-positions.ts";
import { readAccountHistory } from "../../operations/read-account-history.ts";

export interface HistoryRouteSources {
  readonly reader: HistoryReader;
  readonly feed: FeedSource;
}

/** Registers the routes. All answer 404 where there is no such account, or it is deleted. */
export function registerHistoryRoutes(app: FastifyInstance, sources: HistoryRouteSources): void {
  serve(app, ACCOUNT_ROUTES.listTradingAccountOrders, async ({ params, query }) =>
    found(await listTradingAccountOrders(sources.reader, params, query)),
  );
  serve(app, ACCOUNT_ROUTES.listAccountPositions, async ({ params, query }) =>
    found(await listTradingAccountPositions(sources, params, query)),
  );
  serve(app, ACCOUNT_ROUTES.listAccountDeals, async ({ params, query }) =>
    found(await listTradingAccountDeals(sources.reader, params, query)),
  );
  serve(app, ACCOUNT_ROUTES.readHistory, async ({ params, query: { from = null, to = null, limit } }) =>
    found(await readAccountHistory(sources, params, { from, to, limit })),
  );
}

function found<T>(answer: T | null): T {
  if (answer === null) throw new ApiError("ACCOUNT_NOT_FOUND");
  return answer;
}
