/**
 * Puts the events of an account into the order in which they happened on the trading server.
 *
 * Each source numbers its events of an account from 1 without a gap, in the order of its commits.
 * Kafka delivers them in another order if a publisher was killed or lost a reply. So an event waits
 * for its missing predecessor. An event can also have `after`, a sequence of the trading server.
 * The event then waits until everything that the other source publishes up to `after` is recorded.
 */
import { accountKey } from "@kapi/contracts";

import type { IncomingEvent, Source, SourcePlace } from "./events.ts";

/**
 * Maximum number of waiting events per account and source, not counting the events of the current
 * call. Above it, the missing events are given up.
 */
export const MAX_WAITING = 500;
/**
 * How long an event waits for an older event of its source. If a publisher is killed or loses a
 * reply, its outbox publishes the event seconds later. An event that is missing for five minutes
 * was lost, or is older than the topic's retention.
 */
export const MAX_WAIT_MS = 5 * 60_000;
/**
 * How long an event waits for the other source. A killed process keeps its partitions for 10 s (the
 * Kafka session timeout), and its successor catches up within seconds. A lost commit reply also
 * costs about 10 s. A source that is silent for longer may be unavailable for hours, and a margin
 * call must not be delayed by that.
 */
export const MAX_OTHER_SOURCE_WAIT_MS = 20_000;

const SOURCES = ["account", "finance"] as const satisfies readonly Source[];
const OTHER: Readonly<Record<Source, Source>> = { account: "finance", finance: "account" };

/** How far the events of one source are recorded. */
export interface RecordedSource {
  /**
   * Newest recorded sequence; null if unknown: the next event of this source then waits for no
   * older event of this source.
   */
  sequence: number | null;
  /**
   * The source has published everything up to this event of the trading server. Null if unknown: no
   * event then waits for this source.
   */
  through: number | null;
}

/** How far both sources of an account are recorded. */
export type RecordedSequences = Readonly<Record<Source, RecordedSource>>;

/** A waiting event. Its content is read when it is recorded. */
export interface WaitingEvent extends Pick<IncomingEvent, "organizationId" | "eventId"> {
  readonly serverId: string;
  readonly accountNumber: string;
  readonly place: SourcePlace;
  /** How long it has waited, in milliseconds. */
  readonly waitedMs: number;
  /** {@link EarlyEvent.isForOtherSource} at the last check of its account. */
  readonly isForOtherSource: boolean;
}

/** An event that has to wait. */
export interface EarlyEvent {
  readonly event: IncomingEvent | WaitingEvent;
  /** Whether it waits only for the other source: at most {@link MAX_OTHER_SOURCE_WAIT_MS}. */
  readonly isForOtherSource: boolean;
}

/**
 * Missing events `first` to `last` of an account and source. Later events no longer wait for them.
 */
export interface MissingEvents {
  readonly serverId: string | null;
  readonly accountNumber: string | null;
  readonly source: Source;
  /** Sequences of the source; sequences of the trading server if the reason is `other_source`. */
  readonly first: number;
  readonly last: number;
  /**
   * `overdue`: a later event waited longer than {@link MAX_WAIT_MS}; `too_many`: more than
   * {@link MAX_WAITING} events waited; `other_source`: too long a wait, or too many waiting events,
   * for the other source. The number of missing events is then unknown.
   */
  readonly reason: "overdue" | "too_many" | "other_source";
}

/** What becomes of the events of a call and of the waiting events of their accounts. */
export interface OrderedEvents {
  /** To be recorded now, in this order. */
  readonly ready: readonly (IncomingEvent | WaitingEvent)[];
  /** To wait. */
  readonly early: readonly EarlyEvent[];
  /** Missing events that are older than the ready ones. */
  readonly missing: readonly MissingEvents[];
}

/** Whether the event was stored as waiting. Its content is then not loaded. */
export function isWaiting(event: IncomingEvent | WaitingEvent): event is WaitingEvent {
  return "waitedMs" in event;
}

/**
 * Splits `events`, and the waiting events of their accounts, into ready events and events that must
 * wait. Advances `recorded`, whose keys are account keys. Events without a place are always ready.
 * Events at or below the newest recorded sequence are ready too: a source whose database was
 * restored repeats its numbers.
 */
