import { changeAccountStatus } from "./change-account-status.ts";

/**
 * Lets an account place no new orders; its positions stay valued, deposits and withdrawals work
 * (decisions, 4.3).
 */
export const disableAccount = changeAccountStatus("disable");
