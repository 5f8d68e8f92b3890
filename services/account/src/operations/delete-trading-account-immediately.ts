/**
 * The synchronous deletion (decisions, 4.8). `deleting` is never undone: after a failed request or
 * a killed process, the next request or the service itself completes the deletion. Every step may
 * be repeated, also concurrently.
 */
import type { Actor } from "@kapi/contracts";
import { DependencyError } from "@kapi/http";
import { assertDefined, type Clock, delay, uuidV5 } from "@kapi/kernel";
import { faultPoint } from "@kapi/runtime";

import type { Account } from "../domain/account.ts";
import type { AccountChanger, DeletionState } from "../domain/ports.ts";
import { bookLastEvents, bookOrSkipLastEvents, type DeletionPorts, removeAccountData } from "./complete-deletion.ts";

/** How long to wait for the account's running command (decisions, 4.8). */
const RUNNING_TIMEOUT_MS = 5_000;
/**
 * Maximum wait for a command that is between two attempts. After this wait the deletion settles the
 * command's reference, so that the command's change cannot apply later.
 */
const QUEUED_TIMEOUT_MS = 1_000;
const LOOK_INTERVAL_MS = 50;
/** Maximum number of deletions resumed in one round. */
const MAX_DUE = 10;

interface ImmediateDeletionPorts extends DeletionPorts {
  readonly changer: AccountChanger;
  readonly clock: Clock;
  /** `announceCreation` of the repository, in its own transaction. */
  readonly announceCreation: (accountId: string, at: string) => Promise<void>;
  /** Marks the account deleted and publishes the event, in its own transaction. */
  readonly finish: (accountId: string) => Promise<void>;
}

/**
 * Deletes an account; closes open positions at the market. The closing deals are published before
 * the deletion. No read shows the account's data afterwards; its ledger rows are only hidden.
 * Resolves to true when the account is deleted, also by an earlier request, and to false if the
 * account never existed. Rejects if a step fails. `createdBy`: the caller, recorded in the ledger
 * for the closed positions.
 */
export async function deleteTradingAccountImmediately(
  ports: ImmediateDeletionPorts,
  serverId: string,
  accountNumber: string,
  createdBy: Actor | null,
): Promise<boolean> {
  const state = await started(ports, serverId, accountNumber, createdBy);
  if (state === null) return false;
  if (state.account.status !== "deleted") await carryOut(ports, state, bookLastEvents);
  return true;
}

/** Receives the results of resumed deletions. */
export interface DeletionReports {
  /** The deletion failed and is due again later. */
  readonly failed: (account: Account, error: unknown) => void;
  /** The deletion continues without the account's last events, which could not be booked. */
  readonly skipped: (account: Account, error: unknown) => void;
}

/** Resumes unfinished deletions. */
export async function resumeDeletions(ports: ImmediateDeletionPorts, reports: DeletionReports): Promise<void> {
  const due = await ports.repository.claimDue(MAX_DUE);
  const book: BookLast = (deletion, account) =>
    bookOrSkipLastEvents(deletion, account, (error) => reports.skipped(account, error));
  await Promise.all(
    due.map(async (state) => {
      try {
        await carryOut(ports, state, book);
      } catch (error) {
        reports.failed(state.account, error);
      }
    }),
  );
}

type BookLast = (ports: DeletionPorts, account: Account) => Promise<void>;

/**
 * Waits for the account's running command and marks the account `deleting`. Returns the state that
 * the deletion begins with; null if the account never existed.
 */
async function started(
  { repository, clock }: ImmediateDeletionPorts,
  serverId: string,
  accountNumber: string,
  createdBy: Actor | null,
): Promise<DeletionState | null> {
  const beganMs = clock.nowMs();
  for (;;) {
    const state = await repository.find(serverId, accountNumber);
    if (state === null) return null;
    const { status } = state.account;
    if (status === "deleting" || status === "deleted") return state;
    const waitedMs = clock.nowMs() - beganMs;
    if (state.open === "running" && waitedMs >= RUNNING_TIMEOUT_MS) {
      throw new DependencyError(`account ${accountNumber}: its running command did not finish in time`);
    }
    const idle = state.open === null || (state.open === "queued" && waitedMs >= QUEUED_TIMEOUT_MS);
    const asked = { ...state, createdBy };
    if (idle && (await repository.start(asked))) return asked;
    await delay(LOOK_INTERVAL_MS);
  }
}

async function carryOut(ports: ImmediateDeletionPorts, state: DeletionState, bookLast: BookLast): Promise<void> {
  const { account, lastCommand } = state;
  const { serverId } = account;
  faultPoint("account.deletion-marked");
  // Without this settlement, a pending creation or change could apply after the deletion.
  const [settled] = lastCommand === null ? [] : await ports.changer.settle(serverId, [lastCommand]);
  // If the settlement shows that the trading server created the account, the creation is published
  // before the closing deals, unless that happened already.
  const isCreated = settled?.kind === "applied" && settled.event?.type === "account.created";
  if (isCreated) await ports.announceCreation(account.id, settled.event.occurredAt);
  faultPoint("account.deletion-settled");
  await deleteOnTradingServer(ports, state);
  faultPoint("account.deletion-trading-server");
  await bookLast(ports, account);
  await removeAccountData(ports, account);
  await ports.finish(account.id);
  faultPoint("account.deletion-finished");
}

async function deleteOnTradingServer(ports: ImmediateDeletionPorts, state: DeletionState): Promise<void> {
  const { id, serverId, accountNumber } = state.account;
  // Retries use the same reference: they get the same outcome, or continue an incomplete deletion.
  // After a rejection, which is final, the next attempt uses a new reference.
  const reference = uuidV5(id, `deletion/${state.rejections}`);
  const change = { type: "delete", closePositions: true } as const;
  const createdBy = state.createdBy ?? undefined;
  const outcomes = await ports.changer.change(serverId, [{ reference, accountNumber, change, createdBy }]);
  const outcome = assertDefined(outcomes[0], "an outcome for each change");
  if (outcome.kind === "applied") return;
  if (outcome.kind === "refused" && outcome.errorCode === "ACCOUNT_NOT_FOUND") return;
  if (outcome.kind === "incomplete")
    throw new DependencyError(`account ${accountNumber}: the deletion is incomplete: ${outcome.reason}`);
  await ports.repository.noteRejection(state);
  const reason = outcome.kind === "refused" ? outcome.reason : "the reference was closed";
  throw new DependencyError(`account ${accountNumber}: the trading server rejected the deletion: ${reason}`);
}
