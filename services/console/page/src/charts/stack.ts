/** Usage of one day by operation, in credits. */
export interface DayUsage {
  /** In UTC: `2026-11-21`. */
  readonly day: string;
  readonly operations: readonly { readonly operation: string; readonly requests: number; readonly credits: number }[];
}

/** One layer of a stacked chart. */
export interface Layer {
  readonly name: string;
  /** Credits of each day; negative on a day with more refunds than usage. */
  readonly credits: readonly number[];
  /** Upper edge of each day: the heights of this layer and the layers below it. */
  readonly tops: number[];
}

/** Maximum number of layers. If there are more operations, the smallest ones share a layer. */
export const MAX_LAYERS = 6;
const OTHERS = "other operations";

/**
 * Layers of a stacked chart, the largest operation at the bottom. A layer with more refunds than
 * usage on a day has no height on that day.
 */
export function stack(days: readonly DayUsage[]): readonly Layer[] {
  const totals = new Map<string, number>();
  for (const { operations } of days) {
    for (const { operation, credits } of operations) totals.set(operation, (totals.get(operation) ?? 0) + credits);
  }
  const names = [...totals.keys()].toSorted((a, b) => (totals.get(b) ?? 0) - (totals.get(a) ?? 0) || (a < b ? -1 : 1));
  const alone = names.length > MAX_LAYERS ? names.slice(0, MAX_LAYERS - 1) : names;
  const layers = alone.length < names.length ? [...alone, OTHERS] : alone;
  const known = new Set(alone);
  const heights = days.map(() => 0);
  return layers.map((name) => {
    const credits = days.map(({ operations }) =>
      operations
        .filter(({ operation }) => (known.has(operation) ? operation : OTHERS) === name)
        .reduce((sum, used) => sum + used.credits, 0),
    );
    const tops = credits.map((amount, index) => (heights[index] = (heights[index] ?? 0) + Math.max(amount, 0)));
    return { name, credits, tops };
  });
}
