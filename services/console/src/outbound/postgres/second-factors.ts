import type { SealedPassword } from "@kapi/kernel";
import { toIso } from "@kapi/kernel";
import { type Queryable, statement } from "@kapi/postgres";

import type { OrganizationSettings, PasswordRecoveries, SecondFactors } from "../../domain/people-ports.ts";

const SELECT_ROW = statement<{ secret: SealedPassword; is_confirmed: boolean; last_step: number }>(
  "second_factors_select",
  `select secret, confirmed_at is not null as is_confirmed, last_step from second_factors where user_id = $1`,
);
const BEGIN_ROW = statement<{ user_id: string }>(
  "second_factors_begin",
  `insert into second_factors as kept (user_id, secret) values ($1, $2)
   on conflict (user_id) do update set secret = excluded.secret, last_step = 0 where kept.confirmed_at is null
   returning user_id`,
);
const CONFIRM_ROW = statement<{ user_id: string }>(
  "second_factors_confirm",
  `update second_factors set confirmed_at = $4, last_step = $3
   where user_id = $1 and secret = $2 and confirmed_at is null returning user_id`,
);
// If two sign-ins use one code at once, the second update waits for the first. It then finds the
// step used, and changes no row.
const USE_STEP = statement<{ user_id: string }>(
  "second_factors_use_step",
  `update second_factors set last_step = $2
   where user_id = $1 and last_step < $2 and confirmed_at is not null returning user_id`,
);
const DELETE_ROW = statement<{ is_confirmed: boolean }>(
  "second_factors_delete",
  `delete from second_factors where user_id = $1 returning confirmed_at is not null as is_confirmed`,
);
// A replacement of a person's codes locks the second factor first. So of two replacements, the
// second one waits for the first, and then deletes the first one's codes too. A replacement that
// waits for a removal finds no row.
const LOCK_ROW = statement<{ user_id: string }>(
  "second_factors_lock",
  `select user_id from second_factors where user_id = $1 and confirmed_at is not null for update`,
);
const USE_CODE = statement<{ user_id: string }>(
  "recovery_codes_use",
  `delete from recovery_codes where user_id = $1 and code_hash = $2 returning user_id`,
);
const DELETE_CODES = statement<Record<string, never>>(
  "recovery_codes_delete",
  `delete from recovery_codes where user_id = $1`,
);
const INSERT_CODES = statement<Record<string, never>>(
  "recovery_codes_insert",
  `insert into recovery_codes (user_id, code_hash) select $1, unnest($2::text[])`,
);
const PUT_RECOVERY = statement<Record<string, never>>(
  "password_recoveries_put",
  `insert into password_recoveries (user_id, token_hash, expires_at) values ($1, $2, $3)
   on conflict (user_id) do update set token_hash = excluded.token_hash, expires_at = excluded.expires_at`,
);
const USE_RECOVERY = statement<{ user_id: string }>(
  "password_recoveries_use",
  `delete from password_recoveries where token_hash = $1 and expires_at > $2 returning user_id`,
);
const SELECT_RECOVERY = statement<{ user_id: string }>(
  "password_recoveries_select",
  `select user_id from password_recoveries where token_hash = $1 and expires_at > $2`,
);
const SELECT_REQUIREMENT = statement<{ require_two_factor: boolean }>(
  "organization_settings_select",
  `select require_two_factor from organization_settings where organization_id = $1`,
);
const PUT_REQUIREMENT = statement<Record<string, never>>(
  "organization_settings_put",
  `insert into organization_settings (organization_id, require_two_factor) values ($1, $2)
   on conflict (organization_id) do update set require_two_factor = excluded.require_two_factor`,
);

/** Second factors and recovery codes in PostgreSQL. */
export function createSecondFactors(database: Queryable): SecondFactors {
  return {
    read: async (userId) => {
      const [row] = await database.query(SELECT_ROW, [userId]);
      if (row === undefined) return null;
      return { secret: row.secret, isConfirmed: row.is_confirmed, lastStep: row.last_step };
    },
    begin: async (userId, secret) => (await database.query(BEGIN_ROW, [userId, JSON.stringify(secret)])).length > 0,
    confirm: async (userId, secret, step, nowMs) => {
      const values = [userId, JSON.stringify(secret), step, toIso(nowMs)];
      return (await database.query(CONFIRM_ROW, values)).length > 0;
    },
    useStep: async (userId, step) => (await database.query(USE_STEP, [userId, step])).length > 0,
    useRecoveryCode: async (userId, codeHash) => (await database.query(USE_CODE, [userId, codeHash])).length > 0,
    replaceRecoveryCodes: async (userId, codeHashes) => {
      if ((await database.query(LOCK_ROW, [userId])).length === 0) return false;
      await database.query(DELETE_CODES, [userId]);
      await database.query(INSERT_CODES, [userId, codeHashes]);
      return true;
    },
    remove: async (userId) => {
      const [removed] = await database.query(DELETE_ROW, [userId]);
      await database.query(DELETE_CODES, [userId]);
      return removed?.is_confirmed ?? false;
    },
  };
}

/** Links for forgotten passwords in PostgreSQL. */
export function createPasswordRecoveries(database: Queryable): PasswordRecoveries {
  return {
    put: async (userId, tokenHash, expiresAtMs) => {
      await database.query(PUT_RECOVERY, [userId, tokenHash, toIso(expiresAtMs)]);
    },
    isOpen: async (tokenHash, nowMs) => (await database.query(SELECT_RECOVERY, [tokenHash, toIso(nowMs)])).length > 0,
    use: async (tokenHash, nowMs) =>
      (await database.query(USE_RECOVERY, [tokenHash, toIso(nowMs)]))[0]?.user_id ?? null,
  };
}

/** The settings of organizations in PostgreSQL. */
export function createOrganizationSettings(database: Queryable): OrganizationSettings {
  return {
    requiresTwoFactor: async (organizationId) =>
      (await database.query(SELECT_REQUIREMENT, [organizationId]))[0]?.require_two_factor ?? false,
    requireTwoFactor: async (organizationId, required) => {
      await database.query(PUT_REQUIREMENT, [organizationId, required]);
    },
  };
}
