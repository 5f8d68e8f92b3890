import { changeAccountStatus } from "./change-account-status.ts";

/**
 * Ends login, trading and finance of an account without open positions; it can be enabled again
 * (decisions, 4.3).
 */
export const archiveAccount = changeAccountStatus("archive");
