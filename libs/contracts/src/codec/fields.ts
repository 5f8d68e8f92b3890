/**
 * Regular expressions for JSON objects with known fields in a fixed order, without spaces. Matching
 * costs less than half of parsing and validating. Each field is a pattern with one group, which
 * matches only values that the field's schema accepts.
 */

/** The patterns of all fields, in the order of the wire. */
export type FieldPatterns<Name extends string> = Readonly<Record<Name, string>>;

export const GUID = '"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"';
export const ACCOUNT_NUMBER = '"([A-Za-z0-9_-]{4,32})"';
/** At most 15 digits: every such number is a safe integer. */
export const COUNT = "(0|[1-9][0-9]{0,14})";
export const MINOR = "(-?(?:0|[1-9][0-9]{0,14}))";
export const AMOUNT = "(-?(?:0|[1-9][0-9]{0,12})(?:\\.[0-9]{1,2})?)";
export const PERCENT = "(-?(?:0|[1-9][0-9]{0,14})(?:\\.[0-9]{1,10})?)";

/** Any day except 29 February: the expression for leap years would be long. */
const DAY =
  "[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)";
const TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z";
export const MOMENT = `"(${DAY}T${TIME})"`;

/**
 * Maximum length of a time text; a text with nanoseconds has 30 characters. A frame has two such
 * texts, and must stay below `MAX_FRAME_BYTES` of the metrics service.
 */
export const MAX_MOMENT_CHARACTERS = 40;

/** Extracts the patterns of the fields. */
export function patternsOf<Name extends string>(
  fields: Readonly<Record<Name, { readonly pattern: string }>>,
): FieldPatterns<Name> {
  const patterns = Object.entries<{ readonly pattern: string }>(fields).map(([name, { pattern }]) => [name, pattern]);
  return Object.fromEntries(patterns) as FieldPatterns<Name>;
}

/**
 * The expression for a whole object (`start` is `{`), or for the last fields of an object and the
 * comma before them (`start` is `,`). Only the last field may be optional; `optional` is its name.
 */
export function expressionOf(fields: FieldPatterns<string>, start: "{" | ",", optional?: string): RegExp {
  const members = Object.entries(fields).map(([name, pattern], index) => {
    const member = `${index === 0 ? "" : ","}"${name}":${pattern}`;
    return name === optional ? `(?:${member})?` : member;
  });
  return new RegExp(`${start === "{" ? "^\\{" : ","}${members.join("")}\\}$`);
}

/** The number of each field's group in the expression, from 1. */
export function groupsOf<Name extends string>(fields: FieldPatterns<Name>): Readonly<Record<Name, number>> {
  const groups = Object.keys(fields).map((name, index) => [name, index + 1] as const);
  return Object.fromEntries(groups) as Record<Name, number>;
}

/** Copies ASCII text: a slice of a longer string would keep all of it in memory. */
export function copyOf(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

/** Why bytes could not be decoded: the label for metrics, and a text. */
export interface DecodeFailure {
  readonly reason: "not_json" | "malformed" | "not_cents";
  readonly fault: string;
}

/**
 * Parses JSON. The value is in the field `json`: the value itself could have the fields of a
 * {@link DecodeFailure}.
 */
export function jsonOf(text: string): { readonly json: unknown } | DecodeFailure {
  try {
    return { json: JSON.parse(text) };
  } catch (error) {
    return { reason: "not_json", fault: `not JSON: ${error instanceof Error ? error.message : "unreadable"}` };
  }
}
