import type { ReplayFrame } from "@kapi/contracts";

/** The position of a client in one account's stream, and the messages that may follow. */
export class Place {
  /** The last processed sequence. The client reconnects with this sequence. */
  processed = 0;
  /** The last sequence of the running replay. */
  replayedUpTo = 0;
  /** Whether the last subscribe has its notice. */
  isOpen = false;
  /** `afterSequence` of the subscribe that has no notice yet; null without such a subscribe. */
  #asked: number | null = null;
  #next = 0;

  /** Records a subscribe with `afterSequence`; returns that sequence. */
  ask(): number {
    this.#asked = this.processed;
    this.isOpen = false;
    return this.processed;
  }

  /** Applies a replay notice; returns its violation, or null. */
  takeNotice(notice: ReplayFrame): string | null {
    const asked = this.#asked;
    this.#asked = null;
    this.isOpen = true;
    const expected = asked === null ? this.#gapNotice(notice) : openingNotice(notice, asked);
    this.#next = expected.next;
    this.replayedUpTo = notice.lastAvailableSequence;
    if (expected.fault !== null) return `${expected.fault}: ${JSON.stringify(notice)}`;
    const { replayTruncated, replayCount } = notice;
    if (replayTruncated !== expected.truncated) return `replayTruncated is ${replayTruncated} after ${asked}`;
    if (replayCount !== expected.count) return `replayCount is ${replayCount}, not ${expected.count}`;
    return null;
  }

  /** Applies a sample; returns the violation of its sequence, or null. */
  takeSample(sequence: number): string | null {
    const expected = this.#next;
    this.processed = sequence;
    this.#next = sequence + 1;
    if (!this.isOpen) return `sample ${sequence} came before the notice that was asked for`;
    return sequence === expected ? null : `sample ${sequence} came where ${expected} follows`;
  }

  /** After the opening notice, a notice always announces a gap. */
  #gapNotice(notice: ReplayFrame): Expected {
    const { firstAvailableSequence: first, lastAvailableSequence: last } = notice;
    const fault = first > this.#next ? null : `a notice came although ${this.#next} was still to be had`;
    return { next: first, truncated: true, count: last - first + 1, fault };
  }
}

interface Expected {
  readonly next: number;
  readonly truncated: boolean;
  readonly count: number;
  readonly fault: string | null;
}

/** The expected notice for a subscribe after sequence `asked` (decisions, 10.1). */
function openingNotice(notice: ReplayFrame, asked: number): Expected {
  const { firstAvailableSequence: first, lastAvailableSequence: last } = notice;
  const fault = first >= 1 && first <= last + 1 ? null : "no such range of sequences";
  if (asked > last) return { next: last + 1, truncated: true, count: 0, fault };
  const next = Math.max(asked + 1, first);
  return { next, truncated: first > asked + 1, count: last - next + 1, fault };
}
