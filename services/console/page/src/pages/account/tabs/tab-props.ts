import type { AccountName } from "../../../api/account-lists.ts";

/** What every tab of an account's page gets. */
export interface TabProps {
  readonly account: AccountName;
  readonly currency: string;
  /** The data is loaded again when this number changes. */
  readonly round: number;
}

/** The sides of orders, positions and deals, with their names in a filter. */
export const SIDES = [
  ["buy", "Buy"],
  ["sell", "Sell"],
] as const;
