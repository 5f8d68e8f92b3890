import { changeAccountStatus } from "./change-account-status.ts";

/** Activates a close-only, disabled or archived account (decisions, 4.3 and 15.9). */
export const enableAccount = changeAccountStatus("enable");
