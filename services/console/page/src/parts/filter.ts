import { queryOf } from "../api/client.ts";
import { go } from "../router.tsx";

/** Page number of a query; 1 if missing or malformed. */
export function pageIn(query: URLSearchParams): number {
  const text = query.get("page") ?? "";
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 1;
}

/**
 * Changes fields of the query of a list; an empty text removes a field. The fields `page` and
 * `cursor` are removed too, unless they are changed. All other fields stay.
 */
export function filterBy(
  path: string,
  query: URLSearchParams,
  changes: Readonly<Record<string, string | number>>,
): void {
  const { page: _page, cursor: _cursor, ...kept } = Object.fromEntries(query);
  go(path + queryOf({ ...kept, ...changes }));
}
