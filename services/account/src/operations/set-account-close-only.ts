import { changeAccountStatus } from "./change-account-status.ts";

/**
 * Lets an account reduce and close positions, but open none. The trading server cancels the pending
 * orders that would open or increase a position (decisions, 15.9).
 */
export const setAccountCloseOnly = changeAccountStatus("closeOnly");
