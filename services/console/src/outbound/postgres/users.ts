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
  readonly two_factor: boolean;
  readonly created_at: Date;
  readonly last_sign_in_at: Date | null;
  readonly disabled_at: Date | null;
}

interface ActiveUserRow extends UserRow {
  readonly organization_name: string;
  readonly password_hash: string;
  readonly session_version: number;
  readonly requires_two_factor: boolean;
  readonly recovery_codes_left: number;
}

// The unique index decides between concurrent creations.
const INSERT_ROW = statement<{ id: string }>(
  "users_insert",
  `insert into users (id, organization_id, organization_name, email, name, role, password_hash, created_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (email) do nothing returning id`,
);
const SHOWN = `id, organization_id, email, name, role, created_at, last_sign_in_at, disabled_at,
    exists (select from second_factors as factor where factor.user_id = users.id and factor.confirmed_at is not null)
      as two_factor`;
const SELECT_ACTIVE = `select ${SHOWN}, organization_name, password_hash, session_version,
    exists (select from organization_settings as settings
      where settings.organization_id = users.organization_id and settings.require_two_factor) as requires_two_factor,
    (select count(*) from recovery_codes where recovery_codes.user_id = users.id) as recovery_codes_left
  from users where disabled_at is null`;
const SELECT_BY_EMAIL = statement<ActiveUserRow>("users_select_by_email", `${SELECT_ACTIVE} and email = $1`);
const SELECT_BY_ID = statement<ActiveUserRow>("users_select_by_id", `${SELECT_ACTIVE} and id = $1`);
const SELECT_TAKEN = statement<{ id: string }>("users_select_taken", `select id from users where email = $1`);
const SELECT_VERSIONS = statement<{ id: string; session_version: number }>(
  "users_select_versions",
  `select id, session_version from users where id = any($1::uuid[]) and disabled_at is null`,
);
const DELETE_RECOVERY = statement<Record<string, never>>(
  "users_delete_password_recovery",
  `delete from password_recoveries where user_id = $1`,
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
const END_SESSIONS = statement<{ session_version: number }>(
  "users_end_sessions",
  `update users set session_version = session_version + 1
   where organization_id = $1 and id = $2 and disabled_at is null returning session_version`,
);
const SET_SIGN_IN = statement<Record<string, never>>(
  "users_set_last_sign_in",
  `update users set last_sign_in_at = $2 where id = $1`,
);
// An organization may have no owner to lock: the operator can disable the last one.
const LOCK_ORGANIZATION = statement<unknown>(
  "users_lock_organization",
  `select pg_advisory_xact_lock(hashtextextended(current_schema() || ' owners of ' || $1::text, 0))`,
);
// A transaction of the operator changes a user without the lock of the organization. This statement
// waits for that transaction and then reads the user's row again: a user who is no longer an owner
// is left out. `no key`: inserts of an owner's recovery codes do not wait for this lock.
const LOCK_OWNERS = statement<{ id: string }>(
  "users_lock_owners",
  `select id from users where organization_id = $1 and role = 'owner' and disabled_at is null
   for no key update`,
);
const SET_ROLE = statement<{ former: ConsoleRole }>(
  "users_set_role",
  `update users set role = $3
   from (select id, role from users where organization_id = $1 and id = $2 and disabled_at is null for update) as before
   where users.id = before.id returning before.role as former`,
);
const COUNT_ACTIVE = statement<{ total: number }>(
  "users_count_active",
  `select count(*) as total from users where organization_id = $1 and disabled_at is null`,
);
const SELECT_PAGE = statement<UserRow>(
  "users_select_page",
  `select ${SHOWN} from users where organization_id = $1
   order by created_at desc, id desc limit $2 offset $3`,
);
const SELECT_NAMES = statement<{ id: string; name: string }>(
  "users_select_names",
  `select id, name from users where organization_id = $1 and id = any($2::uuid[])`,
);
const COUNT_ROWS = statement<{ total: number }>(
  "users_count",
  `select count(*) as total from users where organization_id = $1`,
);

// The previous release raises the `session_version` of a user with each change: a new password, or
// the disabling. Each change is copied once (`former_version`), so a repeat does not replace a
// password that was set later in the console. A copied change ends all sessions of the user. A
// disabled user stays disabled.
const TAKE_OVER_ROWS = statement<Record<string, never>>(
  "users_take_over",
  `insert into users as kept
     (id, organization_id, organization_name, email, name, password_hash, session_version, created_at, disabled_at,
     former_version)
   select former.*, former.session_version from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::integer[],
     $8::timestamptz[], $9::timestamptz[])
     as former (id, organization_id, organization_name, email, name, password_hash, session_version, created_at, disabled_at)
   where not exists (select from users as other where other.email = former.email and other.id <> former.id)
   on conflict (id) do update set
     password_hash = excluded.password_hash,
     session_version = greatest(excluded.session_version, kept.session_version + 1),
     disabled_at = coalesce(kept.disabled_at, excluded.disabled_at),
     former_version = excluded.former_version
   where excluded.former_version > coalesce(kept.former_version, 0)`,
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
    isTaken: async (email) => (await database.query(SELECT_TAKEN, [email])).length > 0,
    sessionVersions: async (userIds) => {
      const rows = await database.query(SELECT_VERSIONS, [userIds]);
      return new Map(rows.map((row) => [row.id, row.session_version]));
    },
    setPassword: async (userId, passwordHash, from) => {
      // A password recovery also locks the row of `password_recoveries` first, then the row of the
      // user. The reverse order here could deadlock.
      await database.query(DELETE_RECOVERY, [userId]);
      const [row] = await database.query(SET_PASSWORD_ROW, [userId, passwordHash, from ?? null]);
      return row ? { organizationId: row.organization_id, sessionVersion: row.session_version } : null;
    },
    disable: async (userId, nowMs) => {
      const [row] = await database.query(DISABLE_ROW, [userId, toIso(nowMs)]);
      return row ? { organizationId: row.organization_id, isNew: row.is_new } : null;
    },
    endSessions: async (organizationId, userId) =>
      (await database.query(END_SESSIONS, [organizationId, userId]))[0]?.session_version ?? null,
    signedIn: async (userId, nowMs) => {
      await database.query(SET_SIGN_IN, [userId, toIso(nowMs)]);
    },
    lockOwners: async (organizationId) => {
      await database.query(LOCK_ORGANIZATION, [organizationId]);
      return (await database.query(LOCK_OWNERS, [organizationId])).map(({ id }) => id);
    },
    setRole: async (organizationId, userId, role) =>
      (await database.query(SET_ROLE, [organizationId, userId, role]))[0]?.former ?? null,
    countActive: async (organizationId) => (await database.query(COUNT_ACTIVE, [organizationId]))[0]?.total ?? 0,
    page: async (organizationId, { limit, offset }) =>
      (await database.query(SELECT_PAGE, [organizationId, limit, offset])).map(fromRow),
    names: async (organizationId, userIds) => {
      const rows = await database.query(SELECT_NAMES, [organizationId, userIds]);
      return new Map(rows.map(({ id, name }) => [id, name]));
    },
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
    requiresTwoFactor: row.requires_two_factor,
    recoveryCodesLeft: row.recovery_codes_left,
  };
}

function fromRow(row: UserRow): User {
  return {
    userId: row.id,
    organizationId: row.organization_id,
    email: row.email,
    name: row.name,
    role: row.role,
    twoFactor: row.two_factor,
    createdAt: row.created_at.toISOString(),
    lastSignInAt: row.last_sign_in_at === null ? null : row.last_sign_in_at.toISOString(),
    disabledAt: row.disabled_at === null ? null : row.disabled_at.toISOString(),
  };
}
