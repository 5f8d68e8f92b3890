/**
 * Many values as one parameter. pg escapes every element of an array with two searches; at
 * thousands of rows a second that is more work than the rest of the statement.
 */
import { assert } from "@kapi/kernel";

/**
 * Characters that mean something in an array literal, and the elements that must be quoted to be
 * themselves.
 */
const NEEDS_QUOTES = /[{}",\\\s]|^$|^null$/i;
const LINE_END = "\n";

/** A column for `unnest($n::type[])`. */
export function column(values: readonly (string | number | null)[]): string {
  let literal = "";
  for (const value of values) {
    const element = value === null ? "NULL" : typeof value === "number" ? String(value) : quoted(value);
    literal += literal === "" ? element : `,${element}`;
  }
  return `{${literal}}`;
}

/**
 * A column of JSON texts for `unnest(string_to_array($n, E'\n', ''))`: what `JSON.stringify` writes
 * never holds a line end, so the texts need no escaping. Null stays null.
 */
export function jsonLines(texts: readonly (string | null)[]): string {
  for (const text of texts) assert(text === null || !text.includes(LINE_END), "JSON on one line");
  return texts.map((text) => text ?? "").join(LINE_END);
}

function quoted(text: string): string {
  if (!NEEDS_QUOTES.test(text)) return text;
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
