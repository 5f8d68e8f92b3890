import { z } from "zod";

import { queryInteger } from "../values.ts";

/** Default number of records per page (interface, "Limits"). */
export const DEFAULT_PAGE_LIMIT = 20;

/** Highest page number: 15 digits, so that the number is exact in every language. */
const MAX_PAGE = 999_999_999_999_999;

export const Page = queryInteger(1, MAX_PAGE);
export const Limit = queryInteger(1, 100);

/**
 * Query of paginated lists (interface, "Conventions", 7), except the list of trading accounts
 * (decisions, 4.5).
 */
export const PageQuery = z.object({ page: Page.default(1), limit: Limit.default(DEFAULT_PAGE_LIMIT) });
export type PageQuery = z.infer<typeof PageQuery>;

export const Pagination = z.object({
  page: z.int().min(1),
  limit: z.int().min(1).max(100),
  total: z.int().min(0),
  totalPages: z.int().min(0),
});
export type Pagination = z.infer<typeof Pagination>;

/** Returns the pagination object for a page of a list with `total` records. */
export function paginationOf({ page, limit }: PageQuery, total: number): Pagination {
  return { page, limit, total, totalPages: Math.ceil(total / limit) };
}
