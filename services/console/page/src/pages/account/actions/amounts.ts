/** Amounts that people enter, in units of currency. Computed in minor units, so they are exact. */

const DECIMALS = 2;
const MINOR_UNITS = 10 ** DECIMALS;
/** A positive amount with at most two decimals; a comma as well as a point. */
const AMOUNT = /^(\d{1,12})(?:[.,](\d{1,2}))?$/;

/** The amount in minor units; null for a text that is no positive amount. */
export function minorUnits(text: string): number | null {
  const [, whole, fraction = ""] = AMOUNT.exec(text.trim()) ?? [];
  if (whole === undefined) return null;
  const minor = Number(whole) * MINOR_UNITS + Number(fraction.padEnd(DECIMALS, "0"));
  return minor > 0 ? minor : null;
}

/** Minor units as the API takes them. */
export function inUnits(minor: number): number {
  return minor / MINOR_UNITS;
}

/** A balance after a change of `minor`. */
export function balanceAfter(balance: number, minor: number): number {
  return inUnits(Math.round(balance * MINOR_UNITS) + minor);
}
