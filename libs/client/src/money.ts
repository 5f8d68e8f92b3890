/**
 * Amounts of money are decimal strings in the client and JSON numbers on the wire. Amounts have at
 * most two decimals and at most 15 digits, so the conversion in both directions is exact.
 */
import { MONEY_FIELDS } from "./generated/money-fields.ts";

const DECIMALS = 2;
const AMOUNT = /^-?\d{1,13}(\.\d{1,2})?$/;

/** Parses the JSON text of an answer. Amounts of money become decimal strings with two decimals. */
export function parseAnswer(text: string): unknown {
  return JSON.parse(text, (name, value: unknown) =>
    typeof value === "number" && MONEY_FIELDS.has(name) ? value.toFixed(DECIMALS) : value,
  );
}

/**
 * Returns the JSON text of a request. Amounts of money become JSON numbers.
 * @throws TypeError for an amount that is not a decimal string with at most 13 digits before the
 * point and two after it.
 */
export function formatRequest(body: unknown): string {
  return JSON.stringify(body, (name, value: unknown) => (MONEY_FIELDS.has(name) ? amountOf(name, value) : value));
}

function amountOf(name: string, value: unknown): unknown {
  if (value === undefined || value === null) return value;
  if (typeof value !== "string" || !AMOUNT.test(value)) {
    throw new TypeError(
      `${name} must be a decimal string with at most 13 digits before the point and two after it, such as "250.55"`,
    );
  }
  return Number(value);
}
