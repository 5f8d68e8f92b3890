import { assert } from "./assert.ts";

const MINOR_UNITS_PER_UNIT = 100;
/** Maximum distance from a whole cent, in units of currency (decisions, 6.1). */
const WHOLE_CENT_TOLERANCE = 1e-6;

/**
 * An amount of JSON (units of currency) as integer minor units, or null if it is not a whole number
 * of cents, or too large (decisions, 6.1). Both supported currencies, USD and NGN, have two
 * decimals. Amounts of callers are checked by {@link nearestDecimal} first.
 */
export function minorFromAmount(amount: number): number | null {
  const cents = Math.round(amount * MINOR_UNITS_PER_UNIT);
  if (!Number.isSafeInteger(cents)) return null;
  return Math.abs(amount - cents / MINOR_UNITS_PER_UNIT) <= WHOLE_CENT_TOLERANCE ? cents + 0 : null;
}

/**
 * Maximum relative error of a number that a caller computed: 4 to 8 units in the last place. The
 * error of 0.1 + 0.2 is one unit (decisions, 6.1).
 */
const FLOAT_ERROR_TOLERANCE = 4 * Number.EPSILON;

/**
 * The number with at most `decimals` decimals that a caller means by a JSON number, so that equal
 * amounts are equal numbers: 0.3 for 0.1 + 0.2. Null if `value` differs from this number by more
 * than a rounding error: 1.0000001 has seven decimals. Null also if `value` is too large.
 */
export function nearestDecimal(value: number, decimals: number): number | null {
  const unitsPerOne = 10 ** decimals;
  const units = Math.round(value * unitsPerOne);
  if (!Number.isSafeInteger(units)) return null;
  // The quotient of two exact integers is the number nearest to the decimal.
  const nearest = (units + 0) / unitsPerOne;
  return Math.abs(value - nearest) <= FLOAT_ERROR_TOLERANCE * Math.abs(nearest) ? nearest : null;
}

/** Integer minor units as an amount of JSON (units of currency, two decimals). */
export function amountFromMinor(amountMinor: number): number {
  assert(Number.isSafeInteger(amountMinor), `minor units must be a safe integer: ${amountMinor}`);
  return amountMinor / MINOR_UNITS_PER_UNIT;
}
