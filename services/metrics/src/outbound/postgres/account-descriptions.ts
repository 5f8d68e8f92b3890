import { type Database, statement } from "@kapi/postgres";

import type { AccountDescriptions } from "../../domain/ports.ts";

const SELECT_MISSING = statement<{ server_id: string; account_number: string }>(
  "descriptions_select_missing",
  `select server_id, account_number from account_statuses where created_at is null limit $1`,
);
// Keeps a stored name, which an event has set: every newer name also comes as an event.
const UPDATE = statement<Record<string, never>>(
  "descriptions_update",
  `update account_statuses as kept set
     account_name = coalesce(kept.account_name, given.account_name), created_at = given.created_at
   from unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[])
     as given (server_id, account_number, account_name, created_at)
   where kept.server_id = given.server_id and kept.account_number = given.account_number`,
);
/** Stored as the creation time of an account that the account service no longer has. */
const UNKNOWN = "-infinity";

/** The names and creation times of accounts in PostgreSQL. */
export function createAccountDescriptions(database: Database): AccountDescriptions {
  return {
    missing: async (limit) =>
      (await database.query(SELECT_MISSING, [limit])).map((row) => ({
        serverId: row.server_id,
        accountNumber: row.account_number,
      })),
    store: async (accounts, descriptions) => {
      await database.query(UPDATE, [
        accounts.map(({ serverId }) => serverId),
        accounts.map(({ accountNumber }) => accountNumber),
        descriptions.map((described) => described?.accountName ?? null),
        descriptions.map((described) => described?.createdAt ?? UNKNOWN),
      ]);
    },
  };
}
