import type { CommandErrorCode } from "@kapi/contracts";

import type { Refusal } from "./account-change.ts";

/** What a failed command says, where this service and not the trading server refused it. */
const MESSAGES: Partial<Record<CommandErrorCode, string>> = {
  ACCOUNT_NOT_FOUND: "There is no such account",
  ACCOUNT_NOT_READY: "The account was not opened on the trading server",
  INVALID_STATE_TRANSITION: "The account's status does not allow this",
  LEVERAGE_NOT_SUPPORTED: "The server does not support this leverage",
  SERVER_DISABLED: "The server is disabled",
};

/** The refusal with this code. */
export function refusal(errorCode: CommandErrorCode): { readonly kind: "refuse" } & Refusal {
  return { kind: "refuse", errorCode, errorMessage: MESSAGES[errorCode] ?? errorCode };
}
