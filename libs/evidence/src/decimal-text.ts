import { assert } from "@kapi/kernel";

const MINOR_DIGITS = 2;
/** Maximum number of decimals, for a number that JavaScript shows with an exponent. */
const DECIMAL_PLACES = 20;

/** Integer minor units as decimal text with two decimals: -1250 is `-12.50`. */
export function moneyText(amountMinor: number): string {
  assert(Number.isSafeInteger(amountMinor), `minor units must be a safe integer: ${amountMinor}`);
  const digits = String(Math.abs(amountMinor)).padStart(MINOR_DIGITS + 1, "0");
  const units = digits.slice(0, -MINOR_DIGITS);
  return `${amountMinor < 0 ? "-" : ""}${units}.${digits.slice(-MINOR_DIGITS)}`;
}

/**
 * A price, a volume or a percentage as the shortest decimal text, without exponent, that is read as
 * the same number. `value` must be finite, below 1e21, and have at most 20 decimals.
 */
export function decimalText(value: number): string {
  assert(Number.isFinite(value), `a decimal number must be finite: ${value}`);
  const shortest = String(value);
  if (!shortest.includes("e")) return shortest;
  const fixed = value.toFixed(DECIMAL_PLACES).replace(/0+$/, "");
  assert(Number(fixed) === value, `${value} has more than ${DECIMAL_PLACES} decimals`);
  return fixed;
}
