/**
 * The deletion within the request (decisions, 4.8). From `deleting` on nothing leads back: a
 * request that fails, or a process that ends, leaves a deletion that the next request, or the look
 * at unfinished ones, takes to its end. Every step may be done again, and by several at once.
 */
import type { Actor } from "@kapi/contracts";
import { DependencyError } from "@kapi/http";
import { assertDefined, type Clock, delay, uuidV5 } from "@kapi/kernel";
import { faultPoint } from "@kapi/runtime";

import type { Account } from "../domain/account.ts";
import type { AccountChanger, DeletionState } from "../domain/ports.ts";
import { bookLastEvents, bookOrSkipLastEvents, type DeletionPorts, removeTraces } from "./complete-deletion.ts";

/** How long the account's running command is waited for (decisions, 4.8). */
const RUNNING_TIMEOUT_MS = 5_000;
/**
 * A command that is not shown as running this long is between two attempts; its reference is
 * settled instead.
 */
const QUEUED_TIMEOUT_MS = 1_000;
const LOOK_INTERVAL_MS = 50;
/** Unfinished deletions taken up in one round. */
const MAX_DUE = 10;

export interface ImmediateDeletionPorts extends DeletionPorts {
  readonly changer: AccountChanger;
  readonly clock: Clock;
  /** As the book does it, in a transaction of its own. */
  readonly announceCreation: (accountId: string, at: string) => Promise<void>;
  /** Marks the account as deleted, with the fact, in a transaction of its own. */
  readonly finish: (accountId: string) => Promise<void>;
}

/**
 * Deletes an account, with its open positions closed at the market, and everything that is known of
 * it. The closing deals are booked and announced before the deletion is. True once the account is
 * gone, also where it was before; false where there never was one. Rejects where a step could not
 * be done. `createdBy`: who asks for it, which the ledger keeps of the closed positions.
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

/** Told of deletions that are taken up again. */
export interface DeletionReports {
  /** It could not be ended, and is due again later. */
  readonly failed: (account: Account, error: unknown) => void;
  /** It goes on without the account's last events, which could not be booked. */
  readonly skipped: (account: Account, error: unknown) => void;
}

/** Takes up deletions that were begun and not ended. */
export async function resumeDeletions(ports: ImmediateDeletionPorts, reports: DeletionReports): Promise<void> {
  const due = await ports.book.takeDue(MAX_DUE);
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

/** Waits for the running command and writes `deleting`; gives the account as it then is. */
async function started(
  { book, clock }: ImmediateDeletionPorts,
  serverId: string,
  accountNumber: string,
  createdBy: Actor | null,
): Promise<DeletionState | null> {
  const beganMs = clock.nowMs();
  for (;;) {
    const state = await book.look(serverId, accountNumber);
    if (state === null) return null;
    const { status } = state.account;
    if (status === "deleting" || status === "deleted") return state;
    const waitedMs = clock.nowMs() - beganMs;
    if (state.open === "running" && waitedMs >= RUNNING_TIMEOUT_MS) {
      throw new DependencyError(`account ${accountNumber}: its running command takes too long`);
    }
    const idle = state.open === null || (state.open === "queued" && waitedMs >= QUEUED_TIMEOUT_MS);
    const asked = { ...state, createdBy };
    if (idle && (await book.start(asked))) return asked;
    await delay(LOOK_INTERVAL_MS);
  }
}

async function carryOut(ports: ImmediateDeletionPorts, state: DeletionState, bookLast: BookLast): Promise<void> {
  const { account, lastCommand } = state;
  const { serverId } = account;
  faultPoint("account.deletion-marked");
  // A creation, or a change, that is still on its way could otherwise apply behind the deletion.
  const [settled] = lastCommand === null ? [] : await ports.changer.settle(serverId, [lastCommand]);
  // A creation that the trading server carried out and that did not end here: closing deals are
  // told only after it.
  const isCreated = settled?.kind === "applied" && settled.event?.type === "account.created";
  if (isCreated) await ports.announceCreation(account.id, settled.event.occurredAt);
  faultPoint("account.deletion-settled");
  await deleteOnTradingServer(ports, state);
  faultPoint("account.deletion-trading-server");
  await bookLast(ports, account);
  await removeTraces(ports, account);
  await ports.finish(account.id);
  faultPoint("account.deletion-finished");
}

async function deleteOnTradingServer(ports: ImmediateDeletionPorts, state: DeletionState): Promise<void> {
  const { id, serverId, accountNumber } = state.account;
  // The same for every retry, so that all of them have one outcome; only a refusal, which is final,
  // makes a new one.
  const reference = uuidV5(id, `deletion/${state.refusals}`);
  const change = { type: "delete", closePositions: true } as const;
  const createdBy = state.createdBy ?? undefined;
  const outcomes = await ports.changer.change(serverId, [{ reference, accountNumber, change, createdBy }]);
  const outcome = assertDefined(outcomes[0], "an outcome for each change");
  if (outcome.kind === "applied") return;
  if (outcome.kind === "refused" && outcome.errorCode === "ACCOUNT_NOT_FOUND") return;
  await ports.book.refused(state);
  const reason = outcome.kind === "refused" ? outcome.reason : "the reference was closed";
  throw new DependencyError(`account ${accountNumber}: the trading server does not delete it: ${reason}`);
}
