/** The history of accounts: lists for the gateway, the newest records for the export service. */
import {
  AccountNumber,
  DateTime,
  Guid,
  ListPositionsQuery,
  MAX_EXPORT_RECORDS,
  PageQuery,
  queryInteger,
} from "@kapi/contracts";
import { ApiError, type FastifyInstance, parse } from "@kapi/http";
import { z } from "zod";

import type { FeedSource, HistoryReader } from "../../domain/history-ports.ts";
import { listTradingAccountDeals } from "../../operations/list-trading-account-deals.ts";
import { listTradingAccountOrders } from "../../operations/list-trading-account-orders.ts";
import { listTradingAccountPositions } from "../../operations/list-trading-account-positions.ts";
import { readAccountHistory } from "../../operations/read-account-history.ts";

const ACCOUNT = "/internal/servers/:serverId/accounts/:accountNumber";
const AccountPath = z.object({ serverId: Guid, accountNumber: AccountNumber });
/** One more than an export holds, so that it can tell whether there are more. */
const HistoryQuery = z.object({
  from: DateTime.optional(),
  to: DateTime.optional(),
  limit: queryInteger(1, MAX_EXPORT_RECORDS + 1),
});

export interface HistoryRouteSources {
  readonly reader: HistoryReader;
  readonly feed: FeedSource;
}

/** Registers the routes. All answer 404 where there is no such account, or it is deleted. */
export function registerHistoryRoutes(app: FastifyInstance, sources: HistoryRouteSources): void {
  app.get(`${ACCOUNT}/orders`, async ({ params, query }) =>
    found(await listTradingAccountOrders(sources.reader, parse(AccountPath, params), parse(PageQuery, query))),
  );
  app.get(`${ACCOUNT}/positions`, async ({ params, query }) =>
    found(await listTradingAccountPositions(sources, parse(AccountPath, params), parse(ListPositionsQuery, query))),
  );
  app.get(`${ACCOUNT}/deals`, async ({ params, query }) =>
    found(await listTradingAccountDeals(sources.reader, parse(AccountPath, params), parse(PageQuery, query))),
  );
  app.get(`${ACCOUNT}/history`, async ({ params, query }) => {
    const { from = null, to = null, limit } = parse(HistoryQuery, query);
    return found(await readAccountHistory(sources, parse(AccountPath, params), { from, to, limit }));
  });
}

function found<T>(answer: T | null): T {
  if (answer === null) throw new ApiError("ACCOUNT_NOT_FOUND");
  return answer;
}
