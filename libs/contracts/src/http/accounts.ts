import { z } from "zod";

import { minorFromAmount, nearestDecimal } from "@kapi/kernel";

import { Currency, RequestId } from "../values.ts";
import { cursorOf } from "./cursor.ts";
import { checkedPageQuery, Limit, Page, Pagination } from "./pagination.ts";
import { Leverage, ServerEnvironment } from "./servers.ts";

/** Maximum amount of money of a request, in units of currency (interface, "Limits"). */
export const MAX_AMOUNT = 1_000_000_000;

const TWO_DECIMALS = 2;

/**
 * An amount of money of a request, in units of the currency (dollars, not cents) with at most two
 * decimals. An error of binary fractions is removed: 0.1 + 0.2 becomes 0.3. So equal amounts have
 * equal payloads and fingerprints (decisions, 6.1).
 */
export const Amount = z
  .number()
  .max(MAX_AMOUNT)
  .refine((amount) => nearestDecimal(amount, TWO_DECIMALS) !== null, { error: "must have at most two decimals" })
  .overwrite((amount) => nearestDecimal(amount, TWO_DECIMALS) ?? amount);

/**
 * An amount of money in a command message. It may differ from whole cents by at most 1e-6 units of
 * currency: release 0.1.0 accepted such amounts, and its commands are executed.
 */
export const PayloadAmount = z
  .number()
  .min(0)
  .max(MAX_AMOUNT)
  .refine((amount) => minorFromAmount(amount) !== null, { error: "must be whole cents" });

export const Password = z.string().min(8).max(128);
export const AccountName = z.string().min(1).max(100);

/** Body of createTradingAccount (interface, "Create account"). */
export const CreateTradingAccountBody = z.object({
  accountName: AccountName,
  password: Password.optional(),
  initialBalance: Amount.min(0),
  leverage: Leverage,
  requestId: RequestId,
});
export type CreateTradingAccountBody = z.infer<typeof CreateTradingAccountBody>;

/** Maximum number of accounts per bulk request (interface, "Limits"). */
export const MAX_BULK_ITEMS = 100;

/** Body of bulkCreateTradingAccounts (interface, "Bulk create"). */
export const BulkCreateTradingAccountsBody = z.object({
  accounts: z.array(CreateTradingAccountBody).min(1).max(MAX_BULK_ITEMS),
});
export type BulkCreateTradingAccountsBody = z.infer<typeof BulkCreateTradingAccountsBody>;

/** Body of updateTradingAccount (decisions, 4.6). */
export const UpdateTradingAccountBody = z
  .object({ accountName: AccountName.optional(), leverage: Leverage.optional(), requestId: RequestId })
  .refine(({ accountName, leverage }) => accountName !== undefined || leverage !== undefined, {
    path: ["accountName"],
    error: "accountName, leverage or both must be given",
  });
export type UpdateTradingAccountBody = z.infer<typeof UpdateTradingAccountBody>;

/**
 * Body of the operations that need only a request id
 * (interface, "Disable / Archive"; decisions, 4.7).
 */
export const RequestBody = z.object({ requestId: RequestId });
export type RequestBody = z.infer<typeof RequestBody>;

/**
 * Body of disableAccount. With `flatten` all positions are closed and all pending orders are
 * cancelled too (decisions, 15.8).
 */
export const DisableAccountBody = RequestBody.extend({ flatten: z.boolean().optional() });
export type DisableAccountBody = z.infer<typeof DisableAccountBody>;

/** Body of resetTradingPassword and resetInvestorPassword. */
export const ResetPasswordBody = z.object({ password: Password.optional(), requestId: RequestId });
export type ResetPasswordBody = z.infer<typeof ResetPasswordBody>;

/** States of a trading account (decisions, 4.3). */
export const ACCOUNT_STATUSES = [
  "pending",
  "active",
  "failed",
  "close_only",
  "disabled",
  "archived",
  "deleting",
] as const;
export const AccountStatus = z.enum(ACCOUNT_STATUSES);
export type AccountStatus = z.infer<typeof AccountStatus>;

/**
 * Query of listTradingAccounts (decisions, 4.5); without `page`, `limit` and `cursor`, every
 * account that matches `status` and `search` is streamed.
 */
export const ListTradingAccountsQuery = checkedPageQuery(
  z.object({
    page: Page.optional(),
    limit: Limit.optional(),
    status: AccountStatus.optional(),
    search: z.string().min(1).max(100).optional(),
    cursor: cursorOf("accounts").optional(),
  }),
);
export type ListTradingAccountsQuery = z.infer<typeof ListTradingAccountsQuery>;

/** Whether the query asks for one page, and not for every account that matches (decisions, 4.5). */
export function isPaged({ page, limit, cursor }: ListTradingAccountsQuery): boolean {
  return page !== undefined || limit !== undefined || cursor !== undefined;
}

const NullableDateTime = z.iso.datetime().nullable();

/** A trading account as the API shows it (decisions, 4.1). Money in units of currency. */
export const TradingAccount = z.object({
  id: z.uuid(),
  organizationId: z.uuid(),
  serverId: z.guid(),
  accountNumber: z.string(),
  accountName: z.string(),
  status: AccountStatus,
  statusReason: z.string().nullable(),
  environment: ServerEnvironment,
  currency: Currency,
  currencySymbol: z.string(),
  leverage: z.int(),
  initialBalance: z.number(),
  balance: z.number(),
  equity: z.number(),
  usedMargin: z.number(),
  freeMargin: z.number(),
  /** Percent; null with no margin in use. */
  marginLevel: z.number().nullable(),
  unrealizedProfit: z.number(),
  openPositionCount: z.int(),
  metricsSequence: z.int(),
  metricsMeasuredAt: NullableDateTime,
  version: z.int(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  activatedAt: NullableDateTime,
  disabledAt: NullableDateTime,
  archivedAt: NullableDateTime,
});
export type TradingAccount = z.infer<typeof TradingAccount>;

/** Access data shown with the details of an account; never a password (decisions, 4.4). */
export const AccountCredentials = z.object({
  login: z.string(),
  serverId: z.guid(),
  serverName: z.string(),
  tradingPasswordSet: z.boolean(),
  investorPasswordSet: z.boolean(),
  tradingPasswordChangedAt: NullableDateTime,
  investorPasswordChangedAt: NullableDateTime,
});
export type AccountCredentials = z.infer<typeof AccountCredentials>;

/** Answer of listTradingAccounts; it has `pagination` only for a page. */
export const TradingAccountsAnswer = z.object({
  accounts: z.array(TradingAccount),
  pagination: Pagination.optional(),
});

/** Answer of getTradingAccount. */
export const AccountDetailsAnswer = z.object({ account: TradingAccount, credentials: AccountCredentials });

/** Answer of deleteTradingAccountImmediately. */
export const DeletedAccountAnswer = z.object({ accountNumber: z.string(), deleted: z.literal(true) });
