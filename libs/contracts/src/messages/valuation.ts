import { z } from "zod";

import { Minor } from "../values.ts";

/** Largest difference between the clocks of a trading server and of kapi, in minutes. */
export const MAX_CLOCK_DIFFERENCE_MINUTES = 5;
/**
 * A valuation is measured too far ahead if its `measuredAt` is further ahead of the current time
 * than this. Risk rules use the time of the record instead of the current time.
 */
export const MAX_CLOCK_DIFFERENCE_MS = MAX_CLOCK_DIFFERENCE_MINUTES * 60_000;

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
