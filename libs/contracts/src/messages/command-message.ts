import { minorFromAmount } from "@kapi/kernel";
import { z } from "zod";

import { CallerAddress, MessageCreatedBy } from "../actor.ts";
import { COMMANDS } from "../commands.ts";
import { type Command, CommandOperation } from "../http/commands.ts";
import { Minor } from "../values.ts";

/**
 * A secret, encrypted with AES-256-GCM. `keyId` names the sealing key (decisions, 5.2). The other
 * parts are base64url.
 */
export const Sealed = z.object({ keyId: z.string(), iv: z.string(), ciphertext: z.string(), tag: z.string() });
export type Sealed = z.infer<typeof Sealed>;

/** The fields of every command message. */
export const CommandHeader = z.object({
  commandId: z.uuid(),
  organizationId: z.uuid(),
  serverId: z.guid(),
  /**
   * Null for a creation, to which the account service assigns the number later, and for a command
   * on a risk template.
   */
  accountNumber: z.string().nullable(),
  managedAccountId: z.uuid().nullable(),
  operation: CommandOperation,
  requestId: z.string(),
  idempotencyKey: z.string(),
  /**
   * SHA-256 in hex of operation, path and canonical body without `requestId`. A supplied password
   * enters as a keyed hash. The hash of a password reset includes the caller too: a management key
   * or a person (decisions, 2.3).
   */
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/),
  /** A password that the caller supplied. */
  sealedPassword: Sealed.nullable(),
  /**
   * The key from which the command's generated passwords are derived (decisions, 5.2). Every
   * process derives the same passwords from this key, also after the keys were rotated. Null if no
   * password is derived.
   */
  derivationKeyId: z.string().nullable(),
  /** Credits reserved under `chargeId` (decisions, 7.2). */
  reservedCredits: z.int().min(0),
  /**
   * Charge id of the reservation, only if it is not `commandId`: the credits of an earlier
   * reservation of the command were released.
   */
  chargeId: z.uuid().optional(),
  createdAt: z.iso.datetime(),
  deadlineAt: z.iso.datetime(),
  /** Who asked for the command first. Missing in messages of release 0.1.0. */
  createdBy: MessageCreatedBy,
  /** Set only for a password reset, and for a command of a person. */
  callerAddress: CallerAddress,
  /**
   * The span (W3C) in which the command was accepted. A worker sets this field when it reads the
   * record, from the record's header `traceparent`. The value of a record never has this field.
   */
  traceparent: z.string().optional(),
});
export type CommandHeader = z.infer<typeof CommandHeader>;

/**
 * A command message for services that show it or pass it on. `payload` has the form that the
 * operation's row in `COMMANDS` names. Its money is in units of currency, as the caller sent it.
 */
export const AnyCommandMessage = CommandHeader.extend({
  payload: z.record(z.string(), z.unknown()),
  /** The money that the command moves, in minor units. */
  amountMinor: Minor.optional(),
});
export type AnyCommandMessage = z.infer<typeof AnyCommandMessage>;

/** The schema of the request of a command without money. */
function plainRequest<O extends CommandOperation>(operation: O) {
  const payload: (typeof COMMANDS)[O]["payload"] = COMMANDS[operation].payload;
  return z.object({ operation: z.literal(operation), payload });
}

/** The schema of the request of a command with money. */
function moneyRequest<O extends CommandOperation>(operation: O) {
  const payload: (typeof COMMANDS)[O]["payload"] = COMMANDS[operation].payload;
  return z.object({ operation: z.literal(operation), payload, amountMinor: Minor });
}

/**
 * The request of a command, by operation. Workers read money from `amountMinor` only. The payload
 * repeats it in units of currency, for the API and for release 0.1.0.
 */
export const CommandRequest = z.preprocess(
  withMinorUnits,
  z
    .discriminatedUnion("operation", [
      moneyRequest("account.create"),
      plainRequest("account.update"),
      plainRequest("account.enable"),
      plainRequest("account.disable"),
      plainRequest("account.archive"),
      plainRequest("account.delete"),
      plainRequest("account.flatten"),
      plainRequest("account.close_only"),
      plainRequest("account.password_reset"),
      plainRequest("account.investor_password_reset"),
      plainRequest("account.history_export"),
      moneyRequest("finance.deposit"),
      moneyRequest("finance.withdraw"),
      plainRequest("risk.set_rules"),
      plainRequest("risk.delete_rules"),
      plainRequest("risk.set_template"),
      plainRequest("risk.delete_template"),
    ])
    // Reject a command with two different amounts: it is unknown which one was requested.
    .refine((asked) => !("amountMinor" in asked) || moneyOf(asked.operation, asked.payload) === asked.amountMinor, {
      path: ["amountMinor"],
      error: "must equal the money of the payload, in minor units",
    }),
);
export type CommandRequest = z.infer<typeof CommandRequest>;

/**
 * A record of `commands.*`: one accepted command, for the worker that executes it. The gateway
 * writes the commands of callers, risk those of breaches. Each command is written at least once;
 * consumers drop duplicates by `commandId`.
 */
export const CommandMessage = CommandHeader.and(CommandRequest);
export type CommandMessage = CommandHeader & CommandRequest;

const FormerMessage = z.looseObject({ operation: CommandOperation, payload: z.record(z.string(), z.unknown()) });

/**
 * Messages of release 0.1.0 have money only in units of currency. No other function reads that
 * form. See "From 0.1.0: money in commands" in `docs/upgrades.md`.
 */
function withMinorUnits(json: unknown): unknown {
  if (typeof json !== "object" || json === null || "amountMinor" in json) return json;
  const former = FormerMessage.safeParse(json);
  if (!former.success) return json;
  const amountMinor = moneyOf(former.data.operation, former.data.payload);
  return amountMinor === null ? json : { ...former.data, amountMinor };
}

/**
 * The money of a payload in minor units; null if the operation moves no money, or if the amount is
 * not a whole number of cents.
 */
export function moneyOf(operation: CommandOperation, payload: Readonly<Record<string, unknown>>): number | null {
  const { money } = COMMANDS[operation];
  const amount = money === null ? undefined : payload[money];
  return typeof amount === "number" ? minorFromAmount(amount) : null;
}

/**
 * A message with a readable header and an unreadable request. The command fails without an attempt
 * (decisions, 3.1). If another process may have sent the change to the trading server, the
 * reference of the command is settled first.
 */
export interface UnreadableCommandMessage extends CommandHeader {
  readonly payload: Readonly<Record<string, never>>;
  readonly unreadable: true;
}

/** A message in the inbox of a worker. */
export type StoredCommandMessage = CommandMessage | UnreadableCommandMessage;

/** The command of a message, before any work on the command. */
export function queuedCommand(message: AnyCommandMessage): Command {
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
