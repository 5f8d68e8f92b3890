import type { CommandErrorCode, CommandHeader, StoredCommandMessage } from "@kapi/contracts";

import type { Lease } from "./lease-book.ts";

/** How a command is to fail once it is settled and was not applied. */
export interface Refusal {
  readonly errorCode: CommandErrorCode;
  readonly errorMessage: string;
}

/** Of a command that cannot be processed. */
export const INTERNAL: Refusal = { errorCode: "INTERNAL", errorMessage: "The command could not be processed" };

/** The partition that a command in memory belongs to. */
export interface Home {
  readonly partition: number;
  readonly lease: Lease | null;
  remove(entry: Entry): void;
}

/** A command in memory. */
export interface Entry {
  /** Its `traceparent` is that of the attempt under way. */
  message: StoredCommandMessage;
  /** The span that the command was taken up in, if it belongs to a trace. */
  readonly traceparent?: string | undefined;
  /** See {@link orderKeyOf}. */
  readonly orderKey: string;
  readonly offset: number;
  readonly partition: Home;
  readonly deadlineMs: number;
  /** Attempts begun. */
  attempts: number;
  /** False only while this process knows that the trading server was never sent it. */
  maybeSent: boolean;
  /** Set: to be settled, then failed with this. */
  refusal: Refusal | null;
  /** Attempts that ended in an error nobody expected; such a command runs in a batch of its own. */
  broken: number;
  /**
   * It was made final by another path, or its partition is gone: whatever its batch brings is of no
   * interest.
   */
  gone: boolean;
}

/**
 * The commands of one account run one at a time, in the order of the log. A creation has its own
 * account.
 */
export function orderKeyOf(message: CommandHeader): string {
  if (message.accountNumber === null) return message.managedAccountId ?? message.commandId;
  return `${message.serverId}/${message.accountNumber}`;
}
