import { toIso } from "@kapi/kernel";
import { type Queryable, statement } from "@kapi/postgres";

import type { Organization } from "../../../domain/ports.ts";
import type { RowRange } from "../../../domain/row-range.ts";

interface OrganizationRow {
  readonly id: string;
  readonly name: string;
  readonly created_at: Date;
}

const insertRow = statement<Record<string, never>>(
  "organizations_insert",
  `insert into organizations (id, name, created_at) values ($1, $2, $3)`,
);
const selectRow = statement<{ id: string }>("organizations_exists", `select id from organizations where id = $1`);
const selectRows = statement<OrganizationRow>(
  "organizations_select",
  `select id, name, created_at from organizations order by created_at desc, id desc limit $1 offset $2`,
);
const countRows = statement<{ total: number }>("organizations_count", `select count(*) as total from organizations`);

/** Adds an organization. */
export async function insertOrganization(tx: Queryable, id: string, name: string, nowMs: number): Promise<void> {
  await tx.query(insertRow, [id, name, toIso(nowMs)]);
}

export async function organizationExists(database: Queryable, id: string): Promise<boolean> {
  return (await database.query(selectRow, [id])).length > 0;
}

/** Newest first. */
export async function readOrganizations(database: Queryable, range: RowRange): Promise<Organization[]> {
  const rows = await database.query(selectRows, [range.limit, range.offset]);
  return rows.map((row) => ({ organizationId: row.id, name: row.name, createdAt: row.created_at.toISOString() }));
}

export async function countOrganizations(database: Queryable): Promise<number> {
  return (await database.query(countRows, []))[0]?.total ?? 0;
}
