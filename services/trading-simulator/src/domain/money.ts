import { assert } from "@kapi/kernel";

const MINOR_UNITS_PER_UNIT = 100;
/**
 * Added before rounding. A half cent is often a little less as a binary fraction: 1.005 is
 * 1.00499…. With the tolerance it still rounds away from zero.
 */
const HALF_CENT_TOLERANCE = 1e-7;

/** An amount in units of currency as minor units, half a cent rounded away from zero. */
export function roundToMinor(amount: number): number {
  const minor = Math.sign(amount) * Math.floor(Math.abs(amount) * MINOR_UNITS_PER_UNIT + 0.5 + HALF_CENT_TOLERANCE);
  assert(Number.isSafeInteger(minor), "an amount of money is not a safe integer of minor units");
  return minor + 0;
}

/**
 * The part of `totalMinor` that belongs to `part` of `whole`, rounded. The caller subtracts the
 * result from the total, and `part` from `whole`, before the next call. So no cent appears or is
 * lost over any series of parts.
 */
export function shareOfMinor(totalMinor: number, part: number, whole: number): number {
  if (part === whole) return totalMinor;
  const share = (totalMinor * part) / whole;
  return Math.sign(share) * Math.round(Math.abs(share)) + 0;
}
