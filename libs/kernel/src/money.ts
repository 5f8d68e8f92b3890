import { assert } from "./assert.ts";

const MINOR_UNITS_PER_UNIT = 100;
/** Maximum distance from a whole cent, in units of currency (decisions, 6.1). */
const WHOLE_CENT_TOLERANCE = 1e-6;

/**
 * An amount of JSON (units of currency) as integer minor units, or null if it is not a whole number
 * of cents (decisions, 6.1). Both supported currencies, USD and NGN, have two decimals.
 */
export function minorFromAmount(amount: number): number | null {
  const cents = Math.round(amount * MINOR_UNITS_PER_UNIT);
  if (!Number.isSafeInteger(cents)) return null;
  return Math.abs(amount - cents / MINOR_UNITS_PER_UNIT) <= WHOLE_CENT_TOLERANCE ? cents + 0 : null;
}

/** Integer minor units as an amount of JSON (units of currency, two decimals). */
export function amountFromMinor(amountMinor: number): number {
  assert(Number.isSafeInteger(amountMinor), "minor units are a safe integer");
  return amountMinor / MINOR_UNITS_PER_UNIT;
}
