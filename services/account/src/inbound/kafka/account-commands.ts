/** Translates account commands: messages into operations, their outcomes into effects and facts. */
import type { AppliedOutcome, CommandExecutor, CommandOutcome, LeasedCommand, WorkTransaction } from "@kapi/commands";
import { type CommandMessage, CreateTradingAccountBody } from "@kapi/contracts";
import {
  assertDefined,
  type Clock,
  derivePassword,
  type Keyring,
  minorFromAmount,
  openPassword,
  toIso,
} from "@kapi/kernel";

import type { FactDraft, RecordFacts } from "../../domain/account-fact.ts";
import type { Account, AccountCreation } from "../../domain/account.ts";
import type { AccountOpener, CreationBook, CreationEnd, OpeningOutcome } from "../../domain/ports.ts";
import type { CreationRun, RequestedCreation } from "../../operations/create-trading-account.ts";

/** The payload of account.create: the request's body without request id and password. */
const CreatePayload = CreateTradingAccountBody.omit({ requestId: true, password: true });

export interface AccountCommandsOptions {
  readonly createTradingAccounts: (serverId: string, requested: readonly RequestedCreation[]) => Promise<CreationRun[]>;
  readonly opener: AccountOpener;
  readonly book: CreationBook;
  readonly recordFacts: RecordFacts;
  readonly derivationKeys: Keyring;
  readonly sealingKeys: Keyring;
  readonly clock: Clock;
  /** Whether an error means that the trading server gave no clear answer. */
  readonly isUnreachable: (error: unknown) => boolean;
}

/** When a creation ended on the trading server. */
interface CreationEffect {
  readonly at: string;
}

type Outcome = CommandOutcome<CreationEffect>;

/** The executor of commands.account. */
export function createAccountCommands(options: AccountCommandsOptions): CommandExecutor<CreationEffect> {
  return {
    execute: (serverId, commands) => execute(options, serverId, commands),
    settle: async (serverId, commands) => {
      const ids = commands.map((command) => command.message.commandId);
      const outcomes = await options.opener.settle(serverId, ids);
      return outcomes.map((outcome, index) => fromOpening(outcome, null, commands[index], options.clock));
    },
    apply: (transaction, applied) => apply(options, transaction, applied),
    isUnreachable: options.isUnreachable,
  };
}

async function execute(
  options: AccountCommandsOptions,
  serverId: string,
  commands: readonly LeasedCommand[],
): Promise<Outcome[]> {
  const outcomes = new Map<string, Outcome>();
  const requested: RequestedCreation[] = [];
  const leased: LeasedCommand[] = [];
  for (const command of commands) {
    const request = command.message.operation === "account.create" ? toRequest(options, command.message) : null;
    if (request === null) {
      const errorMessage = `${command.message.operation} cannot be carried out by this version`;
      outcomes.set(command.message.commandId, { kind: "refuse", errorCode: "INTERNAL", errorMessage });
    } else {
      requested.push(request);
      leased.push(command);
    }
  }
  const runs = requested.length === 0 ? [] : await options.createTradingAccounts(serverId, requested);
  for (const [index, run] of runs.entries()) {
    const command = assertDefined(leased[index], "a command for each run");
    outcomes.set(command.message.commandId, fromRun(run, command, options.clock));
  }
  return commands.map(({ message }) => assertDefined(outcomes.get(message.commandId), "an outcome for each command"));
}

function toRequest(options: AccountCommandsOptions, message: CommandMessage): RequestedCreation | null {
  const payload = CreatePayload.safeParse(message.payload);
  const initialBalanceMinor = payload.success ? minorFromAmount(payload.data.initialBalance) : null;
  if (!payload.success || initialBalanceMinor === null || message.managedAccountId === null) return null;
  const { commandId, sealedPassword } = message;
  const creation: AccountCreation = {
    commandId,
    managedAccountId: message.managedAccountId,
    organizationId: message.organizationId,
    serverId: message.serverId,
    accountName: payload.data.accountName,
    leverage: payload.data.leverage,
    initialBalanceMinor,
    createdAt: message.createdAt,
  };
  return {
    creation,
    tradingPassword:
      sealedPassword === null
        ? derivePassword(options.derivationKeys, commandId, "trading")
        : openPassword(options.sealingKeys, commandId, sealedPassword),
    investorPassword: derivePassword(options.derivationKeys, commandId, "investor"),
  };
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
  command: LeasedCommand | undefined,
  clock: Clock,
): Outcome {
  switch (outcome.kind) {
    case "opened": {
      const accountId = assertDefined(command?.message.managedAccountId, "the account of a creation");
      // A settled creation knows its number only from the row that `apply` moves.
      const result = account === null ? { accountId } : { accountId, accountNumber: account.accountNumber };
      return { kind: "succeeded", result, effect: { at: outcome.openedAt } };
    }
    case "refused":
      return {
        kind: "failed",
        errorCode: outcome.errorCode,
        errorMessage: outcome.reason,
        effect: { at: toIso(clock.nowMs()) },
      };
    case "closed":
      return { kind: "closed" };
  }
}

async function apply(
  { book, recordFacts, clock }: AccountCommandsOptions,
  transaction: WorkTransaction,
  applied: readonly AppliedOutcome<CreationEffect>[],
): Promise<ReadonlyMap<string, Record<string, unknown>>> {
  const nowIso = toIso(clock.nowMs());
  const moved = await book.close(
    transaction,
    applied.flatMap((ended) => toEnd(ended, nowIso)),
  );
  const byId = new Map(moved.map((account) => [account.id, account]));
  await recordFacts(transaction, moved.filter((account) => account.status === "active").map(toCreatedFact));
  const results = new Map<string, Record<string, unknown>>();
  for (const { message, outcome } of applied) {
    const account = byId.get(message.managedAccountId ?? "");
    if (outcome.kind !== "succeeded" || account === undefined) continue;
    results.set(message.commandId, { accountId: account.id, accountNumber: account.accountNumber });
  }
  return results;
}

function toEnd({ message, outcome }: AppliedOutcome<CreationEffect>, nowIso: string): CreationEnd[] {
  const { managedAccountId } = message;
  if (managedAccountId === null || message.operation !== "account.create") return [];
  switch (outcome.kind) {
    case "succeeded":
      return [{ managedAccountId, move: "activate", at: outcome.effect.at }];
    case "failed":
      return [{ managedAccountId, move: "fail", reason: outcome.errorMessage, at: outcome.effect.at }];
    case "closed":
      return [{ managedAccountId, move: "fail", reason: `The creation ${outcome.status}`, at: nowIso }];
  }
}

function toCreatedFact(account: Account): FactDraft {
  return {
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
