import { changeAccountStatus } from "./change-account-status.ts";

/**
 * Blocks new orders of an account. Its positions are still valued; deposits and withdrawals work
 * (decisions, 4.3). With `flatten` it also closes the positions and cancels the pending orders
 * (decisions, 15.8).
 */
export const disableAccount = changeAccountStatus("disable");
