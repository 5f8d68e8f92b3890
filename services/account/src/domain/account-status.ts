import type { AccountStatus } from "@kapi/contracts";

/** A change of an account's status, by what causes it. */
export type AccountMove = "activate" | "fail";

/**
 * The life of an account as one table (decisions, 4.3): for each move the states that it may start from, and where it
 * leads. A creation that is run again finds its account already moved: that is no move, and no error.
 */
export const ACCOUNT_MOVES: Readonly<
  Record<AccountMove, { readonly from: readonly AccountStatus[]; readonly to: AccountStatus }>
> = {
  activate: { from: ["pending"], to: "active" },
  fail: { from: ["pending"], to: "failed" },
};
