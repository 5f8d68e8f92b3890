/** Which rows of a long table are rendered, from the heights of rows. */

/** Rows rendered above and below the screen. */
const OVERSCAN_ROWS = 20;

/** Some adjacent rows, and the height of the rows between them and the rows before. */
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

/** Heights of rows; the mean of the known heights stands for an unknown height. */
export class RowHeights {
  readonly #known = new Map<number, number>();
  #sumPx = 0;
  readonly #initialPx: number;

  constructor(initialPx: number) {
    this.#initialPx = initialPx;
  }

  /** Records a height; returns whether it was another one before. */
  set(index: number, heightPx: number): boolean {
    const before = this.#known.get(index);
    if (before === heightPx) return false;
    this.#sumPx += heightPx - (before ?? 0);
    this.#known.set(index, heightPx);
    return true;
  }

  clear(): void {
    this.#known.clear();
    this.#sumPx = 0;
  }

  /** Height of the rows in [from, to). */
  between(from: number, to: number): number {
    const mean = this.mean();
    let sum = 0;
    for (let index = from; index < to; index += 1) sum += this.#known.get(index) ?? mean;
    return sum;
  }

  /** The row at a height below the top of the first row, and at most `count - 1`. */
  rowAt(heightPx: number, count: number): number {
    const mean = this.mean();
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      sum += this.#known.get(index) ?? mean;
      if (sum > heightPx) return index;
    }
    return Math.max(count - 1, 0);
  }

  mean(): number {
    return this.#known.size === 0 ? this.#initialPx : this.#sumPx / this.#known.size;
  }
}

interface Shown {
  readonly count: number;
  /** The part of the table on the screen, from the top of its first row. */
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
