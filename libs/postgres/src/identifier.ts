import { assert } from "@kapi/kernel";

const IDENTIFIER = /^[a-z_][a-z0-9_]{0,62}$/;

/** Throws unless `name` is a plain PostgreSQL name, because it becomes part of the SQL text. */
export function assertIdentifier(name: string): void {
  assert(IDENTIFIER.test(name), `${JSON.stringify(name)} is not a plain PostgreSQL name`);
}
