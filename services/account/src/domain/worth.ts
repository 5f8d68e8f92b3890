import type { AccountMetricsFrame, Valuation } from "@kapi/contracts";
import { amountFromMinor } from "@kapi/kernel";

import type { Account, AccountWorth } from "./account.ts";

/** The worth in a live sample; unrealized profit is equity less balance, in whole cents. */
export function worthFromSample(sample: AccountMetricsFrame): AccountWorth {
  return {
    balance: sample.balance,
    equity: sample.equity,
    usedMargin: sample.margin,
    freeMargin: sample.freeMargin,
    marginLevel: sample.margin === 0 ? null : sample.marginLevel,
    unrealizedProfit: Math.round((sample.equity - sample.balance) * 100) / 100,
    openPositionCount: sample.openPositionCount,
    metricsSequence: sample.sequence,
    metricsMeasuredAt: sample.measuredAt,
  };
}

/**
 * The worth that the trading server reckons at this moment; `metricsSequence` is that of the last
 * sample, if any.
 */
export function worthFromValuation(valuation: Valuation, metricsSequence: number): AccountWorth {
  return {
    balance: amountFromMinor(valuation.balanceMinor),
    equity: amountFromMinor(valuation.equityMinor),
    usedMargin: amountFromMinor(valuation.marginMinor),
    freeMargin: amountFromMinor(valuation.freeMarginMinor),
    marginLevel: valuation.marginMinor === 0 ? null : valuation.marginLevel,
    unrealizedProfit: amountFromMinor(valuation.unrealizedProfitMinor),
    openPositionCount: valuation.openPositionCount,
    metricsSequence,
    metricsMeasuredAt: valuation.measuredAt,
  };
}

/**
 * The worth of an account that was never valued: its initial balance once it is open, nothing
 * before.
 */
export function worthBeforeFirstSample(account: Account): AccountWorth {
  const opened = account.activatedAt === null ? 0 : amountFromMinor(account.initialBalanceMinor);
  return {
    balance: opened,
    equity: opened,
    usedMargin: 0,
    freeMargin: opened,
    marginLevel: null,
    unrealizedProfit: 0,
    openPositionCount: 0,
    metricsSequence: 0,
    metricsMeasuredAt: null,
  };
}
