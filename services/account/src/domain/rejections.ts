import type { CommandErrorCode } from "@kapi/contracts";
import { UnknownKey } from "@kapi/kernel";

import type { Rejection } from "./account-change.ts";

/** The public error texts of commands that this service rejects itself. */
const MESSAGES: Partial<Record<CommandErrorCode, string>> = {
  ACCOUNT_NOT_FOUND: "There is no such account",
  ACCOUNT_NOT_READY: "The account was not opened on the trading server",
  INVALID_STATE_TRANSITION: "The account's status does not allow this",
  LEVERAGE_NOT_SUPPORTED: "The server does not support this leverage",
  SERVER_DISABLED: "The server is disabled",
};

/**
 * A rejection of a command by this service, before anything is sent to the trading server. The
 * message is the public text of the code, or the code itself if it has no text here.
 */
export function rejection(errorCode: CommandErrorCode): { readonly kind: "refuse" } & Rejection {
  return { kind: "refuse", errorCode, errorMessage: MESSAGES[errorCode] ?? errorCode };
}

/**
 * Retries a command whose password this process cannot decrypt or derive, because it does not have
 * the key yet. Throws every other error.
 */
export function retryWithoutKey(error: unknown): { readonly kind: "retry"; readonly reason: string } {
  if (error instanceof UnknownKey) return { kind: "retry", reason: error.message };
  throw error;
}
