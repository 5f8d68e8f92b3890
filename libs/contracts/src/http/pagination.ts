import { z } from "zod";

import { DateTime, queryInteger } from "../values.ts";
import { type CursorKey, type CursorList, cursorOf, decodeCursor, encodeCursor } from "./cursor.ts";

/** Default number of records per page (interface, "Limits"). */
export const DEFAULT_PAGE_LIMIT = 20;

/** Highest page number: 15 digits, so that the number is exact in every language. */
const MAX_PAGE = 999_999_999_999_999;

export const Page = queryInteger(1, MAX_PAGE);
export const Limit = queryInteger(1, 100);

/**
 * Query of a list that is only read by page number: an internal list, or the list of people in the
 * console. The lists of the API have {@link cursorFields}.
 */
export const PageQuery = z.object({ page: Page.default(1), limit: Limit.default(DEFAULT_PAGE_LIMIT) });
export type PageQuery = z.infer<typeof PageQuery>;

/** The page that a caller of a list with cursors asks for. */
export interface CursorQuery {
  readonly page?: number | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * Fields of the query of a list that is read by page (interface, "Conventions", 7) or by cursor
 * (decisions, 14).
 */
export function cursorFields(list: CursorList) {
  return {
    page: Page.optional().meta({ default: 1 }),
    limit: Limit.default(DEFAULT_PAGE_LIMIT),
    cursor: cursorOf(list).optional(),
  };
}

/** Filters by the time of a record: `from` is inclusive, `to` exclusive (decisions, 14). */
export const TIME_FIELDS = { from: DateTime.optional(), to: DateTime.optional() };

/** A text that a filter compares with a field of the record. */
export const FilterText = z.string().min(1).max(100);

/**
 * Rejects a `page` above 1 together with `cursor`, and `from` after `to`. Drops page 1 beside a
 * cursor: generated clients send the default with every request (decisions, 14.1).
 */
export function checkedPageQuery<Query extends z.ZodObject>(query: Query): Query {
  return query
    .refine(({ page, cursor }) => page === undefined || page === 1 || cursor === undefined, {
      path: ["page"],
      error: "must be left out or 1 together with cursor",
    })
    .overwrite((given) => (given["cursor"] === undefined ? given : { ...given, page: undefined }))
    .refine(({ from, to }) => typeof from !== "string" || typeof to !== "string" || from <= to, {
      path: ["from"],
      error: "must not be after to",
    });
}

/** The pagination object of a list that is only read by page number. */
export const PageNumbers = z.object({
  page: z.int().min(1),
  limit: z.int().min(1).max(100),
  total: z.int().min(0),
  totalPages: z.int().min(0),
});
export type PageNumbers = z.infer<typeof PageNumbers>;

/** The pagination object of the API's lists, which are also read by cursor (decisions, 14). */
export const Pagination = PageNumbers.extend({
  // An owner of release 0.1.0 sends none.
  nextCursor: z.string().nullable().default(null),
});
export type Pagination = z.infer<typeof Pagination>;

/** Returns the pagination object for a page of a list with `total` records. */
export function pageNumbersOf({ page, limit }: PageQuery, total: number): PageNumbers {
  return { page, limit, total, totalPages: Math.ceil(total / limit) };
}

/** Where a page of a list begins. */
export interface PageStart<List extends CursorList> {
  /** Number of the page. */
  readonly page: number;
  readonly limit: number;
  /** Number of records to skip; 0 with `after`. */
  readonly offset: number;
  /** The page has the records after this one; null for a page by number. */
  readonly after: CursorKey<List> | null;
}

/**
 * Where the page of a query begins. The offset is limited, so that the largest page number is
 * accepted too. {@link cursorFields} must have validated the query.
 */
export function pageStart<List extends CursorList>(
  list: List,
  { page = 1, limit, cursor }: CursorQuery,
): PageStart<List> {
  const decoded = cursor === undefined ? null : decodeCursor(list, cursor);
  if (decoded !== null) return { page: decoded.page, limit, offset: 0, after: decoded.after };
  return { page, limit, offset: Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER), after: null };
}

/** Records that were read from a {@link PageStart}: at most `limit + 1` of them. */
export interface ReadPage<Row> {
  readonly rows: readonly Row[];
  /** Number of records on all pages. */
  readonly total: number;
}

/**
 * The rows of a page and its pagination. The row after the page, if `rows` has it, shows that
 * another page follows. `scope` identifies the list: see `listScope`.
 */
export function cursorPage<List extends CursorList, Row>(
  list: List,
  scope: string,
  { page, limit }: PageStart<List>,
  { rows, total }: ReadPage<Row>,
  keyOf: (row: Row) => CursorKey<List>,
): { readonly rows: readonly Row[]; readonly pagination: Pagination } {
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  const nextCursor =
    last === undefined ? null : encodeCursor(list, { scope, page: Math.min(page + 1, MAX_PAGE), after: keyOf(last) });
  return { rows: shown, pagination: { ...pageNumbersOf({ page, limit }, total), nextCursor } };
}
