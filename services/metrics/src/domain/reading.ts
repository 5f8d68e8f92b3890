/** What an account is worth, without when and where it was measured; money in minor units. */
export interface Values {
  readonly balanceMinor: number;
  readonly equityMinor: number;
  readonly marginMinor: number;
  readonly freeMarginMinor: number;
  readonly marginLevel: number;
  readonly openPositionCount: number;
}

/** What an account is worth, and when that was measured. */
export interface MeasuredValues extends Values {
  /** As the trading server wrote it. */
  readonly measuredAt: string;
  readonly measuredAtMs: number;
}

/** A valuation and its place in `trading.valuations`. */
export interface Reading extends MeasuredValues {
  readonly offset: number;
}

/** Whether the two say the same about the account. */
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
