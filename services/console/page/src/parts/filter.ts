import { queryOf } from "../api/client.ts";
import { go } from "../router.tsx";

/** The number of the page that a query names; 1 for none, and for what is no such number. */
export function pageIn(query: URLSearchParams): number {
  const text = query.get("page") ?? "";
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 1;
}

/**
 * Shows the same list with `changes` to its query. Whatever changes but the page itself begins at
 * the first page again.
 */
export function filterBy(
  path: string,
  query: URLSearchParams,
  changes: Readonly<Record<string, string | number>>,
): void {
  const { page: _first, ...kept } = Object.fromEntries(query);
  go(path + queryOf({ ...kept, ...changes }));
}
