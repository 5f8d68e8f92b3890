import type { AccountMetricsFrame, TradingAccount } from "../api/shapes.ts";

const MINOR_UNITS_PER_UNIT = 100;

/**
 * An account with the values of its newest sample. The loaded values stay if there is no sample, or
 * if they are newer: after a change, the account service has new values before the stream.
 */
export function liveValues(account: TradingAccount, sample: AccountMetricsFrame | undefined): TradingAccount {
  if (sample === undefined) return account;
  const loadedAt = account.metricsMeasuredAt;
  if (loadedAt !== null && Date.parse(loadedAt) > Date.parse(sample.measuredAt)) return account;
  const { balance, equity, margin, freeMargin, marginLevel, openPositionCount, sequence, measuredAt } = sample;
  return {
    ...account,
    balance,
    equity,
    usedMargin: margin,
    freeMargin,
    marginLevel: margin === 0 ? null : marginLevel,
    unrealizedProfit: Math.round((equity - balance) * MINOR_UNITS_PER_UNIT) / MINOR_UNITS_PER_UNIT,
    openPositionCount,
    metricsSequence: sequence,
    metricsMeasuredAt: measuredAt,
  };
}
