/** Maps commands on existing accounts to outcomes, and outcomes to rows, results and events. */
import type { FinalOutcome, CommandOutcome, LeasedCommand, UnsettledCommand, WorkTransaction } from "@kapi/commands";
import { accountKey, type CommandHeader, type CommandMessage, type StoredCommandMessage } from "@kapi/contracts";
import { assertDefined } from "@kapi/kernel";

import type { AccountEffect, ChangedAccount, QueuedOperation } from "../../domain/account-change.ts";
import type { AccountEventDraft, RecordEvents } from "../../domain/account-event.ts";
import type { Account } from "../../domain/account.ts";
import type { AccountRepository, DeletionRepository } from "../../domain/ports.ts";
import type { ChangeRun } from "../../operations/change-trading-accounts.ts";
import type { QueuedOperations } from "../../operations/queued-operations.ts";

type Run<M> = (serverId: string, messages: readonly M[]) => Promise<ChangeRun[]>;

/**
 * The dependencies of the functions of this file. `changeTradingAccounts` and
 * `settleTradingAccounts` return one result for each message, in order. They reject if the trading
 * server gives no clear answer.
 */
export interface ChangeCommandsOptions {
  /** Sends the changes of newly leased commands. */
  readonly changeTradingAccounts: Run<CommandMessage>;
  /** Gets the outcomes of commands that may have been sent. Closes a command without an outcome. */
  readonly settleTradingAccounts: Run<StoredCommandMessage>;
  /** Must contain the operation of every command that is passed to a function of this file. */
  readonly operations: QueuedOperations;
  readonly repository: AccountRepository;
  readonly deletions: DeletionRepository;
  /** Records the account events in the transaction that writes the rows. */
  readonly recordEvents: RecordEvents;
}

/** The effect of a command; `account` is the account before the command. */
export type ChangeEffect =
  | { readonly kind: "change"; readonly account: Account; readonly effect: AccountEffect }
  | { readonly kind: "deletion"; readonly account: Account; readonly effect: AccountEffect }
  | { readonly kind: "none" };

type Outcome = CommandOutcome<ChangeEffect>;

/**
 * Runs commands of one server. `commands` has at most one command for each account. Returns one
 * result for each command, in order.
 */
export function executeChanges(
  options: ChangeCommandsOptions,
  serverId: string,
  commands: readonly LeasedCommand[],
): Promise<Outcome[]> {
  return outcomesOf(options, options.changeTradingAccounts, serverId, commands);
}

/** The outcomes of commands that may have been sent, in order. */
export function settleChanges(
  options: ChangeCommandsOptions,
  serverId: string,
  commands: readonly UnsettledCommand[],
): Promise<Outcome[]> {
  return outcomesOf(options, options.settleTradingAccounts, serverId, commands);
}

/**
 * Writes the effects of commands, records their events, and marks the accounts of succeeded
 * deletions `deleted`. Returns, by command id, the results of succeeded commands whose account rows
 * were written. Every other command keeps the result in its outcome.
 */
export async function applyChanges(
  options: ChangeCommandsOptions,
  transaction: WorkTransaction,
  applied: readonly FinalOutcome<ChangeEffect>[],
): Promise<Map<string, Record<string, unknown>>> {
  const changes = applied.flatMap(({ message, outcome }) =>
    outcome.kind !== "closed" && outcome.effect.kind === "change"
      ? [{ message, done: outcome.effect, hasSucceeded: outcome.kind === "succeeded" }]
      : [],
  );
  const changed = await options.repository.finishCommands(
    transaction,
    changes.map(({ message: { commandId, serverId }, done: { account, effect } }) => ({
      commandId,
      serverId,
      accountNumber: account.accountNumber,
      effect,
    })),
  );
  const results = new Map<string, Record<string, unknown>>();
  const accountEvents: AccountEventDraft[] = [];
  const spans = new Map<string, string | undefined>();
  for (const { message, done, hasSucceeded } of changes) {
    const after = changed.get(message.commandId);
    // The account is being deleted: its row is unchanged, and the result of the outcome stays.
    if (after === undefined) continue;
    const operation = operationOf(options, message);
    if (hasSucceeded) results.set(message.commandId, operation.result(after, done.effect));
    if (after.changed) accountEvents.push(...toAccountEvent(operation, after.account, done.effect));
    spans.set(accountKey(after.account.serverId, after.account.accountNumber), message.traceparent);
  }
  await options.recordEvents(transaction, accountEvents, spans);
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
      const result = operation.result(withEffect(account, effect), effect);
      return {
        kind: "succeeded",
        result,
        effect: { kind: run.kind === "done" ? "change" : "deletion", account, effect },
      };
    }
    case "refused": {
      const { errorCode, reason: errorMessage, account, partial } = run;
      const effect: ChangeEffect = partial === null ? { kind: "none" } : { kind: "change", account, effect: partial };
      return { kind: "failed", errorCode, errorMessage, effect };
    }
    case "refuse":
    case "closed":
    case "retry":
      return run;
  }
}

/** The account with the trading server's values, before the row is written. */
function withEffect(account: Account, { made, accountName, leverage }: AccountEffect): ChangedAccount {
  return {
    account: { ...account, accountName: accountName ?? account.accountName, leverage: leverage ?? account.leverage },
    changed: made,
  };
}

function toAccountEvent({ eventType }: QueuedOperation, account: Account, effect: AccountEffect): AccountEventDraft[] {
  if (eventType === null) return [];
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
  if (eventType !== "account.password_changed") return [{ ...record, type: eventType }];
  return [{ ...record, type: eventType, passwordKind: assertDefined(effect.passwordKind, "the kind of a password") }];
}

function operationOf({ operations }: ChangeCommandsOptions, { operation }: CommandHeader): QueuedOperation {
  return assertDefined(operations.get(operation), `the operation ${operation}`);
}
