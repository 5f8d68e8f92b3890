/**
 * The order of an account's events: that in which they happened on the trading server, not that of
 * their arrival.
 *
 * Each source numbers its facts of an account from 1 without a gap, in the order of its commits.
 * Kafka brings them in another order where a publisher was killed or lost a reply, so a fact whose
 * predecessor is missing waits for it. Between the two sources each fact says up to which event of
 * the trading server the other one comes first, and waits for that.
 */
import { accountKey } from "@kapi/contracts";

import type { IncomingEvent, Source, SourcePlace } from "./facts.ts";

/**
 * Events of one account and source that wait, at most, but for those that come with one call. With
 * more, what is missing is given up.
 */
export const MAX_WAITING = 500;
/**
 * How long an event waits for an older one of its source. A publisher that is frozen holds rows for
 * about a minute; what is still missing after five was lost from the topic, or is older than what
 * the topic keeps.
 */
export const MAX_WAIT_MS = 5 * 60_000;
/**
 * How long an event waits for the other source. A process that is killed keeps its partitions for
 * 10 s (the session of a Kafka consumer), and the next one has booked what was left some seconds
 * later; the reply to a commit that is lost costs about 10 s, too. A service that is silent for
 * longer is away, perhaps for hours, and a margin call must not be late because of that.
 */
export const MAX_OTHER_SOURCE_WAIT_MS = 20_000;

const SOURCES = ["account", "finance"] as const satisfies readonly Source[];
const OTHER: Readonly<Record<Source, Source>> = { account: "finance", finance: "account" };

/** How far the facts of one source are recorded. */
export interface RecordedSource {
  /** Newest sequence of the source; null: not known, the first to come begins. */
  sequence: number | null;
  /**
   * Up to which event of the trading server it has announced everything; null: not known, nothing
   * waits for it.
   */
  through: number | null;
}

/** How far an account is recorded. */
export type RecordedSequences = Readonly<Record<Source, RecordedSource>>;

/** An event that waits for an older one. Its content is read when it is recorded. */
export interface WaitingEvent extends Pick<IncomingEvent, "organizationId" | "eventId"> {
  readonly serverId: string;
  readonly accountNumber: string;
  readonly place: SourcePlace;
  /** How long it has waited, in milliseconds. */
  readonly waitedMs: number;
  /** As {@link EarlyEvent.isForOtherSource}, when its account was last looked at. */
  readonly isForOtherSource: boolean;
}

/** An event that has to wait. */
export interface EarlyEvent {
  readonly event: IncomingEvent | WaitingEvent;
  /** It waits for the other source alone, so only for {@link MAX_OTHER_SOURCE_WAIT_MS}. */
  readonly isForOtherSource: boolean;
}

/** Missing events `first` to `last` of an account and source. Later events do not wait for them. */
export interface MissingEvents {
  readonly serverId: string | null;
  readonly accountNumber: string | null;
  readonly source: Source;
  /** Sequences of the source; of the trading server where the reason is `other_source`. */
  readonly first: number;
  readonly last: number;
  /**
   * `overdue`: waited for long enough; `too_many`: more than {@link MAX_WAITING} events waited;
   * `other_source`: an event of the other source waited for too long, or too many did. How many
   * events are missing is not known then.
   */
  readonly reason: "overdue" | "too_many" | "other_source";
}

export interface Ordered {
  /** To be recorded now, in this order. */
  readonly ready: readonly (IncomingEvent | WaitingEvent)[];
  /** To wait. */
  readonly early: readonly EarlyEvent[];
  /** Missing events that are older than the ready ones. */
  readonly missing: readonly MissingEvents[];
}

/** Whether it waited before, so that its content is not here. */
export function isWaiting(event: IncomingEvent | WaitingEvent): event is WaitingEvent {
  return "waitedMs" in event;
}

/**
 * Splits `events` and those of their accounts that wait already into what can be recorded and what
 * has to wait. Moves `recorded` on, whose keys are account keys. Events without a place in a source
 * are always ready. What is not newer than the newest recorded one is ready too: a source whose
 * database was restored repeats its numbers.
 */
export function inSourceOrder(
  events: readonly IncomingEvent[],
  waiting: readonly WaitingEvent[],
  recorded: ReadonlyMap<string, RecordedSequences>,
): Ordered {
  const waitingIds = new Set(waiting.map(({ eventId }) => eventId));
  const all = [...waiting, ...events.filter(({ eventId }) => !waitingIds.has(eventId))];
  const next = new Map<string, Placed[]>();
  const early: EarlyEvent[] = [];
  const missing: MissingEvents[] = [];
  for (const [key, ofAccount] of Map.groupBy(all.filter(isPlaced), keyOf)) {
    const queues = SOURCES.map((source) => queueOf(source, ofAccount));
    const known = recorded.get(key) ?? nothingKnown();
    next.set(key, takeReady(queues, known, missing));
    early.push(...queues.flatMap((queue) => leftOf(queue, known)));
  }
  // Each account keeps its places in the order of arrival.
  const ready = all.flatMap((event): (IncomingEvent | WaitingEvent)[] =>
    isPlaced(event) ? (next.get(keyOf(event))?.splice(0, 1) ?? []) : [event],
  );
  return { ready, early, missing };
}

