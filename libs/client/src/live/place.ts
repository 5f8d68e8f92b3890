/**
 * How far a program has handled the samples of an account, and which samples were missing. An event
 * of the live stream (`LiveEvent` in events.ts) has the place after this event. The program stores
 * this place together with the effect of the event.
 */

/** Number of announced gaps that a place keeps. Older ones are only counted. */
const KEPT_TRUNCATIONS = 100;

/**
 * An announced gap: kapi has announced that these samples are no longer available. Both sequences
 * are inclusive. `to` is below `from` if the stored place was beyond the account's last sample.
 */
export interface Truncation {
  readonly from: number;
  readonly to: number;
}

/** A place, as plain JSON. Store it as it is. */
export interface Place {
  /** Sequence of the first sample that was handled. */
  readonly from: number;
  /** Sequence up to which every sample was handled, or announced as missing. */
  readonly sequence: number;
  /** The newest announced gaps, oldest first. */
  readonly truncations: readonly Truncation[];
  readonly truncationCount: number;
}

/** The samples that were handled, from the first one on, over all restarts of the program. */
export interface Proof {
  readonly from: number;
  readonly to: number;
  /** Whether every sample from `from` to `to` was handled, in order. */
  readonly contiguous: boolean;
  /** The newest announced gaps, oldest first; empty if `contiguous`. */
  readonly truncations: readonly Truncation[];
  readonly truncationCount: number;
}

/** The place after a sample. The caller has checked that the sample follows `place`. */
export function placeAfterSample(place: Place | null, sequence: number): Place {
  if (place === null) return { from: sequence, sequence, truncations: [], truncationCount: 0 };
  return { ...place, sequence };
}

/** The place after an announced gap. The next sample follows this gap. */
export function placeAfterTruncation(place: Place | null, truncation: Truncation): Place {
  const { truncations, truncationCount, from } = place ?? {
    truncations: [],
    truncationCount: 0,
    from: truncation.from,
  };
  return {
    from,
    sequence: truncation.to,
    truncations: [...truncations, truncation].slice(-KEPT_TRUNCATIONS),
    truncationCount: truncationCount + 1,
  };
}

/** Returns what a place proves. */
export function proofOf({ from, sequence, truncations, truncationCount }: Place): Proof {
  return { from, to: sequence, contiguous: truncationCount === 0, truncations, truncationCount };
}
