/**
 * The roles of a schema. Its owner makes it and runs its migrations; a service's role reads and writes its rows, and
 * changes neither tables nor what guards their rows.
 */
import type { Client } from "pg";

import { assertIdentifier } from "./identifier.ts";

/** Who has a schema: this connection's role (or one that it is a member of), another role, or nobody yet. */
export async function ownershipOf(client: Client, schema: string): Promise<"own" | "another's" | "missing"> {
  const { rows } = await client.query<{ own: boolean }>(
    "select pg_has_role(current_user, nspowner, 'usage') as own from pg_namespace where nspname = $1",
    [schema],
  );
  const [found] = rows;
  if (found === undefined) return "missing";
  return found.own ? "own" : "another's";
}

/**
 * Gives `role` the rows of `schema`, also those of tables that are made later, but for the record of migrations. What it
 * has already stays.
 */
export async function grantRows(client: Client, schema: string, role: string): Promise<void> {
  assertIdentifier(role);
  const rows = "select, insert, update, delete on tables";
  const numbers = "usage, select on sequences";
  const everything = (rights: string): string => rights.replace(" on ", " on all ");
  const statements = [
    `grant usage on schema ${schema} to ${role}`,
    `grant ${everything(rows)} in schema ${schema} to ${role}`,
    `grant ${everything(numbers)} in schema ${schema} to ${role}`,
    `alter default privileges in schema ${schema} grant ${rows} to ${role}`,
    `alter default privileges in schema ${schema} grant ${numbers} to ${role}`,
    `revoke insert, update, delete on ${schema}.schema_migrations from ${role}`,
  ];
  await client.query(["begin", ...statements, "commit"].join(";\n"));
}
