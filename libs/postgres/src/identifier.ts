import { assert } from "@kapi/kernel";

const IDENTIFIER = /^[a-z_][a-z0-9_]{0,62}$/;

/** A schema name is put into SQL as text, so only plain ones are let through. */
export function assertIdentifier(name: string): void {
  assert(IDENTIFIER.test(name), `${JSON.stringify(name)} is not a plain PostgreSQL name`);
}
