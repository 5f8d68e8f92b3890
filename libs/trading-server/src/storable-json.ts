/** Escapes of NUL and of halves of surrogate pairs, which most texts do not have. */
const ESCAPES = /\\u(?:0000|d[89a-f])/i;

/**
 * Parses JSON from a trading server. PostgreSQL rejects texts with NUL, and JSON with half of a
 * surrogate pair. Platforms whose texts have a fixed length send both: padding, and a character cut
 * in two. So NUL is removed, and half of a pair becomes U+FFFD. Otherwise a command whose rejection
 * has such a message would never become final, and the events of an account with such a text would
 * never be booked. The same text always gives the same result.
 */
export function parseStorableJson(json: string): unknown {
  return JSON.parse(json, ESCAPES.test(json) ? toStorable : undefined);
}

function toStorable(_name: string, value: unknown): unknown {
  return typeof value === "string" ? value.replaceAll("\u0000", "").toWellFormed() : value;
}
