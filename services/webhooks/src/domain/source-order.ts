/**
 * The order of an account's events: that of the service which committed them, not that of their arrival. Each source numbers its
 * facts of an account from 1 without a gap, in the order of its commits. Kafka brings them in another order where a publisher was
 * killed or lost a reply, so a fact whose predecessor is missing waits for it.
 */
import { accountKey } from "@kapi/contracts";

import type { IncomingEvent, Source, SourcePlace } from "./facts.ts";

/** Events of one account and source that wait, at most. With more, the missing one is given up: it will not come any more. */
export const MAX_WAITING = 500;

/** How far an account is recorded: per source the newest sequence; null: not known, the first to come begins. */
export type RecordedSequences = Record<Source, number | null>;

/** An event that waits for an older one. */
export interface WaitingEvent {
  readonly event: IncomingEvent;
  /** It has waited for so long that the missing ones are not waited for any more. */
  readonly overdue: boolean;
}

/** Missing events `first` to `last` of an account and source. Later events do not wait for them. */
export interface MissingEvents {
  readonly serverId: string | null;
  readonly accountNumber: string | null;
  readonly source: Source;
  readonly first: number;
  readonly last: number;
  /** `overdue`: waited for long enough; `too_many`: more than {@link MAX_WAITING} events waited. */
  readonly reason: "overdue" | "too_many";
}

export interface Ordered {
  /** To be recorded now, in this order. */
  readonly ready: readonly IncomingEvent[];
  /** To wait. */
  readonly early: readonly IncomingEvent[];
  /** Missing events that are older than the ready ones. */
  readonly missing: readonly MissingEvents[];
}

/**
 * Splits `events` and those of their accounts that wait already into what can be recorded and what has to wait. Moves `recorded`
 * on, whose keys are account keys. Events without a place in a source are always ready. What is not newer than the newest
 * recorded one is ready too: a source whose database was restored repeats its numbers.
 */
export function inSourceOrder(
  events: readonly IncomingEvent[],
  waiting: readonly WaitingEvent[],
  recorded: ReadonlyMap<string, RecordedSequences>,
): Ordered {
  const overdue = new Set(waiting.filter((one) => one.overdue).map(({ event }) => event.eventId));
  const waitingIds = new Set(waiting.map(({ event }) => event.eventId));
  const all = [...waiting.map(({ event }) => event), ...events.filter(({ eventId }) => !waitingIds.has(eventId))];
  const next = new Map<string, IncomingEvent[]>();
  const early: IncomingEvent[] = [];
  const missing: MissingEvents[] = [];
  for (const [name, ofSource] of Map.groupBy(all.filter(isPlaced), nameOf)) {
    const sorted = ofSource.toSorted((a, b) => a.place.sequence - b.place.sequence);
    const sequences = recorded.get(keyOf(sorted[0]));
    const ready = sequences === undefined ? sorted : takeReady(sorted, sequences, overdue, missing);
    next.set(name, ready);
    early.push(...sorted.slice(ready.length));
  }
  // Each keeps a place of its source in the order of arrival.
  const ready = all.flatMap((event) => (isPlaced(event) ? (next.get(nameOf(event))?.splice(0, 1) ?? []) : [event]));
  return { ready, early, missing };
}

type Placed = IncomingEvent & { readonly place: SourcePlace };

function isPlaced(event: IncomingEvent): event is Placed {
  return event.place !== null;
}

function keyOf(event: IncomingEvent | undefined): string {
  return accountKey(event?.serverId ?? "", event?.accountNumber ?? "");
}

function nameOf(event: Placed): string {
  return `${event.place.source}/${keyOf(event)}`;
}

/**
 * The events at the beginning of `sorted` that need not wait. More than {@link MAX_WAITING} events
 * do not wait for a missing one. Adds what they no longer wait for to `missing`.
 */
function takeReady(
  sorted: readonly Placed[],
  sequences: RecordedSequences,
  overdue: ReadonlySet<string>,
  missing: MissingEvents[],
): Placed[] {
  const upTo = Math.max(0, ...sorted.map(({ eventId, place }) => (overdue.has(eventId) ? place.sequence : 0)));
  const ready: Placed[] = [];
  for (const event of sorted) {
    const { source, sequence } = event.place;
    const last = sequences[source];
    if (last !== null && sequence > last + 1) {
      const isOverdue = sequence <= upTo;
      if (!isOverdue && sorted.length - ready.length <= MAX_WAITING) break;
      const reason = isOverdue ? "overdue" : "too_many";
      const { serverId, accountNumber } = event;
      missing.push({ serverId, accountNumber, source, first: last + 1, last: sequence - 1, reason });
    }
    sequences[source] = Math.max(last ?? 0, sequence);
    ready.push(event);
  }
  return ready;
}
