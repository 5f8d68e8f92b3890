import type { BreachEvidence, EvidencePosition } from "../api/shapes.ts";

/** Maximum number of positions that are shown, so that a breach fits on one printed page. */
export const MAX_SHOWN_POSITIONS = 6;

/** The positions of evidence that the page shows. */
export interface ShownPositions {
  readonly shown: readonly EvidencePosition[];
  /** Whether the profit of every position is known. Otherwise the order is that of the document. */
  readonly isValued: boolean;
}

/**
 * Chooses the positions with the largest losses; for a profit target, with the largest profits. If
 * a profit is unknown, it chooses the first positions.
 */
export function shownPositions(
  positions: readonly EvidencePosition[],
  side: BreachEvidence["breach"]["side"],
): ShownPositions {
  const isValued = positions.every(({ profit }) => profit !== null);
  if (!isValued) return { shown: positions.slice(0, MAX_SHOWN_POSITIONS), isValued };
  const sign = side === "atOrBelow" ? 1 : -1;
  const sorted = positions.toSorted((one, other) => sign * (Number(one.profit) - Number(other.profit)));
  return { shown: sorted.slice(0, MAX_SHOWN_POSITIONS), isValued };
}
