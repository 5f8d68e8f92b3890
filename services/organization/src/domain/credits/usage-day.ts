import type { UsageByDayAnswer } from "@kapi/contracts";
import { toIso } from "@kapi/kernel";

import type { LedgerEntry } from "./ledger-entry.ts";
import { isUsageLine } from "./usage-line.ts";

const DAY_MS = 24 * 3_600_000;

/** What the lines of one operation on one day sum up to; also a change of it, where it is added. */
export interface UsageDay {
  readonly organizationId: string;
  /** `2026-11-21`, in UTC. */
  readonly day: string;
  readonly operation: string;
  /** Lines with credits above zero. */
  readonly requests: number;
  readonly credits: number;
}

/** The day of a moment, in UTC. */
export function dayOf(atMs: number): string {
  return toIso(atMs).slice(0, "2026-11-21".length);
}

/**
 * What an entry adds to its day under `operation`, the one that its line shows; null for an entry that is
 * no line.
 */
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

/** The same change taken back. */
export function withdrawn(change: UsageDay): UsageDay {
  return { ...change, requests: -change.requests, credits: -change.credits };
}

/**
 * One sum for each organization, day and operation, without those that change nothing; in one
 * order, so that two transactions that change the same days wait for each other and never in a
 * circle.
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

/**
 * The last `days` days up to the one of `nowMs`, oldest first, each with its operations, the most
 * expensive first.
 */
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

/** The first of the last `days` days up to the one of `nowMs`. */
export function firstDay(days: number, nowMs: number): string {
  return dayOf(nowMs - (days - 1) * DAY_MS);
}
