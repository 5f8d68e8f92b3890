import { assert } from "@kapi/kernel";

const IDENTIFIER = /^[a-z_][a-z0-9_]{0,62}$/;

/**
 * Throws unless `name` is a PostgreSQL name that needs no quotes: lower-case letters, digits and
 * `_`. The name becomes part of SQL text.
 */
export function assertIdentifier(name: string): void {
  assert(IDENTIFIER.test(name), `${JSON.stringify(name)} is not a plain PostgreSQL name`);
}
