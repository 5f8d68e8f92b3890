import { describe, expect, it } from "vitest";

import { RowHeights, type Rows, rowsToRender } from "./row-window.ts";

const COUNT = 5_000;
const ROW_PX = 40;

function heightOf({ segments, restPx }: Rows, heights: RowHeights): number {
  const rendered = segments.map(({ from, to, skippedPx }) => skippedPx + heights.between(from, to));
  return rendered.reduce((sum, one) => sum + one, restPx);
}

describe("a table of 5,000 rows", () => {
  it("renders the rows on the screen and near it, and keeps its height wherever it is scrolled to", () => {
    const heights = new RowHeights(ROW_PX);
    for (const topPx of [-500, 0, 40_000, COUNT * ROW_PX - 800, COUNT * ROW_PX + 9_000]) {
      const shown = { count: COUNT, topPx, bottomPx: topPx + 800, focused: null };
      const rows = rowsToRender(heights, shown);
      const [{ from, to } = { from: 0, to: 0 }] = rows.segments;
      expect(rows.segments).toHaveLength(1);
      expect(to - from).toBeLessThanOrEqual(61);
      expect(from).toBeLessThanOrEqual(Math.min(Math.max(topPx, 0) / ROW_PX, COUNT - 1));
      expect(to).toBeGreaterThanOrEqual(Math.min(shown.bottomPx / ROW_PX, COUNT));
      expect(heightOf(rows, heights)).toBe(COUNT * ROW_PX);
    }
  });

  it("renders the row with the focus, also far from the screen", () => {
    const heights = new RowHeights(ROW_PX);
    for (const [focused, segment] of [
      [3, 0],
      [4_990, 1],
    ] as const) {
      const rows = rowsToRender(heights, { count: COUNT, topPx: 80_000, bottomPx: 80_800, focused });
      expect(rows.segments[segment]).toMatchObject({ from: focused, to: focused + 1 });
      expect(heightOf(rows, heights)).toBe(COUNT * ROW_PX);
    }
  });

  it("estimates the height of rows without a measured height by the first measured rows, and keeps the estimate", () => {
    const heights = new RowHeights(ROW_PX);
    const first = [
      [0, 50],
      [1, 70],
    ] as const;
    expect(heights.record(first)).toBe(true);
    expect(heights.record(first)).toBe(false);
    expect(heights.record([[3, 100]])).toBe(true);
    expect(heights.between(0, 5)).toBe(50 + 70 + 60 + 100 + 60);
    expect(heights.rowAt(121, 5)).toBe(2);
    heights.clear();
    expect(heights.between(0, 4)).toBe(160);
  });
});
