import { toIso } from "@kapi/kernel";
import { type Database, statement } from "@kapi/postgres";

import type { DayStore } from "../../domain/ports.ts";

const KEEP_DAY = statement<Record<string, never>>("webhooks_keep_day", "select keep_day($1::date)");
const DROP_DAYS = statement<{ dropped: number }>("webhooks_drop_days", "select drop_days($1::date) as dropped");

/** Creates and drops the daily partitions. */
export function createDayStore(database: Database): DayStore {
  const kept = new Set<string>();
  return {
    keep: async (day) => {
      if (kept.has(day)) return;
      await database.query(KEEP_DAY, [day]);
      kept.add(day);
    },
    dropBefore: async (day) => {
      for (const known of kept) if (known < day) kept.delete(known);
      return (await database.query(DROP_DAYS, [day]))[0]?.dropped ?? 0;
    },
  };
}

/** The day (UTC) of a time in milliseconds since 1970, as YYYY-MM-DD. */
export function dayOf(ms: number): string {
  return toIso(ms).slice(0, "2026-01-01".length);
}
