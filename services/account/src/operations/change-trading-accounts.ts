/**
 * Carries out queued operations on existing accounts: plans them by status and server
 * configuration, sends the allowed ones in one batch with their command ids as references, and
 * returns their outcomes. A repeated command sends the same reference, so it gets the same final
 * outcome.
 */
import type { CommandHeader, CommandMessage, StoredCommandMessage } from "@kapi/contracts";
import { assertDefined, type Clock, toIso } from "@kapi/kernel";

import type {
  AccountEffect,
  ChangeOutcome,
  QueuedOperation,
  ReferencedChange,
  Rejection,
} from "../domain/account-change.ts";
import type { Account, ServerConfiguration } from "../domain/account.ts";
import type { AccountRepository, AccountChanger, AccountReader, Ledger } from "../domain/ports.ts";
import { rejection, retryWithoutKey } from "../domain/rejections.ts";
import type { BookableChange, BookChanges } from "./book-changes.ts";
import { type CatchUpDependencies, catchUp } from "./catch-up.ts";
import { completeDeletions, type DeletionPorts, NOT_TRIED } from "./complete-deletion.ts";
import type { QueuedOperations } from "./queued-operations.ts";

/**
 * Maximum number of concurrent catch-ups of a batch. After this many failed catch-ups the batch
 * starts no further catch-up.
 */
const MAX_CATCH_UPS = 8;

/** The result of one attempt at a command. */
export type ChangeRun =
  | { readonly kind: "done"; readonly account: Account; readonly effect: AccountEffect }
  | { readonly kind: "deleted"; readonly account: Account; readonly effect: AccountEffect }
  /** This service rejected the command in this attempt, and sent nothing. */
  | ({ readonly kind: "refuse" } & Rejection)
  /** The trading server rejected the change. */
  | {
      readonly kind: "refused";
      readonly errorCode: Rejection["errorCode"];
      readonly reason: string;
      readonly account: Account;
      /** The effect of the part that was applied before the rejection; null: no part. */
      readonly partial: AccountEffect | null;
    }
  | { readonly kind: "closed" }
  | { readonly kind: "retry"; readonly reason: string };

interface ChangePorts {
  readonly reader: AccountReader;
  readonly repository: AccountRepository;
  readonly changer: AccountChanger;
  readonly deletion: DeletionPorts;
  readonly history: CatchUpDependencies;
  readonly ledger: Ledger;
  readonly bookChanges: BookChanges;
  readonly operations: QueuedOperations;
  readonly clock: Clock;
}

/**
 * A command whose change, applied fully or in part, caused further events, for example of
 * closed positions. Reads must show these events when the command is final.
 */
interface Behind {
  readonly id: string;
  readonly account: Account;
  readonly movesMoney: boolean;
}

interface Planned {
  readonly message: StoredCommandMessage;
  readonly operation: QueuedOperation;
  readonly account: Account;
  readonly sent: ReferencedChange;
}

/**
 * Runs commands of one server. `messages` has at most one command for each account. Returns one
 * result for each command, in order. Rejects if the trading server gives no clear answer.
 */
export async function changeTradingAccounts(
  ports: ChangePorts,
  serverId: string,
  messages: readonly CommandMessage[],
): Promise<ChangeRun[]> {
  const server = await ports.reader.server(serverId);
  if (server === null) return messages.map(() => ({ kind: "retry", reason: "the server is not known yet" }));
  const accounts = await ports.repository.startCommands(
    serverId,
    messages.map(({ commandId, accountNumber }) => ({ commandId, accountNumber: accountNumber ?? "" })),
  );
  const runs = new Map<string, ChangeRun>();
  const planned: Planned[] = [];
  for (const [index, message] of messages.entries()) {
    const plan = planOf(ports, server, message, accounts[index] ?? null);
    if ("kind" in plan) runs.set(message.commandId, plan);
    else planned.push(plan);
  }
  const outcomes = await ports.changer.change(
    serverId,
    planned.map(({ sent }) => sent),
  );
  for (const [id, run] of await outcomesOf(ports, serverId, planned, outcomes)) runs.set(id, run);
  return messages.map(({ commandId }) => assertDefined(runs.get(commandId), "a run for each command"));
}

/**
 * The results of commands that may have been sent, in order. A command without an outcome is
 * closed: its change is never applied. A command on an unknown account is closed too.
 */
export async function settleTradingAccounts(
  ports: ChangePorts,
  serverId: string,
  messages: readonly StoredCommandMessage[],
): Promise<ChangeRun[]> {
  const outcomes = await ports.changer.settle(
    serverId,
    messages.map(({ commandId }) => commandId),
  );
  const accounts = await ports.repository.read(
    serverId,
    messages.map(({ accountNumber }) => accountNumber ?? ""),
  );
  const settled = messages.map((message, index) => ({
    message,
    operation: operationOf(ports, message),
    account: accounts[index] ?? null,
  }));
  const known = settled.filter((one): one is Omit<Planned, "sent"> => one.account !== null);
  const runs = await outcomesOf(
    ports,
    serverId,
    known,
    known.map(({ message }) => assertDefined(outcomes[messages.indexOf(message)], "an outcome for each reference")),
  );
  return messages.map(({ commandId }) => runs.get(commandId) ?? { kind: "closed" });
}

