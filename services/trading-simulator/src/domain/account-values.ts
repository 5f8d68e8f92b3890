/**
 * Values of positions and accounts. Each amount of a position is rounded to minor units, so the
 * account's amounts are exact sums.
 */
import type { Valuation } from "@kapi/contracts";

import type { Account, Position } from "./account.ts";
import { roundToMinor } from "./money.ts";
import { closePriceOf, conversionRate, type Prices, type Side } from "./prices.ts";
import { lotsFromVolume, symbolSpec } from "./symbols.ts";

/**
 * Profit of `volume` (hundredths of a lot) from `openPrice` to `closePrice`, in minor units of
 * `currency`.
 */
export function profitMinor(
  prices: Prices,
  currency: Account["currency"],
  trade: { symbol: string; side: Side; volume: number; openPrice: number; closePrice: number },
): number {
  const spec = symbolSpec(trade.symbol);
  const perUnit = trade.side === "buy" ? trade.closePrice - trade.openPrice : trade.openPrice - trade.closePrice;
  const inQuoteCurrency = perUnit * spec.contractSize * lotsFromVolume(trade.volume);
  return roundToMinor(inQuoteCurrency * conversionRate(prices, spec.quoteCurrency, currency));
}

/**
 * Margin of `volume`, in minor units: value at the open price divided by the lower leverage of
 * account and symbol.
 */
export function marginMinor(
  prices: Prices,
  account: Pick<Account, "currency" | "leverage">,
  trade: { symbol: string; volume: number; openPrice: number },
): number {
  const spec = symbolSpec(trade.symbol);
  const value = trade.openPrice * spec.contractSize * lotsFromVolume(trade.volume);
  const leverage = Math.min(account.leverage, spec.maxLeverage);
  return roundToMinor((value / leverage) * conversionRate(prices, spec.quoteCurrency, account.currency));
}

/** Commission of one execution, in minor units; zero or negative. */
export function commissionMinor(
  prices: Prices,
  currency: Account["currency"],
  trade: { symbol: string; volume: number },
): number {
  const cost = symbolSpec(trade.symbol).commissionPerLotUsd * lotsFromVolume(trade.volume);
  return -roundToMinor(cost * conversionRate(prices, "USD", currency)) + 0;
}

/** Swap of one night, signed, in minor units. */
export function nightlySwapMinor(prices: Prices, currency: Account["currency"], position: Position): number {
  const spec = symbolSpec(position.symbol);
  const points = position.side === "buy" ? spec.swapLongPoints : spec.swapShortPoints;
  const inQuoteCurrency = points * 10 ** -spec.digits * spec.contractSize * lotsFromVolume(position.volume);
  return roundToMinor(inQuoteCurrency * conversionRate(prices, spec.quoteCurrency, currency));
}

/** Profit of closing now, without swap and commission. */
export function openProfitMinor(prices: Prices, account: Account, position: Position): number {
  const closePrice = closePriceOf(prices.quote(position.symbol), position.side);
  return profitMinor(prices, account.currency, { ...position, closePrice });
}

/**
 * Values of an account at one moment, in minor units. `marginLevel` in percent; 0: no margin in
 * use.
 */
export interface AccountValues {
  readonly balanceMinor: number;
  readonly equityMinor: number;
  readonly marginMinor: number;
  readonly freeMarginMinor: number;
  readonly marginLevel: number;
  /** Profit and booked swap of open positions. */
  readonly unrealizedProfitMinor: number;
  readonly openPositionCount: number;
}

/** Computes the values of an account at the given prices. */
export function valueAccount(prices: Prices, account: Account): AccountValues {
  let unrealizedProfitMinor = 0;
  let margin = 0;
  for (const position of account.positions.values()) {
    unrealizedProfitMinor += openProfitMinor(prices, account, position) + position.swapMinor;
    margin += marginMinor(prices, account, position);
  }
  const equityMinor = account.balanceMinor + unrealizedProfitMinor;
  return {
    balanceMinor: account.balanceMinor,
    equityMinor,
    marginMinor: margin,
    freeMarginMinor: equityMinor - margin,
    marginLevel: marginLevelOf(equityMinor, margin),
    unrealizedProfitMinor,
    openPositionCount: account.positions.size,
  };
}

/** Equity in percent of the used margin, two decimals; 0: no margin in use. */
export function marginLevelOf(equityMinor: number, margin: number): number {
  return margin === 0 ? 0 : Math.round((equityMinor / margin) * 10_000) / 100 + 0;
}

/** A record of `trading.valuations`. */
export function toValuation(account: Account, values: AccountValues, measuredAt: string): Valuation {
  return {
    serverId: account.serverId,
    accountNumber: account.accountNumber,
    measuredAt,
    balanceMinor: values.balanceMinor,
    equityMinor: values.equityMinor,
    marginMinor: values.marginMinor,
    freeMarginMinor: values.freeMarginMinor,
    marginLevel: values.marginLevel,
    unrealizedProfitMinor: values.unrealizedProfitMinor,
    openPositionCount: values.openPositionCount,
    netDepositsMinor: account.netDepositsMinor,
  };
}
