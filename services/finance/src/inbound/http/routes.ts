/** Internal routes for gateway, console, export and account. */
import { FINANCE_ROUTES } from "@kapi/contracts";
import { ApiError, type FastifyInstance, serve } from "@kapi/http";

import type { DigestReader } from "../../domain/digest-reads.ts";
import type { DeletionMarks } from "../../domain/transaction-reads.ts";
import { listTransactionDigests } from "../../operations/list-transaction-digests.ts";
import {
  listTradingAccountTransactions,
  type TransactionDependencies,
} from "../../operations/list-trading-account-transactions.ts";
import { newestTransactions } from "../../operations/newest-transactions.ts";
import { readBalance } from "../../operations/read-balance.ts";

interface RouteDependencies extends TransactionDependencies {
  readonly deletions: DeletionMarks;
  readonly digests: DigestReader;
}

/**
 * Registers the routes. A read of a deleted account is 404, and `findTransaction` finds none of the
 * account's transactions. `listTransactionDigests` still lists the account's digests.
 */
export function registerTransactionRoutes(app: FastifyInstance, dependencies: RouteDependencies): void {
  serve(app, FINANCE_ROUTES.listTradingAccountTransactions, async ({ params, query }) =>
    found(await listTradingAccountTransactions(dependencies, params, query)),
  );
  serve(app, FINANCE_ROUTES.findTransaction, async ({ body: { serverIds, transactionId } }) => ({
    transaction: await dependencies.reader.find(serverIds, transactionId),
  }));
  serve(app, FINANCE_ROUTES.readHistory, async ({ params, query: { from = null, to = null, limit } }) => ({
    records: found(await newestTransactions(dependencies, params, { from, to }, limit)),
  }));
  serve(app, FINANCE_ROUTES.readBalance, async ({ params, query: { at } }) =>
    found(await readBalance(dependencies, params, at)),
  );
  serve(app, FINANCE_ROUTES.listTransactionDigests, ({ params, query }) =>
    listTransactionDigests(dependencies.digests, params.serverId, query),
  );
  serve(app, FINANCE_ROUTES.catchUp, async ({ params }) => {
    await dependencies.catchUp(params);
    return {};
  });
  serve(app, FINANCE_ROUTES.deleteAccount, async ({ params }) => {
    await dependencies.deletions.mark(params);
    return {};
  });
}

function found<T>(answer: T | null): T {
  if (answer === null) throw new ApiError("ACCOUNT_NOT_FOUND");
  return answer;
}
