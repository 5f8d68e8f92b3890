import { changeAccountStatus } from "./change-account-status.ts";

/** Makes a disabled or archived account active again (decisions, 4.3). */
export const enableAccount = changeAccountStatus("enable");
