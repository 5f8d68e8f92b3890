import { z } from "zod";

import { CreatedBy } from "../actor.ts";
import { Prices } from "../prices.ts";
import { DateTime } from "../values.ts";
import { cursorOf } from "./cursor.ts";
import { isPeriod, PageQuery, Pagination, PERIOD_ISSUE } from "./pagination.ts";

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

/** Query of listCreditUsage; the period is that of `at`, `to` is exclusive. */
export const ListUsageQuery = PageQuery.extend({
  cursor: cursorOf("usage").optional(),
  from: DateTime.optional(),
  to: DateTime.optional(),
}).refine(isPeriod, PERIOD_ISSUE);
export type ListUsageQuery = z.infer<typeof ListUsageQuery>;

/** Answer of listCreditUsage. */
export const CreditUsageAnswer = z.object({ usage: z.array(CreditUsage), pagination: Pagination });
