/** Renders only the rows of a long table that are near the screen. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { RowHeights, type Rows, rowsToRender } from "./row-window.ts";

/** A table with more rows renders only the rows near the screen. */
const MAX_RENDERED_ROWS = 200;
const INITIAL_ROW_PX = 40;
/** Class of a table whose columns have fixed widths. */
const FIXED = "fixed";

export type { Rows } from "./row-window.ts";

/** The rows to render of the table with the body `body`; null: all of them. */
export function useVirtualRows(body: RefObject<HTMLTableSectionElement | null>, count: number): Rows | null {
  const isVirtual = count > MAX_RENDERED_ROWS;
  const heights = useRef(new RowHeights(INITIAL_ROW_PX));
  const [, renderAgain] = useState({});
  const rows = isVirtual ? rowsToRender(heights.current, shownOf(body.current, count)) : null;
  useLayoutEffect(() => {
    const element = body.current;
    if (!isVirtual || element === null) return;
    fixColumnWidths(element);
    if (measure(element, heights.current)) renderAgain({});
  }, [body, isVirtual, rows]);
  useEffect(() => {
    if (!isVirtual) return undefined;
    let frame = 0;
    const moved = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => renderAgain({}));
    };
    let widthPx = innerWidth;
    const resized = (): void => {
      if (innerWidth !== widthPx) {
        widthPx = innerWidth;
        heights.current.clear();
        if (body.current !== null) forgetColumnWidths(body.current);
      }
      moved();
    };
    addEventListener("scroll", moved, { passive: true });
    addEventListener("resize", resized);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener("scroll", moved);
      removeEventListener("resize", resized);
    };
  }, [isVirtual, body]);
  return rows;
}

function shownOf(element: HTMLTableSectionElement | null, count: number) {
  if (element === null) return { count, topPx: 0, bottomPx: innerHeight, focused: null };
  const topPx = -element.getBoundingClientRect().top;
  return { count, topPx, bottomPx: topPx + innerHeight, focused: focusedRow(element) };
}

function focusedRow(element: HTMLTableSectionElement): number | null {
  const row = element.contains(document.activeElement) ? document.activeElement?.closest("tr") : null;
  const index = row?.dataset["index"];
  return index === undefined ? null : Number(index);
}

/** Records the heights of the rendered rows; returns whether any height is new or changed. */
function measure(element: HTMLTableSectionElement, heights: RowHeights): boolean {
  const rows = [...element.querySelectorAll<HTMLTableRowElement>("tr[data-index]")];
  return heights.record(rows.map((row) => [Number(row.dataset["index"]), row.getBoundingClientRect().height] as const));
}

/**
 * Fixes the columns at their present widths, so that they do not jump when other rows are rendered.
 * A change of the page's width removes the fixed widths.
 */
function fixColumnWidths(element: HTMLTableSectionElement): void {
  const table = element.closest("table");
  if (table === null || table.classList.contains(FIXED)) return;
  const heads = headsOf(element).map((head) => [head, head.getBoundingClientRect().width] as const);
  for (const [head, widthPx] of heads) head.style.width = `${widthPx}px`;
  table.classList.add(FIXED);
}

function forgetColumnWidths(element: HTMLTableSectionElement): void {
  element.closest("table")?.classList.remove(FIXED);
  for (const head of headsOf(element)) head.style.width = "";
}

function headsOf(element: HTMLTableSectionElement): HTMLTableCellElement[] {
  return [...(element.parentElement?.querySelectorAll<HTMLTableCellElement>("thead th") ?? [])];
}
