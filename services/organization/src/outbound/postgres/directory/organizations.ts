import { toIso } from "@kapi/kernel";
import { type Queryable, statement } from "@kapi/postgres";

import type { Organization } from "../../../domain/directory/ports.ts";
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
const selectRow = statement<OrganizationRow>(
  "organizations_select_one",
  `select id, name, created_at from organizations where id = $1`,
);
const selectRows = statement<OrganizationRow>(
  "organizations_select",
  `select id, name, created_at from organizations order by created_at desc, id desc limit $1 offset $2`,
);
const countRows = statement<{ total: number }>("organizations_count", `select count(*) as total from organizations`);

export async function insertOrganization(tx: Queryable, id: string, name: string, nowMs: number): Promise<void> {
  await tx.query(insertRow, [id, name, toIso(nowMs)]);
}

export async function readOrganization(database: Queryable, id: string): Promise<Organization | null> {
  const [row] = await database.query(selectRow, [id]);
  return row === undefined ? null : fromRow(row);
}

/** Newest first. */
export async function readOrganizations(database: Queryable, range: RowRange): Promise<Organization[]> {
  return (await database.query(selectRows, [range.limit, range.offset])).map(fromRow);
}

export async function countOrganizations(database: Queryable): Promise<number> {
  return (await database.query(countRows, []))[0]?.total ?? 0;
}

function fromRow({ id, name, created_at: createdAt }: OrganizationRow): Organization {
  return { organizationId: id, name, createdAt: createdAt.toISOString() };
}
