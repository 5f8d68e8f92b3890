import { assert } from "@kapi/kernel";

const IDENTIFIER = /^[a-z_][a-z0-9_]{0,62}$/;

/**
 * Throws unless `name` has 1 to 63 characters, only lower-case letters, digits and `_`, the first
 * not a digit. The name becomes part of SQL text, without quotes.
 */
export function assertIdentifier(name: string): void {
  assert(IDENTIFIER.test(name), `${JSON.stringify(name)} is not a plain PostgreSQL name`);
}
