import {
  type CommandHeader,
  type CommandMessage,
  type CommandOperation,
  CommandRequest,
  COMMANDS,
  isPasswordReset,
  moneyOf,
} from "@kapi/contracts";
import { type Keyring, managedAccountIdOf, sealPassword, toIso } from "@kapi/kernel";

/** A validated mutation, before it is a command. */
export interface CommandDraft {
  readonly commandId: string;
  readonly organizationId: string;
  /** The management key that asks for it. */
  readonly keyId: string;
  /** The network address of the request; null: not known. */
  readonly address: string | null;
  readonly serverId: string;
  readonly accountNumber: string | null;
  readonly operation: CommandOperation;
  readonly idempotencyKey: string;
  readonly fingerprint: string;
  /** As its schema gives it. */
  readonly body: Readonly<Record<string, unknown>> & { readonly requestId: string; readonly password?: unknown };
  /** Credits to reserve. */
  readonly price: number;
  readonly nowMs: number;
}

/** The keys of passwords (decisions, 5.2). */
export interface PasswordKeys {
  readonly sealingKeys: Keyring;
  readonly derivationKeys: Keyring;
}

/**
 * The message that names the command: the body without `requestId`, a supplied password sealed, and
 * the key that is in use now where a password is generated (decisions, 5.2).
 */
export function commandMessageOf(draft: CommandDraft, keys: PasswordKeys): CommandMessage {
  const { requestId, password, ...payload } = draft.body;
  const supplied = typeof password === "string";
  // The investor's password of a creation is always a generated one.
  const isReset = isPasswordReset(draft.operation);
  const isCreation = COMMANDS[draft.operation].password === "creation";
  const derives = isCreation || (isReset && !supplied);
  return {
    commandId: draft.commandId,
    organizationId: draft.organizationId,
    serverId: draft.serverId,
    accountNumber: draft.accountNumber,
    managedAccountId: isCreation ? managedAccountIdOf(draft.commandId) : null,
    requestId,
    idempotencyKey: draft.idempotencyKey,
    fingerprint: draft.fingerprint,
    ...commandRequestOf(draft.operation, payload),
    sealedPassword: supplied ? sealPassword(keys.sealingKeys, draft.commandId, password) : null,
    derivationKeyId: derives ? keys.derivationKeys.currentKeyId : null,
    reservedCredits: draft.price,
    ...commandTimes(draft.operation, draft.nowMs),
    createdBy: { type: "key", id: draft.keyId },
    // For the audit log.
    ...(isReset ? { callerAddress: draft.address } : {}),
  };
}

/** What a command asks for, with its money in minor units: from here on they are what counts. */
function commandRequestOf(operation: CommandOperation, payload: Readonly<Record<string, unknown>>): CommandRequest {
  const amountMinor = moneyOf(operation, payload);
  return CommandRequest.parse({ operation, payload, ...(amountMinor === null ? {} : { amountMinor }) });
}

/** When a command that is queued now was made, and by when it must begin. */
export function commandTimes(
  operation: CommandOperation,
  nowMs: number,
): Pick<CommandHeader, "createdAt" | "deadlineAt"> {
  return { createdAt: toIso(nowMs), deadlineAt: toIso(nowMs + COMMANDS[operation].deadlineMs) };
}
