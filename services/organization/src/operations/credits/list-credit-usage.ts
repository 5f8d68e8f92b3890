import { type CreditUsage, type PageQuery, type Pagination, paginationOf } from "@kapi/contracts";

import type { UsageLines } from "../../domain/credits/ports.ts";
import { usageLine } from "../../domain/credits/usage-line.ts";

/**
 * The body of listCreditUsage: a page of an organization's usage, newest first. What is still in
 * the streams of Redis is not in it yet; that takes less than a second. An organization without a
 * wallet has none.
 */
export async function listCreditUsage(
  lines: UsageLines,
  organizationId: string,
  query: PageQuery,
): Promise<{ usage: CreditUsage[]; pagination: Pagination }> {
  const total = await lines.total(organizationId);
  const offset = (query.page - 1) * query.limit;
  const entries = offset < total ? await lines.page(organizationId, query.limit, offset) : [];
  return { usage: entries.map(usageLine), pagination: paginationOf(query, total) };
}
