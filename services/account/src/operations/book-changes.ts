/**
 * Books the events of changes before their commands end, so that the fact of a change comes behind
 * the facts of what happened before it (decisions, 11). The answer to a change is mostly faster
 * than the topic that brings the events before it, so the topic is given a moment first; then the
 * trading server's history is asked.
 *
 * This is an attempt: a command never fails by it, and a batch of commands waits for it for half a
 * second at most. Then the fact stands where the end of its command is committed.
 */
import type { TradingEvent } from "@kapi/contracts";
import { delay, monotonicClock } from "@kapi/kernel";

import type { FeedSource, HistoryReader } from "../domain/history-ports.ts";
import type { AccountName } from "../domain/ports.ts";

/** How long a batch waits in all. */
const MAX_WAIT_MS = 500;
/** How much of that is left to the topic before the history is asked. */
const TOPIC_WAIT_MS = 150;
const LOOK_INTERVAL_MS = 25;
/**
 * Accounts of one server whose history is asked for at once, by all batches; a history that hangs
 * keeps them.
 */
const MAX_ASKED_AT_ONCE = 8;

/** The event that a command's change made. */
export interface BookableChange {
  readonly account: AccountName;
  readonly event: TradingEvent;
  /** The span of the command. */
  readonly traceparent: string | undefined;
}

export interface ChangeBookingSources {
  readonly reader: Pick<HistoryReader, "bookedSequences">;
  readonly feed: Pick<FeedSource, "book" | "bookNextPage">;
}

/** Books the events of a batch of changes on one server, each of another account. Never rejects. */
export type BookChanges = (serverId: string, changes: readonly BookableChange[]) => Promise<void>;

/** Makes the booking of changes of a process. */
export function createChangeBooking(sources: ChangeBookingSources): BookChanges {
  const booking = new ChangeBooking(sources);
  return (serverId, changes) => booking.book(serverId, changes);
}

class ChangeBooking {
  readonly #sources: ChangeBookingSources;
  /** By server, the accounts whose history is asked for now. */
  readonly #asked = new Map<string, Set<string>>();

  constructor(sources: ChangeBookingSources) {
    this.#sources = sources;
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
    while (waiting.length > 0 && monotonicClock.nowMs() < topicUntilMs && !ended.aborted) {
      await delay(LOOK_INTERVAL_MS, ended);
      waiting = await this.#withoutBooked(waiting);
    }
    const rest = waiting.values();
    const work = async (): Promise<void> => {
      for (const change of rest) {
        if (ended.aborted) return;
        await this.#askHistory(serverId, change);
      }
    };
    await Promise.all(Array.from({ length: MAX_ASKED_AT_ONCE }, work));
  }

  /** Books what comes next of its account; gives the changes before which an event is missing. */
  async #withoutBooked(changes: readonly BookableChange[]): Promise<BookableChange[]> {
    const { reader, feed } = this.#sources;
    const booked = await reader.bookedSequences(changes.map(({ account }) => account));
    const behind = changes.map(({ event }, index) => event.sequence - (booked[index] ?? Number.POSITIVE_INFINITY));
    const next = changes.filter((_, index) => behind[index] === 1);
    await Promise.all(next.map(({ event, traceparent }) => feed.book(event, traceparent)));
    return changes.filter((_, index) => (behind[index] ?? 0) > 1);
  }

  async #askHistory(serverId: string, { account }: BookableChange): Promise<void> {
    const { reader, feed } = this.#sources;
    const asked = this.#asked.get(serverId) ?? new Set<string>();
    if (asked.has(account.accountNumber) || asked.size >= MAX_ASKED_AT_ONCE) return;
    this.#asked.set(serverId, asked.add(account.accountNumber));
    try {
      const [booked] = await reader.bookedSequences([account]);
      if (booked !== undefined && booked !== null) await feed.bookNextPage(account, booked);
    } catch {
      // The trading server's history is not to be had now; the topic brings the events later.
    } finally {
      asked.delete(account.accountNumber);
      if (asked.size === 0) this.#asked.delete(serverId);
    }
  }
}
