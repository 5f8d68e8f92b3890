import type { ReplayFrame } from "@kapi/contracts";

/** The position of a client in one account's stream, and the messages that may follow. */
export class StreamPosition {
  /** The last processed sequence. The client reconnects with this sequence. */
  processed = 0;
  /** The last sequence of the newest replay. Samples after it are live. */
  replayedUpTo = 0;
  /** Whether the notice that answers the last subscribe has arrived. */
  isOpen = false;
  /** `afterSequence` of the subscribe that has no notice yet; null without such a subscribe. */
  #requestedAfter: number | null = null;
  #next = 0;

  /** Records a subscribe after {@link processed}. Returns its `afterSequence`. */
  subscribe(): number {
    this.#requestedAfter = this.processed;
    this.isOpen = false;
    return this.processed;
  }

  /** Applies a replay notice; returns its violation, or null. */
  applyNotice(notice: ReplayFrame): string | null {
    const requestedAfter = this.#requestedAfter;
    this.#requestedAfter = null;
    this.isOpen = true;
    const expected = requestedAfter === null ? this.#gapNotice(notice) : openingNotice(notice, requestedAfter);
    this.#next = expected.next;
    this.replayedUpTo = notice.lastAvailableSequence;
    if (expected.fault !== null) return `${expected.fault}: ${JSON.stringify(notice)}`;
    const { replayTruncated, replayCount } = notice;
    if (replayTruncated !== expected.truncated) {
      const cause = requestedAfter === null ? "the notice of a gap" : `the notice for afterSequence ${requestedAfter}`;
      return `replayTruncated is ${replayTruncated} in ${cause}`;
    }
    if (replayCount !== expected.count) return `replayCount is ${replayCount}, not ${expected.count}`;
    return null;
  }

  /** Applies a sample; returns the violation of its sequence, or null. */
  applySample(sequence: number): string | null {
    const expected = this.#next;
    this.processed = sequence;
    this.#next = sequence + 1;
    if (!this.isOpen) return `sample ${sequence} came before the notice of the last subscribe`;
    return sequence === expected ? null : `sample ${sequence} came, but ${expected} was expected`;
  }

  /** A notice that answers no subscribe always announces a gap. */
  #gapNotice(notice: ReplayFrame): Expected {
    const { firstAvailableSequence: first, lastAvailableSequence: last } = notice;
    const fault = first > this.#next ? null : `a notice of a gap came although sample ${this.#next} is still available`;
    return { next: first, truncated: true, count: last - first + 1, fault };
  }
}

interface Expected {
  readonly next: number;
  readonly truncated: boolean;
  readonly count: number;
  readonly fault: string | null;
}

/** The expected notice for a subscribe after sequence `requestedAfter` (decisions, 10.1). */
function openingNotice(notice: ReplayFrame, requestedAfter: number): Expected {
  const { firstAvailableSequence: first, lastAvailableSequence: last } = notice;
  const fault =
    first >= 1 && first <= last + 1 ? null : "firstAvailableSequence and lastAvailableSequence are not a range";
  if (requestedAfter > last) return { next: last + 1, truncated: true, count: 0, fault };
  const next = Math.max(requestedAfter + 1, first);
  return { next, truncated: first > requestedAfter + 1, count: last - next + 1, fault };
}
