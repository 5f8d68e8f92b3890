import { type CreditUsage, type PageQuery, type Pagination, paginationOf } from "@kapi/contracts";

import type { UsageLines } from "../../domain/credits/ports.ts";
import { usageLine } from "../../domain/credits/usage-line.ts";

/**
 * The body of listCreditUsage: a page of usage, newest first. Entries in the streams of Redis are
 * missing for about a second. Without a wallet the list is empty.
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
