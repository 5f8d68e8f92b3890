import { z } from "zod";

import { CreatedBy } from "../actor.ts";
import { Currency, Guid, RequestId } from "../values.ts";
import { Amount } from "./accounts.ts";
import { checkedPageQuery, cursorFields, FilterText, Pagination, TIME_FIELDS } from "./pagination.ts";

/** Body of depositAccountFunds and withdrawAccountFunds (interface, "Deposit / Withdraw"). */
export const FundsBody = z.object({
  amount: Amount.positive(),
  description: z.string().max(250).optional(),
  requestId: RequestId,
});
export type FundsBody = z.infer<typeof FundsBody>;

export const TRANSACTION_TYPES = [
  "initial_balance",
  "deposit",
  "withdrawal",
  "realized_pnl",
  "commission",
  "swap",
  "adjustment",
  "reversal",
] as const;
export const TransactionType = z.enum(TRANSACTION_TYPES);
export type TransactionType = z.infer<typeof TransactionType>;

/**
 * One row of an account's ledger as the API shows it (decisions, 6.2). Amounts in units of
 * currency, signed.
 */
export const Transaction = z.object({
  id: z.uuid(),
  accountNumber: z.string(),
  sequence: z.int().min(1),
  type: TransactionType,
  amount: z.number(),
  currency: Currency,
  balanceBefore: z.number(),
  balanceAfter: z.number(),
  description: z.string().nullable(),
  requestId: z.string().nullable(),
  commandId: z.uuid().nullable(),
  orderId: z.string().nullable(),
  positionId: z.string().nullable(),
  dealId: z.string().nullable(),
  reversalOf: z.uuid().nullable(),
  createdBy: CreatedBy,
  recordedAt: z.iso.datetime(),
  createdAt: z.iso.datetime(),
});
export type Transaction = z.infer<typeof Transaction>;

/** Query of listTradingAccountTransactions; `from` and `to` filter by `recordedAt`. */
export const ListTransactionsQuery = checkedPageQuery(
  z.object({
    ...cursorFields("transactions"),
    ...TIME_FIELDS,
    type: TransactionType.optional(),
    orderId: FilterText.optional(),
    positionId: FilterText.optional(),
    dealId: FilterText.optional(),
    commandId: Guid.optional(),
    requestId: FilterText.optional(),
  }),
);
export type ListTransactionsQuery = z.infer<typeof ListTransactionsQuery>;

/** Answer of listTradingAccountTransactions. */
export const TransactionsAnswer = z.object({ transactions: z.array(Transaction), pagination: Pagination });
