import { type CreditUsage, type ListUsageQuery, pageStartOf, type Pagination, paginationOf } from "@kapi/contracts";

import type { UsageLines } from "../../domain/credits/ports.ts";
import { usageLine } from "../../domain/credits/usage-line.ts";

/**
 * The body of listCreditUsage: a page of usage, newest first. Entries in the streams of Redis are
 * missing for about a second. Without a wallet the list is empty.
 */
export async function listCreditUsage(
  lines: UsageLines,
  organizationId: string,
  query: ListUsageQuery,
): Promise<{ usage: CreditUsage[]; pagination: Pagination }> {
  const { from, to, limit } = query;
  const total = await lines.total(organizationId, { from, to });
  const start = pageStartOf("usage", query);
  // One line more than the page has: the line shows whether a line follows the page.
  const range = { ...start, from, to, limit: limit + 1 };
  const found = start.offset < total ? await lines.page(organizationId, range) : [];
  const shown = found.slice(0, limit);
  const last = found.length > limit ? (shown.at(-1)?.position ?? null) : null;
  return { usage: shown.map(({ line }) => usageLine(line)), pagination: paginationOf("usage", query, total, last) };
}
