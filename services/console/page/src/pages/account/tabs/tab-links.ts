import type { AccountRef } from "@kapi/contracts";
import { queryOf } from "../../../api/client.ts";
import { part } from "../../../router.tsx";

/** The tabs of an account's page, by their names in the address, with their titles. */
export const TABS = {
  overview: "Overview",
  positions: "Positions",
  orders: "Orders",
  deals: "Deals",
  transactions: "Transactions",
  commands: "Commands",
  deliveries: "Deliveries",
  risk: "Risk rules",
  breaches: "Breaches",
  audit: "Audit",
} as const;
/** The name of a tab in the address. */
export type TabName = keyof typeof TABS;

/** The tab that the address names; the overview if the address names no known tab. */
export function tabIn(query: URLSearchParams): TabName {
  const name = query.get("tab") ?? "";
  return Object.hasOwn(TABS, name) ? (name as TabName) : "overview";
}

/** Path and query of a tab, with filters of its list. */
export function tabPath(
  { serverId, accountNumber }: AccountRef,
  tab: TabName,
  filters: Readonly<Record<string, string>> = {},
): string {
  const query = queryOf({ tab: tab === "overview" ? "" : tab, ...filters });
  return `/accounts/${part(serverId)}/${part(accountNumber)}${query}`;
}
