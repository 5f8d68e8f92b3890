/** The values of an account; money in minor units, `marginLevel` in percent. */
export interface Values {
  readonly balanceMinor: number;
  readonly equityMinor: number;
  readonly marginMinor: number;
  readonly freeMarginMinor: number;
  readonly marginLevel: number;
  readonly openPositionCount: number;
}

/** The values of an account with the time of their measurement. */
export interface MeasuredValues extends Values {
  /** As the trading server wrote it. */
  readonly measuredAt: string;
  readonly measuredAtMs: number;
}

/** A valuation and its position in `trading.valuations`. */
export interface ValuationRecord extends MeasuredValues {
  readonly offset: number;
}

/** Whether all values are equal. */
export function sameValues(left: Values, right: Values): boolean {
  return (
    left.equityMinor === right.equityMinor &&
    left.marginMinor === right.marginMinor &&
    left.freeMarginMinor === right.freeMarginMinor &&
    left.balanceMinor === right.balanceMinor &&
    left.marginLevel === right.marginLevel &&
    left.openPositionCount === right.openPositionCount
  );
}
