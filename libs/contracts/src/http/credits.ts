import { z } from "zod";

import { CreatedBy } from "../actor.ts";
import { Prices } from "../prices.ts";
import { Guid } from "../values.ts";
import { checkedPageQuery, cursorFields, FilterText, Pagination, TIME_FIELDS } from "./pagination.ts";

/** An organization's wallet (interface, "Credit wallet"). All amounts in credits. */
export const Wallet = z.object({
  id: z.uuid(),
  organizationId: z.uuid(),
  availableCredits: z.int(),
  reservedCredits: z.int(),
  lifetimePurchased: z.int(),
  lifetimeConsumed: z.int(),
  lowBalanceThreshold: z.int(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  lowBalance: z.boolean(),
});
export type Wallet = z.infer<typeof Wallet>;

/** Answer of getCreditBalance. */
export const WalletAnswer = z.object({ wallet: Wallet });

/** Answer of getCreditPrices, in credits. */
export const CreditPricesAnswer = z.object({ prices: Prices });

/**
 * One usage line (decisions, 7.4): the credits that a request consumed, or reserved for its
 * command. Negative for refunded or released credits.
 */
export const CreditUsage = z.object({
  xRequestId: z.string().nullable(),
  operation: z.string(),
  credits: z.int(),
  commandId: z.uuid().nullable(),
  at: z.iso.datetime(),
  createdBy: CreatedBy,
});
export type CreditUsage = z.infer<typeof CreditUsage>;

/** Maximum length of `X-Request-Id`, in characters (decisions, 1.6). */
const X_REQUEST_ID_CHARACTERS = 200;

/** Query of listCreditUsage; `from` and `to` filter by `at`. */
export const ListCreditUsageQuery = checkedPageQuery(
  z.object({
    ...cursorFields("usage"),
    ...TIME_FIELDS,
    operation: FilterText.optional(),
    xRequestId: z.string().min(1).max(X_REQUEST_ID_CHARACTERS).optional(),
    commandId: Guid.optional(),
  }),
);
export type ListCreditUsageQuery = z.infer<typeof ListCreditUsageQuery>;

/** Answer of listCreditUsage. */
export const CreditUsageAnswer = z.object({ usage: z.array(CreditUsage), pagination: Pagination });
