/**
 * Maps command messages to creations, and the outcomes of creations to rows, results and events.
 */
import type { FinalOutcome, CommandOutcome, LeasedCommand, UnsettledCommand, WorkTransaction } from "@kapi/commands";
import { accountKey, type CommandMessage } from "@kapi/contracts";
import { assertDefined, type Clock, toIso } from "@kapi/kernel";

import type { PasswordKind } from "../../domain/account-change.ts";
import { CREATED_PLACE, type AccountEventDraft, type RecordEvents } from "../../domain/account-event.ts";
import type { Account, AccountCreation } from "../../domain/account.ts";
import { retryWithoutKey } from "../../domain/rejections.ts";
import type { AccountOpener, CreationRepository, CreationResult, OpeningOutcome } from "../../domain/ports.ts";
import type { CreationRun, RequestedCreation } from "../../operations/create-trading-account.ts";

/**
 * What creations need: `createTradingAccounts` carries them out, `opener` settles those that may
 * have been sent, and `repository` and `recordEvents` write the result.
 */
export interface CreationCommandsOptions {
  /**
   * One result for each creation, in order. Rejects if the trading server gives no clear answer.
   */
  readonly createTradingAccounts: (serverId: string, requested: readonly RequestedCreation[]) => Promise<CreationRun[]>;
  readonly opener: AccountOpener;
  readonly repository: CreationRepository;
  readonly recordEvents: RecordEvents;
  /** Returns the supplied password, decrypted; if none was supplied, the derived password. */
  readonly passwordOf: (message: CommandMessage, kind: PasswordKind) => string;
  /** Gives the time at which kapi learned of a rejection, or closed a creation. */
  readonly clock: Clock;
}

/** The effect of a creation whose account was opened or rejected. */
export interface CreationEffect {
  readonly kind: "creation";
  /** When the trading server opened the account, or when kapi learned of the rejection. */
  readonly at: string;
}

type Outcome = CommandOutcome<CreationEffect>;

/** Runs creations of one server; returns one result for each, in order. */
export async function executeCreations(
  options: CreationCommandsOptions,
  serverId: string,
  commands: readonly LeasedCommand[],
): Promise<Outcome[]> {
  const requests = commands.map(({ message }) => toRequest(options, message));
  const requested = requests.filter((request) => isRequest(request));
  const runs = requested.length === 0 ? [] : await options.createTradingAccounts(serverId, requested);
  let ran = 0;
  return commands.map((command, index) => {
    const request = assertDefined(requests[index], "a request for each command");
    if (!isRequest(request)) return request;
    const run = assertDefined(runs[ran], "a run for each creation");
    ran += 1;
    return fromRun(run, command, options.clock);
  });
}

/** The outcomes of creations that may have been sent, in order. */
export async function settleCreations(
  options: CreationCommandsOptions,
  serverId: string,
  commands: readonly UnsettledCommand[],
): Promise<Outcome[]> {
  const outcomes = await options.opener.settle(
    serverId,
    commands.map(({ message }) => message.commandId),
  );
  const accounts = await options.repository.read(commands.flatMap(({ message }) => message.managedAccountId ?? []));
  const byId = new Map(accounts.map((account) => [account.id, account]));
  return commands.map((command, index) => {
    const outcome = assertDefined(outcomes[index], "an outcome for each reference");
    return fromOpening(outcome, byId.get(command.message.managedAccountId ?? "") ?? null, command, options.clock);
  });
}

/** Writes the results of creations, and events for opened accounts. */
export async function applyCreations(
  { repository, recordEvents, clock }: CreationCommandsOptions,
  transaction: WorkTransaction,
  applied: readonly FinalOutcome<CreationEffect>[],
): Promise<void> {
  const nowIso = toIso(clock.nowMs());
  const moved = await repository.close(
    transaction,
    applied.flatMap((one) => toCreationResult(one, nowIso)),
  );
  const created = moved.filter((account) => account.status === "active");
  const spanOf = new Map(applied.map(({ message }) => [message.managedAccountId, message.traceparent]));
  const spans = created.map((account) => [accountKeyOf(account), spanOf.get(account.id)] as const);
  await recordEvents(transaction, created.map(toCreatedEvent), new Map(spans));
}

/** The request of a creation; or its outcome if nothing can be requested. */
function toRequest(options: CreationCommandsOptions, message: CommandMessage): RequestedCreation | Outcome {
  if (message.operation !== "account.create" || message.managedAccountId === null) {
    return { kind: "refuse", errorCode: "INTERNAL", errorMessage: "The creation is malformed" };
  }
  const creation: AccountCreation = {
    commandId: message.commandId,
    managedAccountId: message.managedAccountId,
    organizationId: message.organizationId,
    serverId: message.serverId,
    accountName: message.payload.accountName,
    leverage: message.payload.leverage,
    initialBalanceMinor: message.amountMinor,
    createdAt: message.createdAt,
  };
  try {
    return {
      creation,
      tradingPassword: options.passwordOf(message, "trading"),
      investorPassword: options.passwordOf({ ...message, sealedPassword: null }, "investor"),
      createdBy: message.createdBy ?? undefined,
      traceparent: message.traceparent,
    };
  } catch (error) {
    return retryWithoutKey(error);
  }
}

function isRequest(request: RequestedCreation | Outcome): request is RequestedCreation {
  return "creation" in request;
}

function fromRun({ outcome, account }: CreationRun, command: LeasedCommand, clock: Clock): Outcome {
  switch (outcome.kind) {
    case "refuse":
      return { kind: "refuse", errorCode: outcome.errorCode, errorMessage: outcome.reason };
    case "retry":
      return outcome;
    default:
      return fromOpening(outcome, account, command, clock);
  }
}

function fromOpening(
  outcome: OpeningOutcome,
  account: Account | null,
  command: UnsettledCommand,
  clock: Clock,
): Outcome {
  switch (outcome.kind) {
    case "opened": {
      const accountId = assertDefined(command.message.managedAccountId, "the account of a creation");
      const { accountNumber } = assertDefined(account, "the row of an opened account");
      return { kind: "succeeded", result: { accountId, accountNumber }, effect: effectAt(outcome.openedAt) };
    }
    case "refused":
      return {
        kind: "failed",
        errorCode: outcome.errorCode,
        errorMessage: outcome.reason,
        effect: effectAt(toIso(clock.nowMs())),
      };
    case "closed":
      return { kind: "closed" };
  }
}

function effectAt(at: string): CreationEffect {
  return { kind: "creation", at };
}

function toCreationResult({ message, outcome }: FinalOutcome<CreationEffect>, nowIso: string): CreationResult[] {
  const { managedAccountId } = message;
  if (managedAccountId === null) return [];
  switch (outcome.kind) {
    case "succeeded":
      return [{ managedAccountId, move: "activate", at: outcome.effect.at }];
    case "failed":
      return [{ managedAccountId, move: "fail", reason: outcome.errorMessage, at: outcome.effect.at }];
    case "closed":
      return [{ managedAccountId, move: "fail", reason: `The creation ${outcome.status}`, at: nowIso }];
  }
}

function accountKeyOf({ serverId, accountNumber }: Account): string {
  return accountKey(serverId, accountNumber);
}

function toCreatedEvent(account: Account): AccountEventDraft {
  return {
    place: CREATED_PLACE,
    serverId: account.serverId,
    accountNumber: account.accountNumber,
    occurredAt: account.updatedAt.toISOString(),
    type: "account.created",
    accountId: account.id,
    version: account.version,
    accountName: account.accountName,
    status: account.status,
    leverage: account.leverage,
  };
}
