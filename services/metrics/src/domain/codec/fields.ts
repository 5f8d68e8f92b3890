/**
 * A JSON object with known fields in a known order and nothing between, as `JSON.stringify` writes
 * it: an expression takes it apart for less than half of what parsing and checking it costs. Each
 * field is a pattern with one group, which matches nothing that the contract of the field refuses.
 */

/** The patterns of all fields, in the order of the wire. */
export type FieldPatterns<Name extends string> = Readonly<Record<Name, string>>;

export const GUID = '"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"';
export const ACCOUNT_NUMBER = '"([A-Za-z0-9_-]{4,32})"';
/** At most 15 digits: every one of them is a safe integer. */
export const COUNT = "(0|[1-9][0-9]{0,14})";
export const MINOR = "(-?(?:0|[1-9][0-9]{0,14}))";
export const AMOUNT = "(-?(?:0|[1-9][0-9]{0,12})(?:\\.[0-9]{1,2})?)";
export const PERCENT = "(-?(?:0|[1-9][0-9]{0,14})(?:\\.[0-9]{1,10})?)";

/** Any day but the 29th of February, whose years would have to be calculated. */
const DAY =
  "[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)";
const TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z";
export const MOMENT = `"(${DAY}T${TIME})"`;

/**
 * Longest text of a moment: nanoseconds take 30. A frame shows two, and must stay below
 * `MAX_FRAME_BYTES`.
 */
export const MAX_MOMENT_CHARACTERS = 40;

/** The patterns of fields that have more than a pattern. */
export function patternsOf<Name extends string>(
  fields: Readonly<Record<Name, { readonly pattern: string }>>,
): FieldPatterns<Name> {
  const patterns = Object.entries<{ readonly pattern: string }>(fields).map(([name, { pattern }]) => [name, pattern]);
  return Object.fromEntries(patterns) as FieldPatterns<Name>;
}

/**
 * The expression of an object that has these fields behind `start`, which is a brace, or a comma in
 * its midst.
 */
export function expressionOf(fields: FieldPatterns<string>, start: "{" | ","): RegExp {
  const members = Object.entries(fields).map(([name, pattern]) => `"${name}":${pattern}`);
  return new RegExp(`${start === "{" ? "^\\{" : ","}${members.join(",")}\\}$`);
}

/** The group of each field in the expression. */
export function groupsOf<Name extends string>(fields: FieldPatterns<Name>): Readonly<Record<Name, number>> {
  const groups = Object.keys(fields).map((name, index) => [name, index + 1] as const);
  return Object.fromEntries(groups) as Record<Name, number>;
}

/** A copy of ASCII text. A part of a longer text would keep all of that in memory. */
export function copyOf(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

/** Why bytes could not be decoded: a word for metrics, and the same in words. */
export interface DecodeFailure {
  readonly reason: "not_json" | "malformed" | "not_cents";
  readonly fault: string;
}

/** The JSON that the text is, in a field of its own since any value is JSON; or why it is none. */
export function jsonOf(text: string): { readonly json: unknown } | DecodeFailure {
  try {
    return { json: JSON.parse(text) };
  } catch (error) {
    return { reason: "not_json", fault: `not JSON: ${error instanceof Error ? error.message : "unreadable"}` };
  }
}
