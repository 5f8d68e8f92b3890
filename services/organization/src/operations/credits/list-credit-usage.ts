import {
  type CreditUsage,
  cursorPage,
  type ListCreditUsageQuery,
  listScope,
  pageStart,
  type Pagination,
} from "@kapi/contracts";

import type { UsageLines } from "../../domain/credits/ports.ts";
import { usageLine } from "../../domain/credits/usage-line.ts";

/**
 * The body of listCreditUsage: a page of usage, newest first. The list gets a new entry of a usage
 * stream in Redis after about a second. Without a wallet the list is empty.
 */
export async function listCreditUsage(
  lines: UsageLines,
  organizationId: string,
  query: ListCreditUsageQuery,
): Promise<{ usage: CreditUsage[]; pagination: Pagination }> {
  const start = pageStart("usage", query);
  const total = await lines.total(organizationId, query);
  // One line more shows whether another page follows.
  const range = { limit: start.limit + 1, offset: start.offset, after: start.after };
  const read = { rows: start.offset < total ? await lines.page(organizationId, query, range) : [], total };
  const { rows, pagination } = cursorPage("usage", listScope({}), start, read, ({ place }) => place);
  return { usage: rows.map(({ line }) => usageLine(line)), pagination };
}
