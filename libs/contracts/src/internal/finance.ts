/** The internal routes of the finance service. */
import { z } from "zod";

import { AccountStateQuery } from "../http/account-state.ts";
import { ListTransactionsQuery, Transaction, TransactionsAnswer } from "../http/finance.ts";
import { Guid } from "../values.ts";
import { TRANSACTION_DIGESTS_ROUTE } from "./digests.ts";
import { HISTORY_ROUTE } from "./history.ts";
import { CUSTOMER_CALLERS, type InternalRoutes } from "./route.ts";

/** Maximum number of servers in a search. */
const MAX_SEARCHED_SERVERS = 1_000;
const ACCOUNT = "/internal/servers/:serverId/accounts/:accountNumber";

/** Reads of a deleted account return 404; `findTransaction` finds none of its transactions. */
export const FINANCE_ROUTES = {
  listTradingAccountTransactions: {
    method: "GET",
    path: `${ACCOUNT}/transactions`,
    callers: CUSTOMER_CALLERS,
    query: ListTransactionsQuery,
    answer: TransactionsAnswer,
  },
  /** A transaction on one of the servers, by its id alone; null: there is none. */
  findTransaction: {
    method: "POST",
    path: "/internal/transactions/find",
    callers: ["console"],
    body: z.object({ serverIds: z.array(Guid).max(MAX_SEARCHED_SERVERS), transactionId: Guid }),
    answer: z.object({ transaction: Transaction.extend({ serverId: z.guid() }).nullable() }),
  },
  readHistory: HISTORY_ROUTE,
  /**
   * The balance at a time, in units of currency; 0 for an account that the ledger has never seen.
   * Before the read, the account's events are booked up to the trading server's sequence. Returns
   * 500 if that is not possible within 2 s.
   */
  readBalance: {
    method: "GET",
    path: `${ACCOUNT}/balance`,
    callers: ["gateway"],
    query: AccountStateQuery,
    answer: z.object({ balance: z.number() }),
  },
  listTransactionDigests: TRANSACTION_DIGESTS_ROUTE,
  /**
   * Books the account's events up to the trading server's sequence. Returns 500 if that takes more
   * than 2 s.
   */
  catchUp: { method: "POST", path: `${ACCOUNT}/catch-up`, callers: ["account"], answer: z.object({}) },
  deleteAccount: { method: "DELETE", path: ACCOUNT, callers: ["account"], answer: z.object({}) },
} as const satisfies InternalRoutes;
