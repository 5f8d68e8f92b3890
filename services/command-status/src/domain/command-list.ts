import type { ListCommandsQuery } from "@kapi/contracts";

/** A query for the commands of one server. */
export interface CommandListQuery extends Omit<ListCommandsQuery, "wait"> {
  readonly organizationId: string;
  readonly serverId: string;
}

/**
 * Maximum number of keys that may begin with `idempotencyKeyPrefix`: those of a hundred bulks of
 * the maximum size.
 */
export const PREFIX_MATCHES = 10_000;

const DAY_MS = 86_400_000;
const EARLIEST = "-infinity";
const LATEST = "infinity";

/** A range of time: `from` is inclusive, `before` exclusive. Both are ISO 8601 or infinite. */
export interface TimeRange {
  readonly from: string;
  readonly before: string;
}

const NOTHING: TimeRange = { from: LATEST, before: LATEST };

/** A time range, split at midnight (UTC). A part without any time is an empty range. */
export interface DayRanges {
  /** The whole days, from the first midnight of the range to the last one. */
  readonly days: TimeRange;
  /** The part before the first midnight; the whole range if there is no midnight in the range. */
  readonly head: TimeRange;
  /** The part after the last midnight. */
  readonly tail: TimeRange;
}

/**
 * The time range of a query. `from` and `to` are inclusive, to the millisecond (decisions, 3.6).
 */
export function timeRangeOf({ from, to }: Pick<ListCommandsQuery, "from" | "to">): TimeRange {
  return {
    from: from ?? EARLIEST,
    before: to === undefined ? LATEST : new Date(Date.parse(to) + 1).toISOString(),
  };
}

/** Splits a time range at midnight (UTC). Counters have whole days only. */
export function dayRangesOf({ from, before }: TimeRange): DayRanges {
  const firstDay = from === EARLIEST ? from : startOfDay(Date.parse(from) + DAY_MS - 1);
  const endDay = before === LATEST ? before : startOfDay(Date.parse(before));
  const sameDay = firstDay !== EARLIEST && endDay !== LATEST && firstDay > endDay;
  if (sameDay) return { days: NOTHING, head: { from, before }, tail: NOTHING };
  return {
    days: { from: firstDay, before: endDay },
    head: { from, before: firstDay },
    tail: { from: endDay, before },
  };
}

function startOfDay(ms: number): string {
  return new Date(Math.floor(ms / DAY_MS) * DAY_MS).toISOString();
}
