/** The internal routes of the finance service, as gateway, export and account call them. */
import { FINANCE_ROUTES } from "@kapi/contracts";
import { ApiError, type FastifyInstance, serve } from "@kapi/http";

import type { DeletionBook } from "../../domain/transaction-reads.ts";
import {
  listTradingAccountTransactions,
  type TransactionSources,
} from "../../operations/list-trading-account-transactions.ts";
import { newestTransactions } from "../../operations/newest-transactions.ts";

export interface RouteNeeds extends TransactionSources {
  readonly deletions: DeletionBook;
}

/** Registers the routes. An account that was deleted is 404 to every read. */
export function registerRoutes(app: FastifyInstance, needs: RouteNeeds): void {
  serve(app, FINANCE_ROUTES.listTradingAccountTransactions, async ({ params, query }) =>
    found(await listTradingAccountTransactions(needs, params, query)),
  );
  serve(app, FINANCE_ROUTES.readHistory, async ({ params, query: { from = null, to = null, limit } }) => ({
    records: found(await newestTransactions(needs, params, { from, to }, limit)),
  }));
  serve(app, FINANCE_ROUTES.deleteAccount, async ({ params }) => {
    await needs.deletions.mark(params);
    return {};
  });
}

function found<T>(answer: T | null): T {
  if (answer === null) throw new ApiError("ACCOUNT_NOT_FOUND");
  return answer;
}