export function orderBySource(
  events: readonly IncomingEvent[],
  waiting: readonly WaitingEvent[],
  recorded: ReadonlyMap<string, RecordedSequences>,
): OrderedEvents {
  const waitingIds = new Set(waiting.map(({ eventId }) => eventId));
  const all = [...waiting, ...events.filter(({ eventId }) => !waitingIds.has(eventId))];
  const next = new Map<string, PlacedEvent[]>();
  const early: EarlyEvent[] = [];
  const missing: MissingEvents[] = [];
  for (const [key, ofAccount] of Map.groupBy(all.filter(isPlaced), keyOf)) {
    const queues = SOURCES.map((source) => queueOf(source, ofAccount));
    const known = recorded.get(key) ?? unknownSequences();
    next.set(key, dequeueReady(queues, known, missing));
    early.push(...queues.flatMap((queue) => remainingOf(queue, known)));
  }
  // Accounts keep their order of arrival: each event is replaced by the next ready event of its
  // account.
  const ready = all.flatMap((event): (IncomingEvent | WaitingEvent)[] =>
    isPlaced(event) ? (next.get(keyOf(event))?.splice(0, 1) ?? []) : [event],
  );
  return { ready, early, missing };
}

type PlacedEvent = (IncomingEvent & { readonly place: SourcePlace }) | WaitingEvent;

/** The events of an account from one source, oldest first. */
interface SourceQueue {
  readonly source: Source;
  readonly sorted: readonly PlacedEvent[];
  /**
   * Indexes of these events among all events of the account, in order of arrival. `arrivals[i]`
   * need not be the index of `sorted[i]`.
   */
  readonly arrivals: readonly number[];
  /**
   * Newest sequence that has waited longer than {@link MAX_WAIT_MS}. Up to this sequence, no event
   * waits any longer.
   */
  readonly overdueUpTo: number;
  /**
   * Newest sequence that has waited longer than {@link MAX_OTHER_SOURCE_WAIT_MS}, whether for its
   * own or for the other source. An event up to this sequence is ready if only events of the other
   * source are missing.
   */
  readonly otherOverdueUpTo: number;
  /** Number of ready events, at the start of `sorted`: they have left the queue. */
  taken: number;
  /** Number of events that were stored as waiting and are not ready. */
  waiting: number;
}

function isPlaced(event: IncomingEvent | WaitingEvent): event is PlacedEvent {
  return event.place !== null;
}

function keyOf(event: IncomingEvent | WaitingEvent): string {
  return accountKey(event.serverId ?? "", event.accountNumber ?? "");
}

function unknownSequences(): RecordedSequences {
  return { account: { sequence: null, through: null }, finance: { sequence: null, through: null } };
}

function queueOf(source: Source, ofAccount: readonly PlacedEvent[]): SourceQueue {
  const arrived = ofAccount.flatMap((event, arrival) => (event.place.source === source ? [{ event, arrival }] : []));
  const sorted = arrived.map(({ event }) => event).toSorted((a, b) => a.place.sequence - b.place.sequence);
  const newestWaitingLongerThan = (ms: number): number =>
    sorted.findLast((event) => isWaiting(event) && event.waitedMs > ms)?.place.sequence ?? 0;
  return {
    source,
    sorted,
    arrivals: arrived.map(({ arrival }) => arrival),
    overdueUpTo: newestWaitingLongerThan(MAX_WAIT_MS),
    otherOverdueUpTo: newestWaitingLongerThan(MAX_OTHER_SOURCE_WAIT_MS),
    taken: 0,
    waiting: sorted.filter(isWaiting).length,
  };
}

/**
 * Takes the ready events from the queues of an account and returns them in order. Adds given-up
 * events to `missing`.
 */
