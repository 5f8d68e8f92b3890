/** The internal routes of the finance service. */
import { z } from "zod";

import { AccountStateQuery } from "../http/account-state.ts";
import { ListTransactionsQuery, TransactionsAnswer } from "../http/finance.ts";
import { TRANSACTION_DIGESTS_ROUTE } from "./digests.ts";
import { HISTORY_ROUTE } from "./history.ts";
import type { InternalRoutes } from "./route.ts";

const ACCOUNT = "/internal/servers/:serverId/accounts/:accountNumber";

/** Reads of a deleted account return 404. */
export const FINANCE_ROUTES = {
  listTradingAccountTransactions: {
    method: "GET",
    path: `${ACCOUNT}/transactions`,
    callers: ["gateway"],
    query: ListTransactionsQuery,
    answer: TransactionsAnswer,
  },
  readHistory: HISTORY_ROUTE,
  /**
   * The balance at a time, in units of currency; 0 for an account that the ledger has never seen.
   * Before the read, the account's events are booked up to the trading server's sequence. Returns
   * 500 if that takes more than 2 s.
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
