/**
 * Books the events of changes before their commands complete. So the account event of a change
 * follows the events of everything that happened earlier (decisions, 11). The response to a change
 * usually comes before the topic delivers the earlier events. So the booking first waits for the
 * topic for a short time. Then it reads the trading server's history.
 *
 * This is best effort: no command fails because of it, and a batch waits for at most half a second.
 * An event that is not booked in time is booked after its command has completed.
 */
import type { TradingEvent, AccountRef } from "@kapi/contracts";
import { delay, monotonicClock, type Urgency } from "@kapi/kernel";

import type { FeedSource, HistoryReader } from "../domain/history-ports.ts";

/** Maximum wait of a batch. */
const MAX_WAIT_MS = 500;
/** Maximum wait for the topic, within {@link MAX_WAIT_MS}. */
const TOPIC_WAIT_MS = 150;
const TOPIC_POLL_INTERVAL_MS = 25;
/** Maximum number of concurrent history reads per server, in all batches. Hanging reads count. */
const MAX_CONCURRENT_READS = 8;

/** The event made by a command's change. */
export interface BookableChange {
  readonly account: AccountRef;
  readonly event: TradingEvent;
  /** The span of the command. */
  readonly traceparent: string | undefined;
}

/**
 * The booked history and the source of missing events. Their errors never fail a command: an event
 * that cannot be booked in time is booked later from the topic.
 */
export interface ChangeBookingDependencies {
  readonly reader: Pick<HistoryReader, "bookedSequences">;
  readonly feed: Pick<FeedSource, "book" | "bookNextPage">;
  /** While a booking waits for the topic, the reader of the topic makes shorter pauses. */
  readonly urgency: Urgency;
}

/**
 * Books the events of changes on one server. `changes` has at most one change of an account. Never
 * rejects.
 */
export type BookChanges = (serverId: string, changes: readonly BookableChange[]) => Promise<void>;

/** Creates the booking of changes; one per process. */
export function createChangeBooking(dependencies: ChangeBookingDependencies): BookChanges {
  const booking = new ChangeBooking(dependencies);
  return (serverId, changes) => booking.book(serverId, changes);
}

class ChangeBooking {
  readonly #dependencies: ChangeBookingDependencies;
  /** By server id: the account numbers whose history is being read. */
  readonly #asked = new Map<string, Set<string>>();

  constructor(dependencies: ChangeBookingDependencies) {
    this.#dependencies = dependencies;
  }

  async book(serverId: string, changes: readonly BookableChange[]): Promise<void> {
    if (changes.length === 0) return;
    const ended = new AbortController();
    const work = this.#bookAll(serverId, changes, ended.signal).catch(() => undefined);
    await Promise.race([work, delay(MAX_WAIT_MS, ended.signal)]);
    ended.abort();
  }

  async #bookAll(serverId: string, changes: readonly BookableChange[], ended: AbortSignal): Promise<void> {
    const topicUntilMs = monotonicClock.nowMs() + TOPIC_WAIT_MS;
    let waiting = await this.#withoutBooked(changes);
    if (waiting.length === 0) return;
    const endUrgency = this.#dependencies.urgency.begin();
    try {
      while (waiting.length > 0 && monotonicClock.nowMs() < topicUntilMs && !ended.aborted) {
        await delay(TOPIC_POLL_INTERVAL_MS, ended);
        waiting = await this.#withoutBooked(waiting);
      }
    } finally {
      endUrgency();
    }
    const rest = waiting.values();
    const work = async (): Promise<void> => {
      for (const change of rest) {
        if (ended.aborted) return;
        await this.#askHistory(serverId, change);
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT_READS }, work));
  }

  /**
   * Books each event that is next in its account. Returns the changes whose event must wait for
   * missing earlier events.
   */
  async #withoutBooked(changes: readonly BookableChange[]): Promise<BookableChange[]> {
    const { reader, feed } = this.#dependencies;
    const booked = await reader.bookedSequences(changes.map(({ account }) => account));
    const behind = changes.map(({ event }, index) => event.sequence - (booked[index] ?? Number.POSITIVE_INFINITY));
    const next = changes.filter((_, index) => behind[index] === 1);
    await Promise.all(next.map(({ event, traceparent }) => feed.book(event, traceparent)));
    return changes.filter((_, index) => (behind[index] ?? 0) > 1);
  }

  async #askHistory(serverId: string, { account }: BookableChange): Promise<void> {
    const { reader, feed } = this.#dependencies;
    const asked = this.#asked.get(serverId) ?? new Set<string>();
    if (asked.has(account.accountNumber) || asked.size >= MAX_CONCURRENT_READS) return;
    this.#asked.set(serverId, asked.add(account.accountNumber));
    try {
      const [booked] = await reader.bookedSequences([account]);
      if (booked !== undefined && booked !== null) await feed.bookNextPage(account, booked);
    } catch {
      // The history is unavailable; the topic delivers the events later.
    } finally {
      asked.delete(account.accountNumber);
      if (asked.size === 0) this.#asked.delete(serverId);
    }
  }
}
