/**
 * Users of earlier releases, which have no console service. The console service copies them into
 * its tables. Processes of the previous release still change them: each change raises
 * `session_version`, and the user is copied again.
 */
import type { FormerUser } from "@kapi/contracts";
import { type Queryable, statement } from "@kapi/postgres";

import type { FormerUsers } from "../../domain/directory/ports.ts";
import { columnsOf } from "./columns.ts";

interface UserRow extends Omit<FormerUser, "createdAt" | "disabledAt"> {
  readonly createdAt: Date;
  readonly disabledAt: Date | null;
}

const SELECT_UNMOVED = statement<UserRow>(
  "former_users_select_unmoved",
  `select users.id as "userId", users.organization_id as "organizationId", organizations.name as "organizationName",
     users.email, users.name, users.password_hash as "passwordHash", users.session_version as "sessionVersion",
     users.created_at as "createdAt", users.disabled_at as "disabledAt"
   from users join organizations on organizations.id = users.organization_id
   where users.moved_version is distinct from users.session_version order by users.id limit $1`,
);
const MARK_MOVED = statement<Record<string, never>>(
  "former_users_mark_moved",
  `update users set moved_version = moved.version
   from unnest($1::uuid[], $2::integer[]) as moved (id, version) where users.id = moved.id`,
);

/** The table `users` of earlier releases. */
export function createFormerUsers(database: Queryable): FormerUsers {
  return {
    unmoved: async (limit) => (await database.query(SELECT_UNMOVED, [limit])).map(fromRow),
    markMoved: async (users) => {
      await database.query(MARK_MOVED, columnsOf(users, "userId", "sessionVersion"));
    },
  };
}

function fromRow(row: UserRow): FormerUser {
  return {
    ...row,
    createdAt: row.createdAt.toISOString(),
    disabledAt: row.disabledAt?.toISOString() ?? null,
  };
}
