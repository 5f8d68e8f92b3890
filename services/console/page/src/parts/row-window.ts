/** Decides which rows of a long table are rendered. It uses the heights of the rows. */

/** Number of rows rendered above the screen, and the same number below it. */
const OVERSCAN_ROWS = 20;

/** Adjacent rendered rows, and the height of the skipped rows before them. */
interface Segment {
  readonly from: number;
  /** Excluded. */
  readonly to: number;
  readonly skippedPx: number;
}

/** The rendered rows of a table. */
export interface Rows {
  readonly segments: readonly Segment[];
  /** Height of the rows after the last segment. */
  readonly restPx: number;
}

/** The heights of rendered rows, and an estimate for rows that were never rendered. */
export class RowHeights {
  readonly #known = new Map<number, number>();
  readonly #initialPx: number;
  #estimatePx: number;

  constructor(initialPx: number) {
    this.#initialPx = initialPx;
    this.#estimatePx = initialPx;
  }

  /**
   * Records the heights of rendered rows; returns whether any of them is new or changed. The first
   * recorded rows decide the estimate. It stays, because a later change would move all rows.
   */
  record(heights: readonly (readonly [index: number, heightPx: number])[]): boolean {
    if (this.#known.size === 0 && heights.length > 0) {
      this.#estimatePx = heights.reduce((sum, [, heightPx]) => sum + heightPx, 0) / heights.length;
    }
    const changed = heights.filter(([index, heightPx]) => this.#known.get(index) !== heightPx);
    for (const [index, heightPx] of changed) this.#known.set(index, heightPx);
    return changed.length > 0;
  }

  /** Forgets all heights and the estimate. */
  clear(): void {
    this.#known.clear();
    this.#estimatePx = this.#initialPx;
  }

  /** Height of the rows in [from, to). */
  between(from: number, to: number): number {
    let sum = 0;
    for (let index = from; index < to; index += 1) sum += this.#known.get(index) ?? this.#estimatePx;
    return sum;
  }

  /** Index of the row that is `heightPx` below the top of the first row; at most `count - 1`. */
  rowAt(heightPx: number, count: number): number {
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      sum += this.#known.get(index) ?? this.#estimatePx;
      if (sum > heightPx) return index;
    }
    return Math.max(count - 1, 0);
  }
}

interface Shown {
  readonly count: number;
  /** The top and bottom edge of the screen, measured from the top of the first row. */
  readonly topPx: number;
  readonly bottomPx: number;
  /** A row that stays rendered, because it has the focus; null: none. */
  readonly focused: number | null;
}

/** The rows to render: those on and near the screen, and the row that has the focus. */
export function rowsToRender(heights: RowHeights, { count, topPx, bottomPx, focused }: Shown): Rows {
  const from = Math.max(heights.rowAt(Math.max(topPx, 0), count) - OVERSCAN_ROWS, 0);
  const to = Math.min(heights.rowAt(Math.max(bottomPx, 0), count) + 1 + OVERSCAN_ROWS, count);
  const ranges: [number, number][] = [[from, to]];
  if (focused !== null && focused < count) {
    if (focused < from) ranges.unshift([focused, focused + 1]);
    if (focused >= to) ranges.push([focused, focused + 1]);
  }
  let end = 0;
  const segments = ranges.map(([first, last]) => {
    const segment = { from: first, to: last, skippedPx: heights.between(end, first) };
    end = last;
    return segment;
  });
  return { segments, restPx: heights.between(end, count) };
}
