/** Maps rejections of the trading server to command errors (decisions, 3.4). */
import type { CommandErrorCode } from "@kapi/contracts";

/** Codes of rejections that become the error code of the command unchanged. */
const SAME: ReadonlySet<string> = new Set<CommandErrorCode>([
  "ACCOUNT_DISABLED",
  "ACCOUNT_ARCHIVED",
  "ACCOUNT_HAS_OPEN_POSITIONS",
  "INVALID_STATE_TRANSITION",
  "INSUFFICIENT_FUNDS",
]);

/**
 * The error code of a rejected command. `accountIsKnown`: the ledger has seen the account, or the
 * account is marked deleted. If the trading server does not have a known account, the account was
 * deleted. The creation of an unknown account may still be running.
 */
export function errorCodeOf(rejectionCode: string, accountIsKnown: boolean): CommandErrorCode {
  if (rejectionCode === "ACCOUNT_NOT_FOUND") return accountIsKnown ? "ACCOUNT_NOT_FOUND" : "ACCOUNT_NOT_READY";
  return isSame(rejectionCode) ? rejectionCode : "REJECTED_BY_SERVER";
}

function isSame(code: string): code is CommandErrorCode {
  return SAME.has(code);
}
