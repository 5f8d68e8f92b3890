import type { AccountRef } from "@kapi/contracts";

/** What every tab of an account's page gets. */
export interface TabProps {
  readonly account: AccountRef;
  readonly currency: string;
  /** The data is loaded again when this number changes. */
  readonly round: number;
}

/** The sides of orders, positions and deals, with their names in a filter. */
export const SIDES = [
  ["buy", "Buy"],
  ["sell", "Sell"],
] as const;
