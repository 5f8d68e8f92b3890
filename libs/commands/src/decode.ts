/**
 * Converts a message of a command topic to its inbox row. An unreadable message that still names
 * its command is never carried out: the command fails INTERNAL (decisions, 3.1). If the command is
 * read back from the inbox, it counts as perhaps sent to the trading server: its reference is
 * settled first. A message that names no command becomes a dead letter.
 */
import {
  COMMANDS,
  CommandHeader,
  CommandMessage,
  CommandOperation,
  CommandRequest,
  MessageCreatedBy,
  type StoredCommandMessage,
  type UnreadableCommandMessage,
} from "@kapi/contracts";
import type { Message } from "@kapi/kafka";
import { toIso } from "@kapi/kernel";
import { z } from "zod";

/** A message of a command topic that names its command, as it is written to the inbox. */
export interface Incoming {
  readonly message: StoredCommandMessage;
  /** Why the message could not be read; null for a readable message. */
  readonly unreadable: string | null;
  /** The partition and offset of the Kafka record. */
  readonly partition: number;
  readonly offset: number;
  /** The message as JSON on one line, without a sealed password. */
  readonly text: string;
}

/**
 * Returns the message, or the reason why it names no command. The reason never quotes the value,
 * which may hold a sealed password.
 */
export function decode({ value, offset, timestampMs, traceparent }: Message, partition: number): Incoming | string {
  const received = value.toString("utf8");
  let json: unknown;
  try {
    json = JSON.parse(received);
  } catch {
    return "not JSON";
  }
  const position = { partition, offset: Number(offset) };
  const parsed = CommandMessage.safeParse(json);
  if (parsed.success) {
    const message = traceparent === undefined ? parsed.data : { ...parsed.data, traceparent };
    const asReceived =
      message.sealedPassword === null && traceparent === undefined && !received.includes("\n") && !isUnreadable(json);
    const text = asReceived ? received : JSON.stringify({ ...message, sealedPassword: null });
    return { message, unreadable: null, ...position, text };
  }
  const issues = parsed.error.issues.map(({ path, code }) => `${path.join(".")}: ${code}`);
  const reason = `not a command message (${issues.join(", ")})`;
  const named = IdentifiedCommand.safeParse(json);
  if (!named.success) return reason;
  const { createdAt = toIso(timestampMs), ...identified } = named.data;
  const { deadlineAt = toIso(Date.parse(createdAt) + COMMANDS[identified.operation].deadlineMs) } = identified;
  const message: UnreadableCommandMessage = { ...identified, createdAt, deadlineAt, ...NOTHING_TO_DO };
  return { message, unreadable: reason, ...position, text: JSON.stringify(message) };
}

/** Whether a message, or the JSON of an inbox row, is marked as unreadable. */
export function isUnreadable(message: unknown): message is UnreadableCommandMessage {
  return typeof message === "object" && message !== null && "unreadable" in message && message.unreadable === true;
}

/**
 * Parses the message of an inbox row. Throws if no release has stored this form. A row of release
 * 0.1.0 with an invalid payload becomes an unreadable command.
 */
export function storedMessage(json: unknown): StoredCommandMessage {
  const header = StoredHeader.parse(json);
  const request = isUnreadable(json) ? null : CommandRequest.safeParse(json);
  return request?.success === true ? { ...header, ...request.data } : { ...header, ...UNREADABLE };
}

/** Earlier releases stored fingerprints of any form. */
const StoredHeader = CommandHeader.extend({ fingerprint: z.string() });

/**
 * Replaces an unreadable fingerprint: a stored message must parse when it is read from the inbox.
 */
const NO_FINGERPRINT = "0".repeat(64);

/**
 * The required fields identify a command and its organization. All other fields fall back to a
 * default. The times have no fixed default: the ages that the worker measures would be wrong.
 */
const IdentifiedCommand = z.object({
  commandId: z.uuid(),
  organizationId: z.uuid(),
  serverId: z.guid(),
  operation: CommandOperation,
  accountNumber: z.string().nullable().catch(null),
  managedAccountId: z.uuid().nullable().catch(null),
  requestId: z.string().catch(""),
  idempotencyKey: z.string().catch(""),
  fingerprint: CommandHeader.shape.fingerprint.catch(NO_FINGERPRINT),
  reservedCredits: z.int().min(0).catch(0),
  chargeId: z.uuid().optional().catch(undefined),
  /** Undefined: the time of the Kafka record, which was written right after the acceptance. */
  createdAt: z.iso.datetime().optional().catch(undefined),
  /** Undefined: `createdAt` plus the `deadlineMs` of the operation. */
  deadlineAt: z.iso.datetime().optional().catch(undefined),
  createdBy: MessageCreatedBy,
});

const UNREADABLE = { payload: {}, unreadable: true } as const;
const NOTHING_TO_DO = { ...UNREADABLE, sealedPassword: null, derivationKeyId: null } as const;
