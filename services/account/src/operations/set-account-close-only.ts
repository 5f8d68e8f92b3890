import { changeAccountStatus } from "./change-account-status.ts";

/**
 * From then on an account can reduce and close positions, and opens none. Its pending orders are
 * cancelled (decisions, 15.9).
 */
export const setAccountCloseOnly = changeAccountStatus("closeOnly");
