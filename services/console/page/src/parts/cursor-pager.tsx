import type { UrlState } from "./url-state.ts";

interface CursorPagerProps {
  readonly state: UrlState;
  /** The cursor of the next page; null: the page shown is the last. */
  readonly next: string | null;
  /** The listed items: "deals". */
  readonly what: string;
}

/** Buttons for the newer and the older page of a list; nothing if there is only one page. */
export function CursorPager({ state, next, what }: CursorPagerProps) {
  if (state.cursor === null && next === null) return null;
  return (
    <nav class="pager" aria-label={`Pages of ${what}`}>
      <button type="button" disabled={state.cursor === null} onClick={() => state.newer()}>
        Newer
      </button>
      <button type="button" disabled={next === null} onClick={() => (next === null ? undefined : state.older(next))}>
        Older
      </button>
    </nav>
  );
}
