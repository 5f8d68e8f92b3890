import { z } from "zod";

import { Minor } from "../values.ts";

/**
 * A record of `trading.valuations`: the values of an account at one moment, by its trading server.
 */
export const Valuation = z.object({
  serverId: z.guid(),
  accountNumber: z.string(),
  measuredAt: z.iso.datetime(),
  balanceMinor: Minor,
  equityMinor: Minor,
  marginMinor: Minor,
  freeMarginMinor: Minor,
  /** Percent with two decimals; 0 with no margin in use. */
  marginLevel: z.number(),
  unrealizedProfitMinor: Minor,
  openPositionCount: z.int().min(0),
  /**
   * Deposits minus withdrawals since the account was created, without the initial balance. Risk
   * rules do not count this money as profit or loss, so a payout is no loss. Optional: a bridge of
   * release 0.1.0 does not send this field.
   */
  netDepositsMinor: Minor.optional(),
});
export type Valuation = z.infer<typeof Valuation>;
