/** Amounts that people enter. Sums are computed in minor units, without rounding errors. */

const DECIMALS = 2;
const MINOR_UNITS = 10 ** DECIMALS;
/** An amount below 10^12 with at most two decimals, after a comma or a point. */
const AMOUNT = /^(\d{1,12})(?:[.,](\d{1,2}))?$/;

/** The amount of a text, in minor units; null if the text does not match `AMOUNT`, or is 0. */
export function minorUnits(text: string): number | null {
  const [, whole, fraction = ""] = AMOUNT.exec(text.trim()) ?? [];
  if (whole === undefined) return null;
  const minor = Number(whole) * MINOR_UNITS + Number(fraction.padEnd(DECIMALS, "0"));
  return minor > 0 ? minor : null;
}

/** The amount in units of currency, as the API takes it. */
export function inUnits(minor: number): number {
  return minor / MINOR_UNITS;
}

/** The balance after a change of `minor` minor units; both balances are in units of currency. */
export function balanceAfter(balance: number, minor: number): number {
  return inUnits(Math.round(balance * MINOR_UNITS) + minor);
}
