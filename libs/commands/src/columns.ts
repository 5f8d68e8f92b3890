/**
 * Array literals for statements with many rows. pg searches every element of an array twice to
 * escape it. At thousands of rows a second that costs more than the rest of the statement.
 */
import { assert } from "@kapi/kernel";

/** Elements that an array literal must quote. */
const NEEDS_QUOTES = /[{}",\\\s]|^$|^null$/i;
const LINE_END = "\n";

/** The array literal for a parameter `$n::type[]`. */
export function column(values: readonly (string | number | null)[]): string {
  let literal = "";
  for (const value of values) {
    const element = value === null ? "NULL" : typeof value === "number" ? String(value) : quoted(value);
    literal += literal === "" ? element : `,${element}`;
  }
  return `{${literal}}`;
}

/**
 * A column of JSON texts for `unnest(string_to_array($n, E'\n', ''))`. JSON without indentation has
 * no line end, so the texts need no escaping. Null stays null.
 * @throws if a text has several lines.
 */
export function jsonLines(texts: readonly (string | null)[]): string {
  for (const text of texts) assert(text === null || !text.includes(LINE_END), "a JSON text has several lines");
  return texts.map((text) => text ?? "").join(LINE_END);
}

function quoted(text: string): string {
  if (!NEEDS_QUOTES.test(text)) return text;
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
