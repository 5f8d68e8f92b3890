import { z } from "zod";

import { CallerAddress, MessageCreatedBy } from "../actor.ts";
import { type Command, CommandOperation } from "../http/commands.ts";

/** A secret under AES-256-GCM; `keyId` names the sealing key (decisions, 5.2). All parts base64url. */
export const Sealed = z.object({ keyId: z.string(), iv: z.string(), ciphertext: z.string(), tag: z.string() });
export type Sealed = z.infer<typeof Sealed>;

/**
 * What `commands.*` carry: one accepted command, whole. Written by the gateway, once per acceptance or more often
 * (consumers drop repeats by `commandId`).
 */
export const CommandMessage = z.object({
  commandId: z.uuid(),
  organizationId: z.uuid(),
  serverId: z.guid(),
  /** Null until the account service gives one to a creation. */
  accountNumber: z.string().nullable(),
  managedAccountId: z.uuid().nullable(),
  operation: CommandOperation,
  requestId: z.string(),
  idempotencyKey: z.string(),
  /**
   * SHA-256 in hex of operation, path and canonical body without `requestId`; of a password reset
   * also of the management key's id (decisions, 2.3).
   */
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/),
  /** The body without `requestId` and without passwords; money as the caller gave it, in units of currency. */
  payload: z.record(z.string(), z.unknown()),
  /** A password that the caller supplied. */
  sealedPassword: Sealed.nullable(),
  /**
   * The key that the command's generated passwords are derived with (decisions, 5.2), so that whoever derives them gets the
   * same ones after the keys were rotated. Null where nothing is derived.
   */
  derivationKeyId: z.string().nullable(),
  /** Credits reserved under `chargeId` (decisions, 7.2). */
  reservedCredits: z.int().min(0),
  /**
   * The reservation, where it is not `commandId`: an earlier reservation of the command came back.
   */
  chargeId: z.uuid().optional(),
  createdAt: z.iso.datetime(),
  deadlineAt: z.iso.datetime(),
  /** Who asked for the command first. Release 0.1.0 does not tell. */
  createdBy: MessageCreatedBy,
  /** Of a password reset. */
  callerAddress: CallerAddress,
  /** The W3C name of the span that it was taken up in. Never on the topic, whose header `traceparent` tells it. */
  traceparent: z.string().optional(),
});
export type CommandMessage = z.infer<typeof CommandMessage>;

/** Time from acceptance to expiry (decisions, 3.1). */
export const COMMAND_DEADLINE_MS = 15 * 60_000;
export const EXPORT_DEADLINE_MS = 60 * 60_000;

/** The command that a message names, as it is before any work was done on it. */
export function queuedCommand(message: CommandMessage): Command {
  return {
    id: message.commandId,
    operation: message.operation,
    status: "queued",
    managedAccountId: message.managedAccountId,
    attempts: 0,
    payload: message.payload,
    result: null,
    errorCode: null,
    errorMessage: null,
    idempotencyKey: message.idempotencyKey,
    createdAt: message.createdAt,
    completedAt: null,
    requestId: message.requestId,
    serverId: message.serverId,
    accountNumber: message.accountNumber,
    updatedAt: message.createdAt,
    deadlineAt: message.deadlineAt,
    createdBy: message.createdBy ?? null,
  };
}
