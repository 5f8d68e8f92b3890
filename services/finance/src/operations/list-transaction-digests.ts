import { cursorPage, type ListDigestsQuery, listScope, pageStart, type TransactionDigests } from "@kapi/contracts";

import type { DigestReader } from "../domain/digest-reads.ts";

/** A page of the digests of a server's transactions, or why there are none. */
export async function listTransactionDigests(
  reader: DigestReader,
  serverId: string,
  query: ListDigestsQuery,
): Promise<TransactionDigests> {
  const state = await reader.state(serverId, query.date);
  if (state !== "made") return { state };
  const start = pageStart("digests", query);
  // One digest more shows whether another page follows.
  const range = { offset: start.offset, limit: start.limit + 1, after: start.after?.[0] ?? null };
  const read = await reader.page(serverId, query.date, range);
  const { rows, pagination } = cursorPage("digests", listScope({ serverId }), start, read, (row) => [
    row.accountNumber,
  ]);
  return { state, digests: [...rows], pagination };
}
