/**
 * Carries out depositAccountFunds and withdrawAccountFunds. Each change is sent to the trading
 * server with the command id as its reference. The event of the response is booked at once, which
 * completes the command. A rejection fails the command. An unknown outcome is never guessed.
 */
import {
  type CommandExecutor,
  type CommandOutcome,
  type LeasedCommand,
  retryIfNotSent,
  type UnsettledCommand,
} from "@kapi/commands";
import type { ServerEntry, TradingEvent } from "@kapi/contracts";
import { faultPoint } from "@kapi/runtime";
import type { Change, Outcome, TradingServerClient } from "@kapi/trading-server";
import type { Booking } from "@kapi/trading-server/event-feed";

import type { Ledger } from "../domain/ports.ts";
import { errorCodeOf } from "../domain/error-codes.ts";

type FundsOutcome = CommandOutcome<null>;

/**
 * What the executor of deposits and withdrawals needs. `client` sends and settles changes. `ledger`
 * completes commands whose events were booked before, and knows the accounts that it has seen.
 */
export interface MoveFundsOptions {
  readonly client: Pick<TradingServerClient, "change" | "settle">;
  readonly ledger: Ledger;
  /**
   * Books the event of an applied change, which completes its command. Rejects if the database is
   * unavailable.
   */
  readonly book: (event: TradingEvent, traceparent?: string) => Promise<Booking>;
  /** Undefined: the directory does not know the server yet, so the command is retried. */
  readonly serverOf: (serverId: string) => ServerEntry | undefined;
  /** Whether the trading server gave no clear answer. */
  readonly isUnreachable: (error: unknown) => boolean;
  /** Whether a call to the trading server failed before it was sent. */
  readonly isNotSent: (error: unknown) => boolean;
}

/** Creates the executor of finance commands. */
export function createFundsExecutor(options: MoveFundsOptions): CommandExecutor<null> {
  return {
    execute: (serverId, commands) =>
      retryIfNotSent(commands, options.isNotSent, () => execute(options, serverId, commands)),
    settle: (serverId, commands) =>
      retryIfNotSent(commands, options.isNotSent, async () => {
        const references = commands.map(({ message }) => message.commandId);
        return conclude(options, commands, await options.client.settle(serverId, references));
      }),
    // Commands have no effects here: ledger rows come from events only.
    apply: async () => new Map(),
    isUnreachable: options.isUnreachable,
  };
}

async function execute(
  options: MoveFundsOptions,
  serverId: string,
  commands: readonly LeasedCommand[],
): Promise<readonly FundsOutcome[]> {
  const stopped = commands.map(() => serverProblem(options.serverOf(serverId)));
  const changes = commands.map(({ message }) => changeOf(message));
  const sendable = commands.flatMap((command, index) => {
    const change = changes[index];
    return stopped[index] === null && change !== undefined && change !== null ? [{ command, change }] : [];
  });
  if (sendable.length === 0) return commands.map((_, index) => stopped[index] ?? MALFORMED);
  const answers = await options.client.change(
    serverId,
    sendable.map(({ change }) => change),
  );
  faultPoint("finance.after-answer");
  const sent = sendable.map(({ command }) => command);
  const concluded = await conclude(options, sent, answers);
  const outcomeOf = new Map(sent.map((command, index) => [command, concluded[index]]));
  return commands.map((command, index) => outcomeOf.get(command) ?? stopped[index] ?? MALFORMED);
}

const MALFORMED: FundsOutcome = {
  kind: "refuse",
  errorCode: "INTERNAL",
  errorMessage: "The command could not be processed",
};

/** Why no change can be sent to the server now, or null. */
function serverProblem(server: ServerEntry | undefined): FundsOutcome | null {
  if (server === undefined) return { kind: "retry", reason: "the directory does not know the server yet" };
  if (server.status === "active") return null;
  if (server.status === "disabled") {
    return { kind: "refuse", errorCode: "SERVER_DISABLED", errorMessage: "The server is disabled" };
  }
  return { kind: "refuse", errorCode: "SERVER_UNAVAILABLE", errorMessage: "The server was removed" };
}

/** The change of a message; null if it is not a valid finance command. */
function changeOf(message: LeasedCommand["message"]): Change | null {
  if (message.operation !== "finance.deposit" && message.operation !== "finance.withdraw") return null;
  const { commandId, accountNumber, operation, payload, amountMinor, traceparent } = message;
  if (accountNumber === null) return null;
  const kind = operation === "finance.deposit" ? "deposit" : "withdrawal";
  const description = payload.description ?? null;
  return { reference: commandId, accountNumber, type: "balance", kind, amountMinor, description, traceparent };
}

/** Books applied changes and maps the other outcomes. */
async function conclude(
  options: MoveFundsOptions,
  commands: readonly UnsettledCommand[],
  answers: readonly Outcome[],
): Promise<readonly FundsOutcome[]> {
  const bookings = await Promise.all(
    answers.map(async (answer, index) => {
      if (answer.status !== "applied" || answer.event === null) return null;
      return options.book(answer.event, commands[index]?.message.traceparent);
    }),
  );
  const duplicates = commands.flatMap(({ message }, index) =>
    bookings[index] === "duplicate" ? [message.commandId] : [],
  );
  const final = duplicates.length === 0 ? new Set<string>() : await options.ledger.confirm(duplicates);
  const known = await knownAccounts(options, commands, answers);
  return commands.map(({ message }, index) => {
    const answer = answers[index];
    switch (answer?.status) {
      case "applied":
        if (bookings[index] === "gap") return { kind: "pending" };
        if (bookings[index] === "booked" || final.has(message.commandId)) return { kind: "finished" };
        return { kind: "retry", reason: "the change is applied, but its event is not booked" };
      case "refused": {
        const errorCode = errorCodeOf(answer.code, known.has(message.commandId));
        return { kind: "failed", errorCode, errorMessage: answer.message, effect: null };
      }
      case "closed":
        return { kind: "closed" };
      case "incomplete":
        return { kind: "retry", reason: answer.message };
      case undefined:
        return { kind: "retry", reason: "no outcome for the command" };
    }
  });
}

/** Ids of commands whose account is unknown to the trading server but known to the ledger. */
async function knownAccounts(
  { ledger }: MoveFundsOptions,
  commands: readonly UnsettledCommand[],
  answers: readonly Outcome[],
): Promise<ReadonlySet<string>> {
  const unknown = commands.flatMap(({ message }, index) => {
    const answer = answers[index];
    const { accountNumber, serverId, commandId } = message;
    const isUnknown = answer?.status === "refused" && answer.code === "ACCOUNT_NOT_FOUND" && accountNumber !== null;
    return isUnknown ? [{ commandId, serverId, accountNumber }] : [];
  });
  if (unknown.length === 0) return new Set();
  const known = await ledger.known(unknown);
  return new Set(unknown.flatMap(({ commandId }, index) => (known[index] === true ? [commandId] : [])));
}
