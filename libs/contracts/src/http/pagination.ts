import { z } from "zod";

import { queryInteger } from "../values.ts";

/** Default number of records per page (interface, "Limits"). */
export const DEFAULT_PAGE_LIMIT = 20;

/** Highest page number: 15 digits, so that the number is exact in every language. */
export const MAX_PAGE = 999_999_999_999_999;

export const Page = queryInteger(1, MAX_PAGE);
export const Limit = queryInteger(1, 100);

/**
 * Query of paginated lists (interface, "Conventions", 7), except the list of trading accounts
 * (decisions, 4.5).
 */
export const PageQuery = z.object({ page: Page.default(1), limit: Limit.default(DEFAULT_PAGE_LIMIT) });
export type PageQuery = z.infer<typeof PageQuery>;

/** Whether the start of a period is not after its end. */
export function isPeriod({
  from,
  to,
}: {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}): boolean {
  return from === undefined || to === undefined || from <= to;
}
/** The issue of a query whose `from` is after its `to`. */
export const PERIOD_ISSUE = { path: ["from"], error: "must not be after to" };

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
