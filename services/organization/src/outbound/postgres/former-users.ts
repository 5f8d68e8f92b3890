/**
 * Users of releases without a console service, which takes them over. Processes of the previous
 * release still change them; each change raises `session_version`, and the user is taken over
 * again.
 */
import type { FormerUser } from "@kapi/contracts";
import { type Queryable, statement } from "@kapi/postgres";

import type { FormerUsers } from "../../domain/directory/ports.ts";

interface UserRow {
  readonly id: string;
  readonly organization_id: string;
  readonly organization_name: string;
  readonly email: string;
  readonly name: string;
  readonly password_hash: string;
  readonly session_version: number;
  readonly created_at: Date;
  readonly disabled_at: Date | null;
}

const selectUnmoved = statement<UserRow>(
  "former_users_select_unmoved",
  `select users.id, users.organization_id, organizations.name as organization_name, users.email, users.name,
     users.password_hash, users.session_version, users.created_at, users.disabled_at
   from users join organizations on organizations.id = users.organization_id
   where users.moved_version is distinct from users.session_version order by users.id limit $1`,
);
const markMoved = statement<Record<string, never>>(
  "former_users_mark_moved",
  `update users set moved_version = moved.version
   from unnest($1::uuid[], $2::integer[]) as moved (id, version) where users.id = moved.id`,
);

export function createFormerUsers(database: Queryable): FormerUsers {
  return {
    unmoved: async (limit) => (await database.query(selectUnmoved, [limit])).map(fromRow),
    markMoved: async (users) => {
      const versions = users.map(({ sessionVersion }) => sessionVersion);
      await database.query(markMoved, [users.map(({ userId }) => userId), versions]);
    },
  };
}

function fromRow(row: UserRow): FormerUser {
  return {
    userId: row.id,
    organizationId: row.organization_id,
    organizationName: row.organization_name,
    email: row.email,
    name: row.name,
    passwordHash: row.password_hash,
    sessionVersion: row.session_version,
    createdAt: row.created_at.toISOString(),
    disabledAt: row.disabled_at === null ? null : row.disabled_at.toISOString(),
  };
}
