/** Exact arithmetic on money, with integers instead of binary fractions. */

const DECIMALS = 4;
const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/;

/**
 * An amount as an integer in units of 10^-decimals. An amount of the type number is rounded. A text
 * is exact: null if it is not a decimal number, or has more than `decimals` decimals.
 */
function unitsOf(amount: number | string, decimals: number): bigint | null {
  const text = typeof amount === "number" ? amount.toFixed(decimals) : amount;
  const [, sign = "", whole, fraction = ""] = DECIMAL.exec(text) ?? [];
  if (whole === undefined || fraction.length > decimals) return null;
  return BigInt(sign + whole + fraction.padEnd(decimals, "0"));
}

/** `left` − `right`, exactly, with the two decimals of money. */
export function difference(left: number, right: number): number {
  const [a, b] = [unitsOf(left, 2), unitsOf(right, 2)];
  return a === null || b === null ? left - right : Number(a - b) / 100;
}

/**
 * How many percent `amount` is of `base`, as a decimal text, rounded half away from zero to four
 * decimals. Arguments of the type number are first rounded to four decimals. Null if `base` is not
 * positive, or if a text is not a number of at most four decimals.
 */
export function exactShare(amount: number | string, base: number | string): string | null {
  const [part, whole] = [unitsOf(amount, DECIMALS), unitsOf(base, DECIMALS)];
  if (part === null || whole === null || whole <= 0n) return null;
  const scale = 10n ** BigInt(DECIMALS);
  const isNegative = part < 0n;
  const absolute = (isNegative ? -part : part) * 100n * scale;
  const rounded = (absolute * 2n + whole) / (whole * 2n);
  const fraction = String(rounded % scale).padStart(DECIMALS, "0");
  return `${isNegative && rounded > 0n ? "-" : ""}${rounded / scale}.${fraction}`;
}
