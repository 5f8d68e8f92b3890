import { toIso } from "@kapi/kernel";
import { type Queryable, statement } from "@kapi/postgres";

import type { DirectoryStore, DirectoryTransaction, Organization } from "../../../domain/directory/ports.ts";
import { readPage } from "./pages.ts";

interface OrganizationRow extends Omit<Organization, "createdAt"> {
  readonly createdAt: Date;
}

const COLUMNS = `id as "organizationId", name, created_at as "createdAt"`;
const INSERT_ROW = statement<Record<string, never>>(
  "organizations_insert",
  `insert into organizations (id, name, created_at) values ($1, $2, $3)`,
);
const SELECT_ROW = statement<OrganizationRow>(
  "organizations_select_one",
  `select ${COLUMNS} from organizations where id = $1`,
);
const ORGANIZATIONS = {
  select: statement<OrganizationRow>(
    "organizations_select",
    `select ${COLUMNS} from organizations order by created_at desc, id desc limit $1 offset $2`,
  ),
  count: statement<{ total: number }>("organizations_count", `select count(*) as total from organizations`),
  from: fromRow,
};

/** The organizations' part of a transaction. */
export function organizationTransaction(tx: Queryable): Pick<DirectoryTransaction, "insertOrganization"> {
  return {
    insertOrganization: async (id, name, nowMs) => {
      await tx.query(INSERT_ROW, [id, name, toIso(nowMs)]);
    },
  };
}

/** Reads of organizations. */
export function organizationStore(
  database: Queryable,
): Pick<DirectoryStore, "readOrganization" | "organizationExists" | "readOrganizations"> {
  const readOrganization = async (id: string): Promise<Organization | null> => {
    const [row] = await database.query(SELECT_ROW, [id]);
    return row ? fromRow(row) : null;
  };
  return {
    readOrganization,
    organizationExists: async (id) => (await readOrganization(id)) !== null,
    readOrganizations: (page) => readPage(database, ORGANIZATIONS, [], page),
  };
}

function fromRow(row: OrganizationRow): Organization {
  return { ...row, createdAt: row.createdAt.toISOString() };
}
