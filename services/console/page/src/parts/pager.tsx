import type { Pagination } from "../api/shapes.ts";
import { credits as whole } from "../format.ts";

interface PagerProps {
  readonly pagination: Omit<Pagination, "nextCursor">;
  /** The listed items, singular and plural: "account", "accounts". */
  readonly what: readonly [one: string, many: string];
  readonly go: (page: number) => void;
}

/**
 * The number of items of a list. If there are several pages, also the page number, and buttons for
 * the previous and the next page.
 */
export function Pager({ pagination, what, go }: PagerProps) {
  const { page, total, totalPages } = pagination;
  const [one, many] = what;
  const count = `${whole(total)} ${total === 1 ? one : many}`;
  if (totalPages <= 1 && page === 1) return <p class="pager quiet">{count}</p>;
  return (
    <nav class="pager" aria-label={`Pages of ${many}`}>
      <span role="status">
        Page {whole(page)} of {whole(totalPages)} · {count}
      </span>
      <button type="button" disabled={page <= 1} onClick={() => go(page - 1)}>
        Newer
      </button>
      <button type="button" disabled={page >= totalPages} onClick={() => go(page + 1)}>
        Older
      </button>
    </nav>
  );
}
