/**
 * The roles of a schema. The owner, or a role that may create tables in the schema, runs the
 * migrations. A service's role reads and writes rows. It can change neither tables nor triggers.
 */
import type { Client } from "pg";

import { assertIdentifier } from "./identifier.ts";

/**
 * Who owns a schema. `own`: the role of this connection may create tables in it. `another's`: the
 * role may only use it; a service's role never gets the right to create. `missing`: the schema does
 * not exist. Throws if the role has no rights in the schema.
 */
export async function ownershipOf(client: Client, schema: string): Promise<"own" | "another's" | "missing"> {
  const { rows } = await client.query<{ role: string; own: boolean; usable: boolean }>(
    `select current_user as role, has_schema_privilege(nspname, 'create') as own,
       has_schema_privilege(nspname, 'usage') as usable
     from pg_namespace where nspname = $1`,
    [schema],
  );
  const [found] = rows;
  if (found === undefined) return "missing";
  if (found.own) return "own";
  if (found.usable) return "another's";
  throw new Error(
    `the role ${found.role} has no rights in schema ${schema}: run the program with the argument migrate and ` +
      `POSTGRES_SERVICE_ROLE=${found.role}, by the role that owns the schema`,
  );
}

/**
 * $1: a schema. The roles that create tables in it later: this connection's role, and the owners of
 * `security definer` functions, which create partitions. Default privileges depend on the role that
 * creates a table.
 */
const MAKERS_OF_TABLES = `select quote_ident(current_user) as name
  union select quote_ident(pg_get_userbyid(proowner)) from pg_proc
  where pronamespace = (select oid from pg_namespace where nspname = $1) and prosecdef`;

/**
 * Grants `role` the rights on the rows of `schema`, also for tables that are created later. The
 * role may only read the record of migrations. It may only insert and select rows of `appendOnly`
 * tables. Other rights of the role are not revoked.
 */
export async function grantRows(
  client: Client,
  schema: string,
  role: string,
  appendOnly: readonly string[],
): Promise<void> {
  for (const name of [role, ...appendOnly]) assertIdentifier(name);
  const { rows: makers } = await client.query<{ name: string }>(MAKERS_OF_TABLES, [schema]);
  const rows = "select, insert, update, delete on tables";
  const numbers = "usage, select on sequences";
  const everything = (rights: string): string => rights.replace(" on ", " on all ");
  const statements = [
    `grant usage on schema ${schema} to ${role}`,
    `grant ${everything(rows)} in schema ${schema} to ${role}`,
    `grant ${everything(numbers)} in schema ${schema} to ${role}`,
    ...makers.flatMap(({ name }) => [
      `alter default privileges for role ${name} in schema ${schema} grant ${rows} to ${role}`,
      `alter default privileges for role ${name} in schema ${schema} grant ${numbers} to ${role}`,
    ]),
    `revoke insert, update, delete on ${schema}.schema_migrations from ${role}`,
    // The grant above and the default privileges include update and delete.
    ...appendOnly.map((table) => `revoke update, delete, truncate on ${schema}.${table} from ${role}`),
  ];
  await client.query(["begin", ...statements, "commit"].join(";\n"));
  await assertUsable(client, schema, role);
}

/**
 * Throws if `role` cannot use the schema. PostgreSQL itself only warns if the granting role may not
 * grant a right.
 */
async function assertUsable(client: Client, schema: string, role: string): Promise<void> {
  const { rows } = await client.query<{ granter: string; usable: boolean }>(
    "select current_user as granter, has_schema_privilege($1::name, $2::text, 'usage') as usable",
    [role, schema],
  );
  const [found] = rows;
  if (found?.usable === true) return;
  const granter = found?.granter ?? "";
  throw new Error(
    `the role ${role} got no rights in schema ${schema}, because the role ${granter} does not own the schema: run ` +
      `alter schema ${schema} owner to ${granter}`,
  );
}
