import type { ConsoleRole, FormerUser } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";
import { type Queryable, statement } from "@kapi/postgres";

import type { ActiveUser, NewUser, User, Users } from "../../domain/ports.ts";

interface UserRow {
  readonly id: string;
  readonly organization_id: string;
  readonly email: string;
  readonly name: string;
  readonly role: ConsoleRole;
  readonly created_at: Date;
  readonly disabled_at: Date | null;
}

interface ActiveUserRow extends UserRow {
  readonly organization_name: string;
  readonly password_hash: string;
  readonly session_version: number;
}

// The unique index decides between concurrent creations.
const INSERT_ROW = statement<{ id: string }>(
  "users_insert",
  `insert into users (id, organization_id, organization_name, email, name, role, password_hash, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (email) do nothing returning id`,
);
const SELECT_ACTIVE = `select id, organization_id, organization_name, email, name, role, created_at, disabled_at, password_hash,
    session_version
  from users where disabled_at is null`;
const SELECT_BY_EMAIL = statement<ActiveUserRow>("users_select_by_email", `${SELECT_ACTIVE} and email = $1`);
const SELECT_BY_ID = statement<ActiveUserRow>("users_select_by_id", `${SELECT_ACTIVE} and id = $1`);
const SELECT_VERSIONS = statement<{ id: string; session_version: number }>(
  "users_select_versions",
  `select id, session_version from users where id = any($1::uuid[]) and disabled_at is null`,
);
const SET_PASSWORD_ROW = statement<{ organization_id: string; session_version: number }>(
  "users_set_password",
  `update users set password_hash = $2, session_version = session_version + 1
   where id = $1 and password_hash = coalesce($3, password_hash) returning organization_id, session_version`,
);
const DISABLE_ROW = statement<{ organization_id: string; is_new: boolean }>(
  "users_disable",
  `update users set disabled_at = coalesce(users.disabled_at, $2), session_version = users.session_version + 1
   from (select id, disabled_at from users where id = $1 for update) as before
   where users.id = before.id returning users.organization_id, before.disabled_at is null as is_new`,
);
const SELECT_PAGE = statement<UserRow>(
  "users_select_page",
  `select id, organization_id, email, name, role, created_at, disabled_at from users where organization_id = $1
   order by created_at desc, id desc limit $2 offset $3`,
);
const COUNT_ROWS = statement<{ total: number }>(
  "users_count",
  `select count(*) as total from users where organization_id = $1`,
);

// `session_version` is the version of a user: every change raises it, in both services. A disabled
// user stays disabled.
const TAKE_OVER_ROWS = statement<Record<string, never>>(
  "users_take_over",
  `insert into users as kept
     (id, organization_id, organization_name, email, name, password_hash, session_version, created_at, disabled_at)
   select former.* from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::integer[],
     $8::timestamptz[], $9::timestamptz[])
     as former (id, organization_id, organization_name, email, name, password_hash, session_version, created_at, disabled_at)
   where not exists (select from users as other where other.email = former.email and other.id <> former.id)
   on conflict (id) do update set
     password_hash = case when excluded.session_version > kept.session_version
       then excluded.password_hash else kept.password_hash end,
     session_version = greatest(excluded.session_version, kept.session_version),
     disabled_at = coalesce(kept.disabled_at, excluded.disabled_at)
   where excluded.session_version > kept.session_version
     or (kept.disabled_at is null and excluded.disabled_at is not null)`,
);
const SELECT_MISSING = statement<{ id: string }>(
  "users_select_missing",
  `select id from unnest($1::uuid[]) as former (id) where not exists (select from users where users.id = former.id)`,
);

/** The users in PostgreSQL. */
export function createUsers(database: Queryable): Users {
  return {
    insert: (user, nowMs) => insert(database, user, nowMs),
    byEmail: async (email) => activeOrNull(await database.query(SELECT_BY_EMAIL, [email])),
    byId: async (userId) => activeOrNull(await database.query(SELECT_BY_ID, [userId])),
    sessionVersions: async (userIds) => {
      const rows = await database.query(SELECT_VERSIONS, [userIds]);
      return new Map(rows.map((row) => [row.id, row.session_version]));
    },
    setPassword: async (userId, passwordHash, from) => {
      const [row] = await database.query(SET_PASSWORD_ROW, [userId, passwordHash, from ?? null]);
      return row ? { organizationId: row.organization_id, sessionVersion: row.session_version } : null;
    },
    disable: async (userId, nowMs) => {
      const [row] = await database.query(DISABLE_ROW, [userId, toIso(nowMs)]);
      return row ? { organizationId: row.organization_id, isNew: row.is_new } : null;
    },
    page: async (organizationId, { limit, offset }) =>
      (await database.query(SELECT_PAGE, [organizationId, limit, offset])).map(fromRow),
    takeOver: (former) => takeOver(database, former),
    count: async (organizationId) => (await database.query(COUNT_ROWS, [organizationId]))[0]?.total ?? 0,
  };
}

async function insert(database: Queryable, user: NewUser, nowMs: number): Promise<boolean> {
  const { userId, organizationId, organizationName, email, name, role, passwordHash } = user;
  const values = [userId, organizationId, organizationName, email, name, role, passwordHash, toIso(nowMs)];
  return (await database.query(INSERT_ROW, values)).length > 0;
}

async function takeOver(database: Queryable, former: readonly FormerUser[]): Promise<string[]> {
  const ids = former.map(({ userId }) => userId);
  await database.query(TAKE_OVER_ROWS, [
    ids,
    former.map(({ organizationId }) => organizationId),
    former.map(({ organizationName }) => organizationName),
    former.map(({ email }) => email),
    former.map(({ name }) => name),
    former.map(({ passwordHash }) => passwordHash),
    former.map(({ sessionVersion }) => sessionVersion),
    former.map(({ createdAt }) => createdAt),
    former.map(({ disabledAt }) => disabledAt),
  ]);
  return (await database.query(SELECT_MISSING, [ids])).map(({ id }) => id);
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
    role: row.role,
    createdAt: row.created_at.toISOString(),
    disabledAt: row.disabled_at === null ? null : row.disabled_at.toISOString(),
  };
}
