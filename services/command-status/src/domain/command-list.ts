import type { ListCommandsQuery } from "@kapi/contracts";

/** Which of a server's commands are asked for. */
export interface CommandListQuery extends ListCommandsQuery {
  readonly organizationId: string;
  readonly serverId: string;
}

const DAY_MS = 86_400_000;
const EARLIEST = "-infinity";
const LATEST = "infinity";

/** A span of time, `from` inclusive, `before` exclusive; both ISO 8601 or infinite. */
export interface Span {
  readonly from: string;
  readonly before: string;
}

const NOTHING: Span = { from: LATEST, before: LATEST };

/** A span as the whole days (UTC) in it, which counters count, and what is left at its two ends. */
export interface DaySpans {
  readonly days: Span;
  readonly head: Span;
  readonly tail: Span;
}

/** The span of `from` and `to`, both inclusive and in milliseconds (decisions, 3.6). */
export function spanOf({ from, to }: Pick<ListCommandsQuery, "from" | "to">): Span {
  return {
    from: from ?? EARLIEST,
    before: to === undefined ? LATEST : new Date(Date.parse(to) + 1).toISOString(),
  };
}

/** Takes a span apart at the beginnings of days. */
export function daySpansOf({ from, before }: Span): DaySpans {
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
