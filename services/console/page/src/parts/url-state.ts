/**
 * The state of a list in the address: filters, order and page. So a list can be reloaded, shared
 * and bookmarked, and the browser's back button restores it.
 */
import { useMemo } from "preact/hooks";

import { goToQuery, usePageAddress } from "../router.tsx";

const PAGE = "page";
const CURSOR = "cursor";
const SORT = "sort";

/** The order of a list: a field, and its direction. */
export interface Sort<F extends string = string> {
  readonly field: F;
  readonly descending: boolean;
}

/** A change of fields of the query; null and empty texts remove the field. */
type Changes = Readonly<Record<string, string | number | null | undefined>>;

/** The fields of one list in the query of the address. */
export interface UrlState {
  /** A field of the query; empty if missing. */
  get(field: string): string;
  /**
   * Changes fields. The list starts at its first page again. `replace` changes the current entry of
   * the history, for example while a person types.
   */
  set(changes: Changes, options?: { readonly replace?: boolean }): void;
  /** The cursor of the page shown; null: the first page. */
  readonly cursor: string | null;
  /** Shows the page at a cursor: the page after the page shown. */
  older(cursor: string): void;
  /**
   * Shows the page before the page shown. If the page shown was opened by its address, the previous
   * page is unknown, and the first page is shown instead.
   */
  newer(): void;
}

/**
 * The cursors of the pages before the page shown, in the order of the pages; null: the first page.
 * The trail is kept in the state of the entry of the browser's history.
 */
interface Trail {
  readonly trail: readonly (string | null)[];
}

/**
 * The state of one list in the address. `prefix`, such as `deals.`, begins the names of its fields.
 */
export function useUrlState(prefix = ""): UrlState {
  const { query } = usePageAddress();
  const text = query.toString();
  return useMemo(() => urlState(new URLSearchParams(text), prefix), [text, prefix]);
}

function urlState(query: URLSearchParams, prefix: string): UrlState {
  const cursor = query.get(prefix + CURSOR);
  const toPage = (next: string | null, trail: Trail["trail"]): void => {
    const changed = changedQuery(query, prefix, { [CURSOR]: next });
    goToQuery(changed, { state: { trail } satisfies Trail });
  };
  return {
    get: (field) => query.get(prefix + field) ?? "",
    set: (changes, options) => goToQuery(changedQuery(query, prefix, changes), options),
    cursor,
    older: (next) => toPage(next, [...currentTrail(), cursor]),
    newer: () => {
      const trail = currentTrail();
      toPage(trail.at(-1) ?? null, trail.slice(0, -1));
    },
  };
}

/** The query after a change. Page and cursor are removed, unless the change sets them. */
export function changedQuery(query: URLSearchParams, prefix: string, changes: Changes): URLSearchParams {
  const changed = new URLSearchParams(query);
  for (const field of [PAGE, CURSOR]) changed.delete(prefix + field);
  for (const [field, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") changed.delete(prefix + field);
    else changed.set(prefix + field, String(value));
  }
  return changed;
}

function currentTrail(): Trail["trail"] {
  const state = history.state as Partial<Trail> | null;
  return Array.isArray(state?.trail) ? state.trail : [];
}

/** The order in the address, such as `equity` or `-equity`; `initial` if missing or unknown. */
export function sortIn<F extends string>(state: UrlState, fields: readonly F[], initial: Sort<F>): Sort<F> {
  const text = state.get(SORT);
  const descending = text.startsWith("-");
  const field = fields.find((known) => known === (descending ? text.slice(1) : text));
  return field === undefined ? initial : { field, descending };
}

/** The text of an order, as in the address and for the API. */
export function sortText({ field, descending }: Sort): string {
  return descending ? `-${field}` : field;
}

/** Shows the list in another order. */
export function sortBy(state: UrlState, sort: Sort): void {
  state.set({ [SORT]: sortText(sort) });
}
