import { type Database, statement } from "@kapi/postgres";
import type { Shard } from "@kapi/admission/redis";

import type { CreditMonths } from "../../../domain/credits/ports.ts";
import { raiseEpochExclusively } from "./wallets.ts";

const MS_PER_SECOND = 1_000;

const KEEP_MONTH = statement<Record<string, never>>("credit_months_keep", `select keep_credit_month($1::date)`);
const DROP_MONTH = statement<{ dropped: boolean }>(
  "credit_months_drop",
  `select drop_credit_month($1::date) as dropped`,
);
const SELECT_LAGGING = statement<{ tag: Shard }>(
  "credit_months_select_lagging",
  `select tag from tags where epoch < extract(epoch from now()) - $1 order by tag`,
);
const DELETE_CLOSINGS = statement<Record<string, never>>(
  "credit_months_delete_closings",
  `delete from wallet_closings as kept using (
     select month, organization_id from wallet_closings
     where month < (select dropped_through from credit_ledger) order by month, organization_id limit $1) as old
   where kept.month = old.month and kept.organization_id = old.organization_id returning 1`,
);

const COUNT_REFUSED = statement<{ count: number }>(
  "credit_months_count_refused",
  `select count(*) from refused_credit_entries`,
);

/** The ledger's partitions in PostgreSQL. */
export function createCreditMonths(database: Database): CreditMonths {
  return {
    keep: async (month) => {
      await database.query(KEEP_MONTH, [month]);
    },
    raiseLagging: async (lagMs) => {
      const lagging = await database.query(SELECT_LAGGING, [lagMs / MS_PER_SECOND]);
      for (const { tag } of lagging) await database.transaction((tx) => raiseEpochExclusively(tx, tag));
    },
    dropOldest: async (firstKept) => (await database.query(DROP_MONTH, [firstKept]))[0]?.dropped ?? false,
    countRefused: async () => (await database.query(COUNT_REFUSED, []))[0]?.count ?? 0,
    deleteClosings: async (limit) => (await database.query(DELETE_CLOSINGS, [limit])).length,
  };
}
