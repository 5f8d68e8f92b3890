import { changeAccountStatus } from "./change-account-status.ts";

/** Activates a disabled or archived account (decisions, 4.3). */
export const enableAccount = changeAccountStatus("enable");