function planOf(
  ports: ChangePorts,
  server: ServerConfiguration,
  message: CommandMessage,
  account: Account | null,
): Planned | ChangeRun {
  if (account === null || account.status === "deleting" || account.status === "deleted") {
    return rejection("ACCOUNT_NOT_FOUND");
  }
  if (server.status !== "active") return rejection("SERVER_DISABLED");
  const operation = operationOf(ports, message);
  let plan: ReturnType<QueuedOperation["plan"]>;
  try {
    plan = operation.plan(message, account, server);
  } catch (error) {
    return retryWithoutKey(error);
  }
  if (plan.kind === "refuse") return plan;
  const { accountNumber } = account;
  const { commandId, traceparent } = message;
  const createdBy = message.createdBy ?? undefined;
  const sent = { reference: commandId, accountNumber, change: plan.change, traceparent, createdBy };
  return { message, operation, account, sent };
}

async function outcomesOf(
  ports: ChangePorts,
  serverId: string,
  commands: readonly Omit<Planned, "sent">[],
  outcomes: readonly ChangeOutcome[],
): Promise<Map<string, ChangeRun>> {
  const nowIso = toIso(ports.clock.nowMs());
  const runs = new Map<string, ChangeRun>();
  const deleted: { id: string; account: Account; effect: AccountEffect }[] = [];
  const behind: Behind[] = [];
  const changes: BookableChange[] = [];
  for (const [index, { message, operation, account }] of commands.entries()) {
    const id = message.commandId;
    const outcome = acceptMissingAccount(operation, assertDefined(outcomes[index], "an outcome for each change"));
    const movesMoney = operation.movesMoney?.(message) === true;
    if (outcome.kind === "incomplete") {
      runs.set(id, { kind: "retry", reason: outcome.reason });
      continue;
    }
    if (outcome.kind === "refused") {
      const partial = operation.partialEffect?.(message, outcome.errorCode, nowIso) ?? null;
      runs.set(id, { ...outcome, account, partial });
      if (partial !== null) behind.push({ id, account, movesMoney });
      continue;
    }
    if (outcome.kind === "closed") {
      runs.set(id, outcome);
      continue;
    }
    const effect = operation.effect(message, outcome.event, nowIso);
    if (operation.operation === "account.delete") deleted.push({ id, account, effect });
    else runs.set(id, { kind: "done", account, effect });
    if (operation.changesHistory(message)) behind.push({ id, account, movesMoney });
    else if (outcome.event !== null && operation.operation !== "account.delete") {
      changes.push({ account, event: outcome.event, traceparent: message.traceparent });
    }
  }
  await ports.bookChanges(serverId, changes);
  for (const [id, reason] of await catchUpAll(ports, behind)) runs.set(id, { kind: "retry", reason });
  const failures = await completeDeletions(
    ports.deletion,
    deleted.map(({ account }) => account),
  );
  for (const [index, { id, account, effect }] of deleted.entries()) {
    const failure = failures[index] ?? null;
    runs.set(id, failure === null ? { kind: "deleted", account, effect } : { kind: "retry", reason: failure });
  }
  return runs;
}

/**
 * Books the further events of the changes, so that no read is behind the command (decisions, 3.7).
 * Returns the reasons of failures, by command id. Those commands are retried: their references keep
 * the outcome.
 */
async function catchUpAll({ history, ledger }: ChangePorts, behind: readonly Behind[]): Promise<Map<string, string>> {
  const reasons = new Map<string, string>();
  const waiting = behind.values();
  const work = async (): Promise<void> => {
    for (const { id, account, movesMoney } of waiting) {
      if (reasons.size >= MAX_CATCH_UPS) {
        reasons.set(id, NOT_TRIED);
        continue;
      }
      const booking = movesMoney ? [catchUp(history, account), ledger.catchUp(account)] : [catchUp(history, account)];
      await Promise.all(booking).catch((error: unknown) => {
        reasons.set(id, error instanceof Error ? error.message : String(error));
      });
    }
  };
  await Promise.all(Array.from({ length: MAX_CATCH_UPS }, work));
  return reasons;
}

/** A deletion of an account that is unknown to the trading server counts as applied. */
function acceptMissingAccount({ operation }: QueuedOperation, outcome: ChangeOutcome): ChangeOutcome {
  const gone = outcome.kind === "refused" && outcome.errorCode === "ACCOUNT_NOT_FOUND";
  return gone && operation === "account.delete" ? { kind: "applied", event: null } : outcome;
}

function operationOf({ operations }: ChangePorts, { operation }: CommandHeader): QueuedOperation {
  return assertDefined(operations.get(operation), `the operation ${operation}`);
}
