import type { AccountMetricsFrame, Valuation } from "@kapi/contracts";
import { amountFromMinor } from "@kapi/kernel";

import type { Account, AccountValues } from "./account.ts";

/** The values of a live sample. Unrealized profit is equity minus balance, in whole cents. */
export function valuesFromSample(sample: AccountMetricsFrame): AccountValues {
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
 * The current values on the trading server. `metricsSequence` is the sequence of the last live
 * sample; 0 without a sample, or if the metrics service did not answer.
 */
export function valuesFromValuation(valuation: Valuation, metricsSequence: number): AccountValues {
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
 * The values of an account without a sample: the initial balance if the account was opened, else
 * zero.
 */
export function initialValues(account: Account): AccountValues {
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