type Placed = (IncomingEvent & { readonly place: SourcePlace }) | WaitingEvent;

/** The events of an account from one source, oldest first. */
interface SourceQueue {
  readonly source: Source;
  readonly sorted: readonly Placed[];
  /** Where they arrived among those of the account. */
  readonly arrivals: readonly number[];
  /** Up to this sequence they have waited for too long for an older one of their source. */
  readonly overdueUpTo: number;
  /** Up to this sequence they have waited for too long for the other source. */
  readonly otherOverdueUpTo: number;
  /** How many of them are ready. */
  taken: number;
  /** How many of the others waited before. */
  waiting: number;
}

function isPlaced(event: IncomingEvent | WaitingEvent): event is Placed {
  return event.place !== null;
}

function keyOf(event: IncomingEvent | WaitingEvent): string {
  return accountKey(event.serverId ?? "", event.accountNumber ?? "");
}

function nothingKnown(): RecordedSequences {
  return { account: { sequence: null, through: null }, finance: { sequence: null, through: null } };
}

function queueOf(source: Source, ofAccount: readonly Placed[]): SourceQueue {
  const arrived = ofAccount.flatMap((event, arrival) => (event.place.source === source ? [{ event, arrival }] : []));
  const sorted = arrived.map(({ event }) => event).toSorted((a, b) => a.place.sequence - b.place.sequence);
  const waitedFor = (ms: number): number =>
    sorted.findLast((event) => isWaiting(event) && event.waitedMs > ms)?.place.sequence ?? 0;
  return {
    source,
    sorted,
    arrivals: arrived.map(({ arrival }) => arrival),
    overdueUpTo: waitedFor(MAX_WAIT_MS),
    otherOverdueUpTo: waitedFor(MAX_OTHER_SOURCE_WAIT_MS),
    taken: 0,
    waiting: sorted.filter(isWaiting).length,
  };
}

/**
 * Takes what need not wait from the queues of an account, in order. Adds what it no longer waits
 * for to `missing`.
 */
function takeReady(queues: readonly SourceQueue[], recorded: RecordedSequences, missing: MissingEvents[]): Placed[] {
  const ready: Placed[] = [];
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
    moveOn(recorded, event.place);
    queue.taken += 1;
    if (isWaiting(event)) queue.waiting -= 1;
    ready.push(event);
  }
}

/** Only the oldest can wait for the other source alone; the others wait for the oldest, too. */
function leftOf({ sorted, taken }: SourceQueue, recorded: RecordedSequences): EarlyEvent[] {
  return sorted
    .slice(taken)
    .map((event, index) => ({ event, isForOtherSource: index === 0 && isForOtherSource(event.place, recorded) }));
}

/** Whether an older one of its source is not recorded. */
function lacksOwn({ source, sequence }: SourcePlace, recorded: RecordedSequences): boolean {
  const { sequence: last } = recorded[source];
  return last !== null && sequence > last + 1;
}

/** Whether an older one of the other source is not recorded. What is repeated waits for nothing. */
function lacksOther({ source, sequence, after }: SourcePlace, recorded: RecordedSequences): boolean {
  const { sequence: last } = recorded[source];
  const { through } = recorded[OTHER[source]];
  const isRepeated = last !== null && sequence <= last;
  return !isRepeated && after !== null && through !== null && after > through;
}

/**
 * Whether it waits for the other source alone, and therefore not for long. `account.created` is the
 * exception: it is the first event of every account, and is waited for like one of the own source.
 */
function isForOtherSource(place: SourcePlace, recorded: RecordedSequences): boolean {
  const isCreated = recorded.account.sequence !== 0;
  return isCreated && !lacksOwn(place, recorded) && lacksOther(place, recorded);
}

/** Whether it waits for too long, or more than {@link MAX_WAITING} events wait. */
function isGivenUpFor(queue: SourceQueue, place: SourcePlace, recorded: RecordedSequences): boolean {
  const upTo = isForOtherSource(place, recorded) ? queue.otherOverdueUpTo : queue.overdueUpTo;
  return queue.waiting > MAX_WAITING || place.sequence <= upTo;
}

function missingBefore(queue: SourceQueue, event: Placed, recorded: RecordedSequences): MissingEvents[] {
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
 * A fact of a release that gives no place makes the source's place unknown, so that nothing waits
 * for it in vain. So does giving up the other source: nothing waits for it until its next fact is
 * recorded.
 */
function moveOn(recorded: RecordedSequences, place: SourcePlace): void {
  const own = recorded[place.source];
  if (lacksOther(place, recorded)) recorded[OTHER[place.source]].through = null;
  own.sequence = Math.max(own.sequence ?? 0, place.sequence);
  own.through = place.through === null ? null : Math.max(own.through ?? 0, place.through);
}
