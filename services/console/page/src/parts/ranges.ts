/** Ranges of time by which lists are filtered. Days and months are those of a time zone. */
import { instantOf, offsetMs, startOfDay, startOfMonth, UTC } from "../time-zone.ts";
import type { UrlState } from "./url-state.ts";

const HOUR_MS = 3_600_000;
const DAYS_OF_WEEK = 7;

/** The ranges to choose from, with their names. */
export const RANGES = {
  all: "All time",
  hour: "Last hour",
  today: "Today",
  utcDay: "Today (UTC)",
  yesterday: "Yesterday",
  week: "Last 7 days",
  month: "This month",
  lastMonth: "Last month",
  custom: "From … to …",
} as const;
/** The name of a range in the address. */
export type RangeName = keyof typeof RANGES;

/** A range of time; `toMs` is excluded. Null: without a limit. */
export interface TimeSpan {
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** The ends of a custom range in the address; empty or malformed: without a limit. */
export interface CustomRange {
  readonly from: string;
  readonly to: string;
}

/** The range that the address names; `initial` if it names none. */
export function rangeIn(state: UrlState, initial: RangeName = "all"): RangeName {
  const name = state.get("range");
  return Object.hasOwn(RANGES, name) ? (name as RangeName) : initial;
}

/** The times of a range in a zone. `custom` has the instants of a custom range, as texts. */
export function spanOf(name: RangeName, custom: CustomRange, zone: string, nowMs: number): TimeSpan {
  switch (name) {
    case "all":
      return { fromMs: null, toMs: null };
    case "hour":
      return { fromMs: nowMs - HOUR_MS, toMs: null };
    case "today":
      return { fromMs: startOfDay(zone, nowMs), toMs: null };
    case "utcDay":
      return { fromMs: startOfDay(UTC, nowMs), toMs: null };
    case "yesterday":
      return { fromMs: startOfDay(zone, nowMs, -1), toMs: startOfDay(zone, nowMs) };
    case "week":
      return { fromMs: sameTimeDaysBefore(zone, nowMs, DAYS_OF_WEEK), toMs: null };
    case "month":
      return { fromMs: startOfMonth(zone, nowMs), toMs: null };
    case "lastMonth": {
      const toMs = startOfMonth(zone, nowMs);
      return { fromMs: startOfMonth(zone, toMs - 1), toMs };
    }
    case "custom":
      return { fromMs: instantIn(custom.from), toMs: instantIn(custom.to) };
  }
}

function sameTimeDaysBefore(zone: string, atMs: number, days: number): number {
  const local = new Date(atMs + offsetMs(zone, atMs));
  local.setUTCDate(local.getUTCDate() - days);
  return instantOf(zone, local.getTime());
}

function instantIn(text: string): number | null {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

/** A range of time as texts for a query; empty: no limit. */
export interface SpanFields {
  readonly from: string;
  /** The last millisecond of the range, for an API that includes `to`, such as listCommands. */
  readonly to: string;
  /** The first millisecond after the range, for an API that excludes `to`. */
  readonly toExclusive: string;
}

/** The texts of a range of time. */
export function spanFields({ fromMs, toMs }: TimeSpan): SpanFields {
  const text = (ms: number | null): string => (ms === null ? "" : new Date(ms).toISOString());
  return { from: text(fromMs), to: text(toMs === null ? null : toMs - 1), toExclusive: text(toMs) };
}
