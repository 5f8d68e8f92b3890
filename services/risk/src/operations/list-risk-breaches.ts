import {
  cursorPage,
  type ListRiskBreachesQuery,
  listScope,
  pageStart,
  type Pagination,
  type RiskBreach,
  type AccountRef,
} from "@kapi/contracts";

import type { ReadBreaches } from "../domain/ports.ts";

/** A page of the breaches of an account, newest first. */
export async function listRiskBreaches(
  read: ReadBreaches,
  account: AccountRef,
  query: ListRiskBreachesQuery,
): Promise<{ breaches: RiskBreach[]; pagination: Pagination }> {
  const start = pageStart("breaches", query);
  const page = await read(account, query, start);
  const { rows, pagination } = cursorPage("breaches", listScope({ ...account }), start, page, ({ key }) => key);
  return { breaches: rows.map(({ breach }) => breach), pagination };
}
