/**
 * The work of one transaction: collects state changes and messages, and writes them in one
 * statement.
 */
import {
  type CommandErrorCode,
  type CommandEvent,
  type CommandHeader,
  type CommandStatus,
  isFinal,
  type StoredCommandMessage,
  TOPICS,
} from "@kapi/contracts";
import { assert, assertDefined, type Clock, toIso } from "@kapi/kernel";
import { type OutboxMessage, toLines } from "@kapi/outbox";
import type { Statement, Transaction } from "@kapi/postgres";

import { column } from "./columns.ts";
import { assertMove } from "./command-state.ts";
import { storedMessage } from "./decode.ts";
import { MESSAGES, type OpenState, READ_OPEN, WRITE_UNIT } from "./statements.ts";
import type { FinalState, OpenCommand, WorkTransaction } from "./work.ts";

/** One change of a command's state, allowed by `command-state.ts`. */
export interface StateChange {
  readonly command: OpenCommand;
  readonly status: CommandStatus;
  readonly attempts: number;
  readonly result: Record<string, unknown> | null;
  readonly errorCode: CommandErrorCode | null;
  readonly errorMessage: string | null;
}

/** Returns the message of a command in memory. */
export type MessageLookup = (commandId: string) => StoredCommandMessage | undefined;

/** Collects the changes and messages of one transaction. */
export class Unit implements WorkTransaction {
  /** The messages to publish after the commit. */
  readonly messages: OutboxMessage[] = [];
  /** The ids of the commands that this unit makes final. */
  readonly finalIds: string[] = [];
  readonly #transaction: Transaction;
  readonly #messageOf: MessageLookup;
  readonly #nowIso: string;
  readonly #changes = new Map<string, StateChange>();

  constructor(transaction: Transaction, clock: Clock, messageOf: MessageLookup) {
    this.#transaction = transaction;
    this.#messageOf = messageOf;
    this.#nowIso = toIso(clock.nowMs());
  }

  query<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
    return this.#transaction.query(statement, values);
  }

  execute(statement: Statement<unknown>, values: readonly unknown[]): void {
    this.#transaction.execute(statement, values);
  }

  enqueue(messages: readonly OutboxMessage[]): void {
    this.messages.push(...messages);
  }

  async readOpen(commandIds: readonly string[]): Promise<readonly OpenCommand[]> {
    if (commandIds.length === 0) return [];
    const rows = await this.query(READ_OPEN, [column(commandIds)]);
    const messages = await this.#messagesOf(rows);
    return rows.flatMap(({ command_id: commandId, status, version, attempts }) => {
      const message = messages.get(commandId);
      // Missing if another transaction made the command final between the two statements.
      return message === undefined ? [] : [{ message, status, version, attempts }];
    });
  }

  finish(finals: readonly FinalState[]): void {
    this.change(finals.map((final) => ({ ...final, attempts: final.attempts ?? Math.max(final.command.attempts, 1) })));
  }

  /** Changes the state of open commands, each at most once in a unit, and enqueues their events. */
  change(changes: readonly StateChange[]): void {
    for (const change of changes) {
      const { commandId, traceparent } = change.command.message;
      assert(!this.#changes.has(commandId), `command ${commandId} was changed twice in a transaction`);
      assertMove(commandId, change.command.status, change.status);
      this.#changes.set(commandId, change);
      if (isFinal(change.status)) this.finalIds.push(commandId);
      const value = JSON.stringify(toEvent(change, this.#nowIso));
      this.messages.push({ topic: TOPICS.commandEvents, key: commandId, value, traceparent });
    }
  }

  /** The commands that the unit makes final, with their final states. */
  *finalCommands(): Generator<{ message: CommandHeader; status: CommandStatus }> {
    for (const { command, status } of this.#changes.values()) {
      if (isFinal(status)) yield { message: command.message, status };
    }
  }

  /** Returns messages from memory, and reads the missing ones from the inbox. */
  async #messagesOf(rows: readonly OpenState[]): Promise<ReadonlyMap<string, StoredCommandMessage>> {
    const messages = new Map<string, StoredCommandMessage>();
    const unknown: string[] = [];
    for (const { command_id: commandId } of rows) {
      const message = this.#messageOf(commandId);
      if (message === undefined) unknown.push(commandId);
      else messages.set(commandId, message);
    }
    if (unknown.length === 0) return messages;
    for (const row of await this.query(MESSAGES, [column(unknown)])) {
      messages.set(row.command_id, storedMessage(JSON.parse(row.message)));
    }
    return messages;
  }

  /**
   * Writes everything collected; nothing may be added afterwards. Resolves to the id of the outbox
   * row that has all messages, or to null if there are none. Rejects with a transient error if
   * another transaction has changed a command since this one read it. Throws at once if a value is
   * invalid.
   */
  write(): Promise<number | null> {
    if (this.messages.length === 0) return Promise.resolve(null);
    // Lock order: by command id, so that two transactions cannot deadlock.
    const changes = [...this.#changes.values()].sort((a, b) => (commandIdOf(a) < commandIdOf(b) ? -1 : 1));
    const written = this.query(WRITE_UNIT, [
      column(changes.map(({ command }) => command.message.commandId)),
      column(changes.map(({ status }) => status)),
      column(changes.map(({ command }) => command.version + 1)),
      column(changes.map(({ attempts }) => attempts)),
      column(changes.map(({ errorCode }) => errorCode)),
      column(changes.map(({ errorMessage }) => errorMessage)),
      column(changes.map(({ status }) => (isFinal(status) ? this.#nowIso : null))),
      toLines(this.messages),
    ]);
    return written.then(([row]) => assertDefined(row, "the row of the outbox").id);
  }
}

function commandIdOf({ command }: StateChange): string {
  return command.message.commandId;
}

/** The event of a change; final states settle the reserved credits (decisions, 7.2). */
function toEvent(
  { command, status, attempts, result, errorCode, errorMessage }: StateChange,
  now: string,
): CommandEvent {
  const { message, version } = command;
  const action = status === "expired" ? "release" : "consume";
  return {
    commandId: message.commandId,
    organizationId: message.organizationId,
    serverId: message.serverId,
    accountNumber: accountNumberOf(message, result),
    managedAccountId: message.managedAccountId,
    operation: message.operation,
    version: version + 1,
    status,
    attempts,
    result,
    errorCode,
    errorMessage,
    settlement: isFinal(status)
      ? { chargeId: message.chargeId ?? message.commandId, credits: message.reservedCredits, action }
      : null,
    occurredAt: now,
    createdBy: message.createdBy ?? null,
    ...(message.callerAddress === undefined ? {} : { callerAddress: message.callerAddress }),
  };
}

/** A creation has no account number until its result gives one. */
function accountNumberOf(message: CommandHeader, result: Record<string, unknown> | null): string | null {
  const given = result?.["accountNumber"];
  return message.accountNumber ?? (typeof given === "string" ? given : null);
}
