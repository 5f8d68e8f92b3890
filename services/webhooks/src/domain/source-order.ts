/**
 * The order of an account's events: that in which they happened on the trading server, not that of their arrival.
 *
 * Each source numbers its facts of an account from 1 without a gap, in the order of its commits. Kafka brings them in another
 * order where a publisher was killed or lost a reply, so a fact whose predecessor is missing waits for it. Between the two
 * sources each fact says up to which event of the trading server the other one comes first, and waits for that.
 */
import { accountKey } from "@kapi/contracts";

import type { IncomingEvent, Source, SourcePlace } from "./facts.ts";

/** Events of one account and source that wait, at most. With more, the missing one is given up: it will not come any more. */
export const MAX_WAITING = 500;

const SOURCES = ["account", "finance"] as const satisfies readonly Source[];
const OTHER: Readonly<Record<Source, Source>> = { account: "finance", finance: "account" };

/** How far the facts of one source are recorded. */
export interface RecordedSource {
  /** Newest sequence of the source; null: not known, the first to come begins. */
  sequence: number | null;
  /** Up to which event of the trading server it has announced everything; null: not known, nothing waits for it. */
  through: number | null;
}

/** How far an account is recorded. */
export type RecordedSequences = Readonly<Record<Source, RecordedSource>>;

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
  const next = new Map<string, Placed[]>();
  const early: IncomingEvent[] = [];
  const missing: MissingEvents[] = [];
  for (const [key, ofAccount] of Map.groupBy(all.filter(isPlaced), keyOf)) {
    const queues = SOURCES.map((source) => queueOf(source, ofAccount, overdue));
    next.set(key, takeReady(queues, recorded.get(key) ?? nothingKnown(), missing));
    early.push(...queues.flatMap(({ sorted, taken }) => sorted.slice(taken)));
  }
  // Each account keeps its places in the order of arrival.
  const ready = all.flatMap((event) => (isPlaced(event) ? (next.get(keyOf(event))?.splice(0, 1) ?? []) : [event]));
  return { ready, early, missing };
}

type Placed = IncomingEvent & { readonly place: SourcePlace };

/** The events of an account from one source, oldest first. */
interface SourceQueue {
  readonly source: Source;
  readonly sorted: readonly Placed[];
  /** Where they arrived among those of the account. */
  readonly arrivals: readonly number[];
  /** Up to this sequence they have waited for too long. */
  readonly overdueUpTo: number;
  /** How many of them are ready. */
  taken: number;
}

function isPlaced(event: IncomingEvent): event is Placed {
  return event.place !== null;
}

function keyOf(event: IncomingEvent): string {
  return accountKey(event.serverId ?? "", event.accountNumber ?? "");
}

function nothingKnown(): RecordedSequences {
  return { account: { sequence: null, through: null }, finance: { sequence: null, through: null } };
}

function queueOf(source: Source, ofAccount: readonly Placed[], overdue: ReadonlySet<string>): SourceQueue {
  const arrived = ofAccount.flatMap((event, arrival) => (event.place.source === source ? [{ event, arrival }] : []));
  const sorted = arrived.map(({ event }) => event).toSorted((a, b) => a.place.sequence - b.place.sequence);
  const late = sorted.findLast(({ eventId }) => overdue.has(eventId));
  const arrivals = arrived.map(({ arrival }) => arrival);
  return { source, sorted, arrivals, overdueUpTo: late?.place.sequence ?? 0, taken: 0 };
}

/** Takes what need not wait from the queues of an account, in order. Adds what it no longer waits for to `missing`. */
function takeReady(queues: readonly SourceQueue[], recorded: RecordedSequences, missing: MissingEvents[]): Placed[] {
  const ready: Placed[] = [];
  for (;;) {
    const heads = queues.flatMap((queue) => {
      const event = queue.sorted[queue.taken];
      return event === undefined ? [] : [{ queue, event, arrival: queue.arrivals[queue.taken] ?? 0 }];
    });
    const inOrder = heads.filter(({ event }) => isNext(event.place, recorded));
    const takeable = inOrder.length > 0 ? inOrder : heads.filter(({ queue, event }) => isGivenUpFor(queue, event));
    const [first] = takeable.toSorted((a, b) => a.arrival - b.arrival);
    if (first === undefined) return ready;
    const { queue, event } = first;
    const gap = gapBefore(event, recorded, event.place.sequence <= queue.overdueUpTo);
    if (gap !== null) missing.push(gap);
    moveOn(recorded[queue.source], event.place);
    queue.taken += 1;
    ready.push(event);
  }
}

/** Whether all that comes before it is recorded, of its source and of the other one. */
function isNext({ source, sequence, after }: SourcePlace, recorded: RecordedSequences): boolean {
  const { sequence: last } = recorded[source];
  if (last !== null && sequence > last + 1) return false;
  const isRepeated = last !== null && sequence <= last;
  const { through } = recorded[OTHER[source]];
  return isRepeated || after === null || through === null || after <= through;
}

/** Whether what it waits for is given up: it waits too long, or more than {@link MAX_WAITING} events do. */
function isGivenUpFor({ sorted, taken, overdueUpTo }: SourceQueue, { place }: Placed): boolean {
  return place.sequence <= overdueUpTo || sorted.length - taken > MAX_WAITING;
}

function gapBefore(event: Placed, recorded: RecordedSequences, isOverdue: boolean): MissingEvents | null {
  const { source, sequence } = event.place;
  const { sequence: last } = recorded[source];
  if (last === null || sequence <= last + 1) return null;
  const { serverId, accountNumber } = event;
  const reason = isOverdue ? "overdue" : "too_many";
  return { serverId, accountNumber, source, first: last + 1, last: sequence - 1, reason };
}

/** A fact of a release that gives no place makes the source's place unknown, so that nothing waits for it in vain. */
function moveOn(own: RecordedSource, { sequence, through }: SourcePlace): void {
  own.sequence = Math.max(own.sequence ?? 0, sequence);
  own.through = through === null ? null : Math.max(own.through ?? 0, through);
}
