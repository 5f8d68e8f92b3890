import { changeAccountStatus } from "./change-account-status.ts";

/**
 * Ends login, trading and funding of an account without open positions. The account can be enabled
 * again (decisions, 4.3).
 */
export const archiveAccount = changeAccountStatus("archive");
