import { changeAccountStatus } from "./change-account-status.ts";

/**
 * Blocks new orders of an account. Its positions are still valued; deposits and withdrawals work
 * (decisions, 4.3).
 */
export const disableAccount = changeAccountStatus("disable");
