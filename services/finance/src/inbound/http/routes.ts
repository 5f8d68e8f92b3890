/** The internal routes of the finance service, as gateway, export and account call them. */
import { AccountNumber, DateTime, Guid, MAX_EXPORT_RECORDS, PageQuery, queryInteger } from "@kapi/contracts";
import { ApiError, type FastifyInstance, parse } from "@kapi/http";
import { z } from "zod";

import type { DeletionBook } from "../../domain/transaction-reads.ts";
import {
  listTradingAccountTransactions,
  type TransactionSources,
} from "../../operations/list-trading-account-transactions.ts";
import { newestTransactions } from "../../operations/newest-transactions.ts";

const ACCOUNT = "/internal/servers/:serverId/accounts/:accountNumber";
const AccountPath = z.object({ serverId: Guid, accountNumber: AccountNumber });
/** One more than an export shows, which tells whether there are more. */
const HistoryQuery = z.object({
  from: DateTime.optional(),
  to: DateTime.optional(),
  limit: queryInteger(1, MAX_EXPORT_RECORDS + 1),
});

export interface RouteNeeds extends TransactionSources {
  readonly deletions: DeletionBook;
}

/** Registers the routes; all of them are below /internal. An account that was deleted is 404 to every read. */
export function registerRoutes(app: FastifyInstance, needs: RouteNeeds): void {
  app.get(`${ACCOUNT}/transactions`, async (request) => {
    const account = parse(AccountPath, request.params);
    const answer = await listTradingAccountTransactions(needs, account, parse(PageQuery, request.query));
    if (answer === null) throw new ApiError("ACCOUNT_NOT_FOUND");
    return answer;
  });
  app.get(`${ACCOUNT}/history`, async (request) => {
    const account = parse(AccountPath, request.params);
    const { from = null, to = null, limit } = parse(HistoryQuery, request.query);
    const records = await newestTransactions(needs, account, { from, to }, limit);
    if (records === null) throw new ApiError("ACCOUNT_NOT_FOUND");
    return { records };
  });
  app.delete(ACCOUNT, async (request) => {
    await needs.deletions.mark(parse(AccountPath, request.params));
    return {};
  });
}
