import type { UrlState } from "./url-state.ts";

interface CursorPagerProps {
  readonly state: UrlState;
  /** The cursor of the next page; null: the page shown is the last. */
  readonly next: string | null;
  /** The listed items: "deals". */
  readonly what: string;
  /** Labels of the buttons; absent: "Newer" and "Older". */
  readonly labels?: readonly [back: string, on: string];
}

const BY_TIME = ["Newer", "Older"] as const;

/** Buttons for the previous and the next page; nothing if there is only one page. */
export function CursorPager({ state, next, what, labels: [back, on] = BY_TIME }: CursorPagerProps) {
  if (state.cursor === null && next === null) return null;
  return (
    <nav class="pager" aria-label={`Pages of ${what}`}>
      <button type="button" disabled={state.cursor === null} onClick={() => state.newer()}>
        {back}
      </button>
      <button type="button" disabled={next === null} onClick={() => (next === null ? undefined : state.older(next))}>
        {on}
      </button>
    </nav>
  );
}
