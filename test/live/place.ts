import type { ReplayFrame } from "@kapi/contracts";

/** Where a client is in one account's stream, and what may come next there. */
export class Place {
  /** The last sequence that was processed: what the client comes back with. */
  processed = 0;
  /** Until this sequence it gets what it has missed. */
  replayedUpTo = 0;
  /** Whether what was asked for last has been answered. */
  isOpen = false;
  /** What was asked for and has had no notice yet. */
  #asked: number | null = null;
  #next = 0;

  /** A subscription with `afterSequence` is asked for; gives that sequence. */
  ask(): number {
    this.#asked = this.processed;
    this.isOpen = false;
    return this.processed;
  }

  /** Takes a replay notice in; the answer is what is wrong with it, or null. */
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

  /** Takes a sample in; the answer is what is wrong with its sequence, or null. */
  takeSample(sequence: number): string | null {
    const expected = this.#next;
    this.processed = sequence;
    this.#next = sequence + 1;
    if (!this.isOpen) return `sample ${sequence} came before the notice that was asked for`;
    return sequence === expected ? null : `sample ${sequence} came where ${expected} follows`;
  }

  /** In the middle of a stream a notice tells of a gap, and of nothing else. */
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

/** The notice that answers a subscription after sequence `asked` (decisions, 10.1). */
function openingNotice(notice: ReplayFrame, asked: number): Expected {
  const { firstAvailableSequence: first, lastAvailableSequence: last } = notice;
  const fault = first >= 1 && first <= last + 1 ? null : "no such range of sequences";
  if (asked > last) return { next: last + 1, truncated: true, count: 0, fault };
  const next = Math.max(asked + 1, first);
  return { next, truncated: first > asked + 1, count: last - next + 1, fault };
}
