/** How a refusal of the trading server is told to the caller (decisions, 3.4). */
import type { CommandErrorCode } from "@kapi/contracts";

/** Codes that say the same to both sides. */
const SAME: ReadonlySet<string> = new Set<CommandErrorCode>([
  "ACCOUNT_DISABLED",
  "ACCOUNT_ARCHIVED",
  "ACCOUNT_HAS_OPEN_POSITIONS",
  "INVALID_STATE_TRANSITION",
  "INSUFFICIENT_FUNDS",
]);

/**
 * The error code of a command whose change was refused with `refusalCode`. An account that the
 * ledger never saw may still be coming; one that it knows is gone.
 */
export function errorCodeOf(refusalCode: string, accountIsKnown: boolean): CommandErrorCode {
  if (refusalCode === "ACCOUNT_NOT_FOUND") return accountIsKnown ? "ACCOUNT_NOT_FOUND" : "ACCOUNT_NOT_READY";
  return isSame(refusalCode) ? refusalCode : "REJECTED_BY_SERVER";
}

function isSame(code: string): code is CommandErrorCode {
  return SAME.has(code);
}
