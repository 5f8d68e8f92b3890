import type { UsageByDayAnswer } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";

import type { LedgerEntry } from "./ledger-entry.ts";
import { isUsageLine } from "./usage-line.ts";

const DAY_MS = 24 * 3_600_000;

/** Sums of the usage lines of one operation on one day; also a change of these sums. */
export interface UsageDay {
  readonly organizationId: string;
  /** `2026-11-21`, in UTC. */
  readonly day: string;
  readonly operation: string;
  /** Number of lines of the kinds consume and reserve. */
  readonly requests: number;
  readonly credits: number;
}

/** The day of a time in UTC: `2026-11-21`. */
export function dayOf(atMs: number): string {
  return toIso(atMs).slice(0, "2026-11-21".length);
}

/** What an entry adds to the sums of its day and `operation`; null: the entry is no usage line. */
export function usageDayOf(
  entry: Pick<LedgerEntry, "kind" | "credits" | "action" | "organizationId" | "atMs">,
  operation: string,
): UsageDay | null {
  if (!isUsageLine(entry)) return null;
  const isRequest = entry.kind === "consume" || entry.kind === "reserve";
  return {
    organizationId: entry.organizationId,
    day: dayOf(entry.atMs),
    operation,
    requests: isRequest ? 1 : 0,
    credits: isRequest ? entry.credits : -entry.credits,
  };
}

/** The change that takes back `change`. */
export function withdrawn(change: UsageDay): UsageDay {
  return { ...change, requests: -change.requests, credits: -change.credits };
}

/**
 * Sums by organization, day and operation. Changes that cancel out are left out. Sorted: one lock
 * order for all transactions prevents deadlocks.
 */
export function summedUsageDays(changes: Iterable<UsageDay>): UsageDay[] {
  const sums = new Map<string, UsageDay>();
  for (const change of changes) {
    const name = `${change.organizationId}/${change.day}/${change.operation}`;
    const sum = sums.get(name);
    sums.set(name, {
      ...change,
      requests: change.requests + (sum?.requests ?? 0),
      credits: change.credits + (sum?.credits ?? 0),
    });
  }
  return [...sums]
    .filter(([, { requests, credits }]) => requests !== 0 || credits !== 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, sum]) => sum);
}

/** The last `days` days up to `nowMs`, oldest first; operations by cost, highest first. */
export function usageByDay(found: readonly UsageDay[], days: number, nowMs: number): UsageByDayAnswer["days"] {
  const byDay = Map.groupBy(found, ({ day }) => day);
  return Array.from({ length: days }, (_, index) => {
    const day = dayOf(nowMs - (days - 1 - index) * DAY_MS);
    const operations = (byDay.get(day) ?? [])
      .map(({ operation, requests, credits }) => ({ operation, requests, credits }))
      .sort((a, b) => b.credits - a.credits || (a.operation < b.operation ? -1 : 1));
    return { day, operations };
  });
}

/** The first of the last `days` days up to `nowMs`. */
export function firstDay(days: number, nowMs: number): string {
  return dayOf(nowMs - (days - 1) * DAY_MS);
}
