/**
 * Translates commands on existing accounts: their runs into outcomes, and those into rows, results
 * and facts.
 */
import type { AppliedOutcome, CommandOutcome, LeasedCommand, UnsettledCommand, WorkTransaction } from "@kapi/commands";
import { accountKey, type CommandHeader, type CommandMessage, type StoredCommandMessage } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";

import type { AccountEffect, ChangedAccount, QueuedOperation } from "../../domain/account-change.ts";
import type { FactDraft, RecordFacts } from "../../domain/account-fact.ts";
import type { Account } from "../../domain/account.ts";
import type { AccountBook, DeletionBook } from "../../domain/ports.ts";
import type { ChangeRun } from "../../operations/change-trading-accounts.ts";
import type { QueuedOperations } from "../../operations/queued-operations.ts";

type Run<M> = (serverId: string, messages: readonly M[]) => Promise<ChangeRun[]>;

export interface ChangeCommandsOptions {
  readonly changeTradingAccounts: Run<CommandMessage>;
  readonly settleTradingAccounts: Run<StoredCommandMessage>;
  readonly operations: QueuedOperations;
  readonly book: AccountBook;
  readonly deletions: DeletionBook;
  readonly recordFacts: RecordFacts;
}

/** What a command did to its account; `account` is the one that it met. */
export type ChangeEffect =
  | { readonly kind: "change"; readonly account: Account; readonly effect: AccountEffect }
  | { readonly kind: "deletion"; readonly account: Account; readonly effect: AccountEffect }
  | { readonly kind: "none" };

type Outcome = CommandOutcome<ChangeEffect>;

/** Runs commands of one server, each of another account; one outcome each, in order. */
export function executeChanges(
  options: ChangeCommandsOptions,
  serverId: string,
  commands: readonly LeasedCommand[],
): Promise<Outcome[]> {
  return outcomesOf(options, options.changeTradingAccounts, serverId, commands);
}

/** What became of commands that were perhaps sent; one outcome each, in order. */
export function settleChanges(
  options: ChangeCommandsOptions,
  serverId: string,
  commands: readonly UnsettledCommand[],
): Promise<Outcome[]> {
  return outcomesOf(options, options.settleTradingAccounts, serverId, commands);
}

/** Writes what commands did to their accounts, with the facts of it; gives their results. */
export async function applyChanges(
  options: ChangeCommandsOptions,
  transaction: WorkTransaction,
  applied: readonly AppliedOutcome<ChangeEffect>[],
): Promise<Map<string, Record<string, unknown>>> {
  const changes = applied.flatMap(({ message, outcome }) =>
    outcome.kind === "succeeded" && outcome.effect.kind === "change" ? [{ message, done: outcome.effect }] : [],
  );
  const changed = await options.book.end(
    transaction,
    changes.map(({ message: { commandId, serverId }, done: { account, effect } }) => ({
      commandId,
      serverId,
      accountNumber: account.accountNumber,
      effect,
    })),
  );
  const results = new Map<string, Record<string, unknown>>();
  const facts: FactDraft[] = [];
  const spans = new Map<string, string | undefined>();
  for (const { message, done } of changes) {
    const after = changed.get(message.commandId);
    // It is being deleted meanwhile: nobody sees its row any more, and the result is what the
    // trading server did.
    if (after === undefined) continue;
    const operation = operationOf(options, message);
    results.set(message.commandId, operation.result(after, done.effect.at));
    if (after.changed) facts.push(...toFact(operation, after.account, done.effect));
    spans.set(accountKey(after.account.serverId, after.account.accountNumber), message.traceparent);
  }
  await options.recordFacts(transaction, facts, spans);
  await options.deletions.finish(
    transaction,
    applied.flatMap(({ outcome }) =>
      outcome.kind === "succeeded" && outcome.effect.kind === "deletion" ? [outcome.effect.account.id] : [],
    ),
  );
  return results;
}

async function outcomesOf<M extends StoredCommandMessage>(
  options: ChangeCommandsOptions,
  run: Run<M>,
  serverId: string,
  commands: readonly { readonly message: M }[],
): Promise<Outcome[]> {
  const runs = await run(
    serverId,
    commands.map(({ message }) => message),
  );
  return commands.map(({ message }, index) =>
    toOutcome(operationOf(options, message), assertDefined(runs[index], "a run for each command")),
  );
}

function toOutcome(operation: QueuedOperation, run: ChangeRun): Outcome {
  switch (run.kind) {
    case "done":
    case "deleted": {
      const { account, effect } = run;
      const result = operation.result(asTold(account, effect), effect.at);
      return {
        kind: "succeeded",
        result,
        effect: { kind: run.kind === "done" ? "change" : "deletion", account, effect },
      };
    }
    case "refused":
      return { kind: "failed", errorCode: run.errorCode, errorMessage: run.reason, effect: { kind: "none" } };
    case "refuse":
    case "closed":
    case "retry":
      return run;
  }
}

/** The account with what the trading server told, before the row is written. */
function asTold(account: Account, { made, accountName, leverage }: AccountEffect): ChangedAccount {
  return {
    account: { ...account, accountName: accountName ?? account.accountName, leverage: leverage ?? account.leverage },
    changed: made,
  };
}

function toFact({ fact }: QueuedOperation, account: Account, effect: AccountEffect): FactDraft[] {
  if (fact === null) return [];
  const record = {
    serverId: account.serverId,
    accountNumber: account.accountNumber,
    occurredAt: effect.at,
    accountId: account.id,
    version: account.version,
    accountName: account.accountName,
    status: account.status,
    leverage: account.leverage,
  };
  if (fact !== "account.password_changed") return [{ ...record, type: fact }];
  return [{ ...record, type: fact, passwordKind: assertDefined(effect.passwordKind, "the kind of a password") }];
}

function operationOf({ operations }: ChangeCommandsOptions, { operation }: CommandHeader): QueuedOperation {
  return assertDefined(operations.get(operation), `the operation ${operation}`);
}