function dequeueReady(
  queues: readonly SourceQueue[],
  recorded: RecordedSequences,
  missing: MissingEvents[],
): PlacedEvent[] {
  const ready: PlacedEvent[] = [];
  for (;;) {
    const heads = queues.flatMap((queue) => {
      const event = queue.sorted[queue.taken];
      return event === undefined ? [] : [{ queue, event, arrival: queue.arrivals[queue.taken] ?? 0 }];
    });
    const inOrder = heads.filter(({ event: { place } }) => !lacksOwn(place, recorded) && !lacksOther(place, recorded));
    const takeable =
      inOrder.length > 0 ? inOrder : heads.filter(({ queue, event }) => isGivenUpFor(queue, event.place, recorded));
    const [first] = takeable.toSorted((a, b) => a.arrival - b.arrival);
    if (first === undefined) return ready;
    const { queue, event } = first;
    missing.push(...missingBefore(queue, event, recorded));
    advance(recorded, event.place);
    queue.taken += 1;
    if (isWaiting(event)) queue.waiting -= 1;
    ready.push(event);
  }
}

/**
 * Only the oldest event of a queue can wait for the other source alone. Later events also wait for
 * this event.
 */
function remainingOf({ sorted, taken }: SourceQueue, recorded: RecordedSequences): EarlyEvent[] {
  return sorted
    .slice(taken)
    .map((event, index) => ({ event, isForOtherSource: index === 0 && isForOtherSource(event.place, recorded) }));
}

/** Whether an older event of the own source is not recorded. */
function lacksOwn({ source, sequence }: SourcePlace, recorded: RecordedSequences): boolean {
  const { sequence: last } = recorded[source];
  return last !== null && sequence > last + 1;
}

/** Whether an older event of the other source is not recorded. Repeated events never wait. */
function lacksOther({ source, sequence, after }: SourcePlace, recorded: RecordedSequences): boolean {
  const { sequence: last } = recorded[source];
  const { through } = recorded[OTHER[source]];
  const isRepeated = last !== null && sequence <= last;
  return !isRepeated && after !== null && through !== null && after > through;
}

/**
 * Whether the event waits only for the other source, and therefore briefly. False until
 * `account.created`, the first event of every account, is recorded. An event waits for
 * `account.created` as long as for an event of its own source.
 */
function isForOtherSource(place: SourcePlace, recorded: RecordedSequences): boolean {
  const isCreated = recorded.account.sequence !== 0;
  return isCreated && !lacksOwn(place, recorded) && lacksOther(place, recorded);
}

/** Whether the wait is over, or more than {@link MAX_WAITING} events wait. */
function isGivenUpFor(queue: SourceQueue, place: SourcePlace, recorded: RecordedSequences): boolean {
  const upTo = isForOtherSource(place, recorded) ? queue.otherOverdueUpTo : queue.overdueUpTo;
  return queue.waiting > MAX_WAITING || place.sequence <= upTo;
}

/** The missing events that are given up because `event` becomes ready. */
function missingBefore(queue: SourceQueue, event: PlacedEvent, recorded: RecordedSequences): MissingEvents[] {
  const { serverId, accountNumber, place } = event;
  const missing: MissingEvents[] = [];
  if (lacksOwn(place, recorded)) {
    const reason = place.sequence <= queue.overdueUpTo ? "overdue" : "too_many";
    const first = (recorded[place.source].sequence ?? 0) + 1;
    missing.push({ serverId, accountNumber, source: place.source, first, last: place.sequence - 1, reason });
  }
  if (lacksOther(place, recorded)) {
    const source = OTHER[place.source];
    const [first, last] = [(recorded[source].through ?? 0) + 1, place.after ?? 0];
    missing.push({ serverId, accountNumber, source, first, last, reason: "other_source" });
  }
  return missing;
}

/**
 * Advances `recorded` by an event that is ready. An event of release 0.1.0 has no `through`. It
 * makes the `through` of its source unknown, so that no event waits for this source in vain. If the
 * other source is given up, its `through` is unknown until the next event of that source is
 * recorded.
 */
function advance(recorded: RecordedSequences, place: SourcePlace): void {
  const own = recorded[place.source];
  if (lacksOther(place, recorded)) recorded[OTHER[place.source]].through = null;
  own.sequence = Math.max(own.sequence ?? 0, place.sequence);
  own.through = place.through === null ? null : Math.max(own.through ?? 0, place.through);
}
