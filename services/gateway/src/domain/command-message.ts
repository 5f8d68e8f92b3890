import {
  type Actor,
  type CommandHeader,
  type CommandMessage,
  type CommandOperation,
  CommandRequest,
  COMMANDS,
  isPasswordReset,
  moneyOf,
} from "@kapi/contracts";
import { type Keyring, managedAccountIdOf, sealPassword, toIso } from "@kapi/kernel";

/** A validated mutation that becomes a command. */
export interface CommandDraft {
  readonly commandId: string;
  readonly organizationId: string;
  /** The management key or the person of the request. */
  readonly createdBy: Actor;
  /** The network address of the request; null if unknown. */
  readonly address: string | null;
  readonly serverId: string;
  readonly accountNumber: string | null;
  readonly operation: CommandOperation;
  readonly idempotencyKey: string;
  readonly fingerprint: string;
  /** As parsed by its schema. */
  readonly body: Readonly<Record<string, unknown>> & { readonly requestId: string; readonly password?: unknown };
  /** Credits to reserve. */
  readonly price: number;
  readonly nowMs: number;
}

/** Keys that seal supplied passwords and derive generated ones (decisions, 5.2). */
export interface PasswordKeys {
  readonly sealingKeys: Keyring;
  readonly derivationKeys: Keyring;
}

/**
 * The message of the command. Its payload is the body without `requestId` and password. A supplied
 * password is sealed; if a password is generated, the message names the current derivation key
 * (decisions, 5.2).
 */
export function commandMessageOf(draft: CommandDraft, keys: PasswordKeys): CommandMessage {
  const { requestId, password, ...payload } = draft.body;
  const supplied = typeof password === "string";
  const isReset = isPasswordReset(draft.operation);
  const isCreation = COMMANDS[draft.operation].password === "creation";
  // The investor's password of a creation is always generated.
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
    createdBy: draft.createdBy,
    // For the audit log.
    ...(isReset || draft.createdBy.type === "user" ? { callerAddress: draft.address } : {}),
  };
}

/**
 * Operation and payload of a command, with the payload's amount in minor units. All services use
 * the minor units.
 */
function commandRequestOf(operation: CommandOperation, payload: Readonly<Record<string, unknown>>): CommandRequest {
  const amountMinor = moneyOf(operation, payload);
  return CommandRequest.parse({ operation, payload, ...(amountMinor === null ? {} : { amountMinor }) });
}

/**
 * Creation time and deadline of a command that is queued now. The command must begin before the
 * deadline.
 */
export function commandTimes(
  operation: CommandOperation,
  nowMs: number,
): Pick<CommandHeader, "createdAt" | "deadlineAt"> {
  return { createdAt: toIso(nowMs), deadlineAt: toIso(nowMs + COMMANDS[operation].deadlineMs) };
}
