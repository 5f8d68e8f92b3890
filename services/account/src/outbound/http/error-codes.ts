import type { CommandErrorCode } from "@kapi/contracts";
import type { RejectionCode } from "@kapi/trading-server";

/** Maps rejections of the trading server to command errors. */
export const COMMAND_ERROR_OF: Readonly<Record<RejectionCode, CommandErrorCode>> = {
  ACCOUNT_NOT_FOUND: "ACCOUNT_NOT_FOUND",
  ACCOUNT_EXISTS: "REJECTED_BY_SERVER",
  ACCOUNT_DISABLED: "ACCOUNT_DISABLED",
  ACCOUNT_ARCHIVED: "ACCOUNT_ARCHIVED",
  ACCOUNT_HAS_OPEN_POSITIONS: "ACCOUNT_HAS_OPEN_POSITIONS",
  INVALID_STATE_TRANSITION: "INVALID_STATE_TRANSITION",
  INSUFFICIENT_FUNDS: "INSUFFICIENT_FUNDS",
  LEVERAGE_NOT_SUPPORTED: "LEVERAGE_NOT_SUPPORTED",
  INVALID_CHANGE: "REJECTED_BY_SERVER",
};
