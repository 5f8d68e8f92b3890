import { toIso } from "@kapi/kernel";
import { type Queryable, statement } from "@kapi/postgres";

import type { ActiveUser, NewUser, User, Users } from "../../domain/console-ports.ts";

interface UserRow {
  readonly id: string;
  readonly organization_id: string;
  readonly email: string;
  readonly name: string;
  readonly created_at: Date;
  readonly disabled_at: Date | null;
}

interface ActiveUserRow extends UserRow {
  readonly organization_name: string;
  readonly password_hash: string;
  readonly session_version: number;
}

// The unique address decides: of two users who are made at once under one address, one is.
const insertRow = statement<{ id: string }>(
  "users_insert",
  `insert into users (id, organization_id, email, name, password_hash, created_at)
   values ($1, $2, $3, $4, $5, $6) on conflict (email) do nothing returning id`,
);
const SELECT_ACTIVE = `select users.id, users.organization_id, users.email, users.name, users.created_at, users.disabled_at,
    users.password_hash, users.session_version, organizations.name as organization_name
  from users join organizations on organizations.id = users.organization_id
  where users.disabled_at is null`;
const selectByEmail = statement<ActiveUserRow>("users_select_by_email", `${SELECT_ACTIVE} and users.email = $1`);
const selectById = statement<ActiveUserRow>("users_select_by_id", `${SELECT_ACTIVE} and users.id = $1`);
const selectVersions = statement<{ id: string; session_version: number }>(
  "users_select_versions",
  `select id, session_version from users where id = any($1::uuid[]) and disabled_at is null`,
);
const setPasswordRow = statement<{ organization_id: string; session_version: number }>(
  "users_set_password",
  `update users set password_hash = $2, session_version = session_version + 1
   where id = $1 and password_hash = coalesce($3, password_hash) returning organization_id, session_version`,
);
const disableRow = statement<{ organization_id: string; is_new: boolean }>(
  "users_disable",
  `update users set disabled_at = coalesce(users.disabled_at, $2), session_version = users.session_version + 1
   from (select id, disabled_at from users where id = $1 for update) as before
   where users.id = before.id returning users.organization_id, before.disabled_at is null as is_new`,
);
const selectPage = statement<UserRow>(
  "users_select_page",
  `select id, organization_id, email, name, created_at, disabled_at from users where organization_id = $1
   order by created_at desc, id desc limit $2 offset $3`,
);
const countRows = statement<{ total: number }>(
  "users_count",
  `select count(*) as total from users where organization_id = $1`,
);

/** The users in PostgreSQL. */
export function createUsers(database: Queryable): Users {
  return {
    insert: (user, nowMs) => insert(database, user, nowMs),
    byEmail: async (email) => activeOrNull(await database.query(selectByEmail, [email])),
    byId: async (userId) => activeOrNull(await database.query(selectById, [userId])),
    sessionVersions: async (userIds) => {
      const rows = await database.query(selectVersions, [userIds]);
      return new Map(rows.map((row) => [row.id, row.session_version]));
    },
    setPassword: async (userId, passwordHash, from) => {
      const [row] = await database.query(setPasswordRow, [userId, passwordHash, from ?? null]);
      return row ? { organizationId: row.organization_id, sessionVersion: row.session_version } : null;
    },
    disable: async (userId, nowMs) => {
      const [row] = await database.query(disableRow, [userId, toIso(nowMs)]);
      return row ? { organizationId: row.organization_id, isNew: row.is_new } : null;
    },
    page: async (organizationId, { limit, offset }) =>
      (await database.query(selectPage, [organizationId, limit, offset])).map(fromRow),
    count: async (organizationId) => (await database.query(countRows, [organizationId]))[0]?.total ?? 0,
  };
}

async function insert(database: Queryable, user: NewUser, nowMs: number): Promise<boolean> {
  const { userId, organizationId, email, name, passwordHash } = user;
  const values = [userId, organizationId, email, name, passwordHash, toIso(nowMs)];
  return (await database.query(insertRow, values)).length > 0;
}

function activeOrNull([row]: readonly ActiveUserRow[]): ActiveUser | null {
  if (row === undefined) return null;
  return {
    ...fromRow(row),
    organizationName: row.organization_name,
    passwordHash: row.password_hash,
    sessionVersion: row.session_version,
  };
}

function fromRow(row: UserRow): User {
  return {
    userId: row.id,
    organizationId: row.organization_id,
    email: row.email,
    name: row.name,
    createdAt: row.created_at.toISOString(),
    disabledAt: row.disabled_at === null ? null : row.disabled_at.toISOString(),
  };
}
