/**
 * Rebuilds the orders, positions and deals of a server's accounts from the trading server's
 * history, while the service runs. Each account's rebuilt history is first staged. Then it replaces
 * the live history in one transaction, exactly up to the last booked event. So no event is lost or
 * published twice. An interrupted rebuild keeps its staged history.
 */
import type { AccountRef } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import type { EventHistory } from "@kapi/trading-server/event-feed";

import type { StagedHistory } from "../domain/history-ports.ts";
import type { Feed } from "../domain/history.ts";

/** Maximum number of accounts that are rebuilt at the same time. */
const MAX_PARALLEL = 8;
/** Number of accounts after which the progress is saved. */
const CHUNK_ACCOUNTS = 64;
/** Maximum number of events per request. */
const PAGE_EVENTS = 1_000;
/**
 * Time after the start of a rebuild. An account that still has no booked events at this time counts
 * as an account that lost its history: its events are not published again. Before this time, the
 * first events of a new account are possibly still on their way.
 */
const LOST_AFTER_MS = 5_000;

/** The result for one account. */
export type RebuiltAccount = { readonly accountNumber: string } & (
  | { readonly kind: "rebuilt"; readonly feed: Feed; readonly different: number }
  | { readonly kind: "nothing" }
  | { readonly kind: "failed"; readonly error: unknown }
);

/**
 * The sources and the staging tables of a rebuild. The service continues to book events during the
 * rebuild.
 */
export interface RebuildOptions {
  /** Keeps the staged histories, and the progress of an interrupted run. */
  readonly staged: StagedHistory;
  /** The trading server's events of an account; rejects if it gives no clear answer. */
  readonly history: EventHistory;
  /** Sequence of the account's last event on the trading server; 0 if there is none. */
  readonly lastSequence: (account: AccountRef) => Promise<number>;
  /**
   * Called after each chunk: the number of accounts that are done in this run, the number of all
   * accounts of this run, and the results of the chunk.
   */
  readonly onProgress: (done: number, total: number, accounts: readonly RebuiltAccount[]) => void;
}

/**
 * Rebuilds every account that a server has at the start. Continues an interrupted run. Accounts
 * that are created later have higher numbers and are not rebuilt. An account that fails (no answer,
 * or an incomplete history) stays unchanged and is reported. The run continues with the other
 * accounts.
 */
export async function rebuildServer(options: RebuildOptions, serverId: string): Promise<void> {
  const { staged, onProgress } = options;
  let after = (await staged.doneThrough(serverId)) ?? "";
  const { count: total, last: through } = await staged.accountsLeft(serverId, after);
  const beganMs = performance.now();
  let done = 0;
  let hasFailed = false;
  for (;;) {
    const chunk = await staged.accounts(serverId, { after, through }, CHUNK_ACCOUNTS);
    const last = chunk.at(-1);
    if (last === undefined) break;
    if (chunk.some(({ hasFeed }) => !hasFeed)) await delay(Math.max(0, beganMs + LOST_AFTER_MS - performance.now()));
    const accounts: RebuiltAccount[] = [];
    const waiting = chunk.values();
    const work = async (): Promise<void> => {
      for (const { accountNumber } of waiting) accounts.push(await rebuilt(options, { serverId, accountNumber }));
    };
    await Promise.all(Array.from({ length: MAX_PARALLEL }, work));
    after = last.accountNumber;
    done += chunk.length;
    const failed = new Set(accounts.filter(({ kind }) => kind === "failed").map(({ accountNumber }) => accountNumber));
    const firstFailed = chunk.findIndex(({ accountNumber }) => failed.has(accountNumber));
    const doneBefore = firstFailed === -1 ? last : chunk[firstFailed - 1];
    // A repeated call after an interruption begins with the first account that failed.
    if (!hasFailed && doneBefore !== undefined) await staged.noteDone(serverId, doneBefore.accountNumber);
    hasFailed ||= firstFailed !== -1;
    onProgress(done, total, accounts);
  }
  await staged.forgetDone(serverId);
}

/** Rebuilds one account. */
export async function rebuildAccount(options: RebuildOptions, account: AccountRef): Promise<void> {
  if ((await options.staged.bookedSequence(account)) === null) await delay(LOST_AFTER_MS);
  options.onProgress(1, 1, [await rebuilt(options, account)]);
}

async function rebuilt(options: RebuildOptions, account: AccountRef): Promise<RebuiltAccount> {
  const { accountNumber } = account;
  try {
    for (;;) {
      const booked = await options.staged.bookedSequence(account);
      const target = booked ?? (await options.lastSequence(account));
      if (target === 0) return { accountNumber, kind: "nothing" };
      const gathered = await gather(options, account, target);
      const ahead = await options.history.since(account, gathered, PAGE_EVENTS);
      const result = await options.staged.replace(account, ahead, booked === null ? target : null);
      if (result.kind === "gone") return { accountNumber, kind: "nothing" };
      if (result.kind === "replaced") {
        return { accountNumber, kind: "rebuilt", feed: result.feed, different: result.different };
      }
    }
  } catch (error) {
    return { accountNumber, kind: "failed", error };
  }
}

/**
 * Stages the events up to `target`; returns the sequence of the last one, 0 if the account is
 * deleting or deleted.
 */
async function gather({ staged, history }: RebuildOptions, account: AccountRef, target: number): Promise<number> {
  let gathered = await staged.stagedSequence(account);
  // Events after `target` are staged: drop all staged events, and stage those up to `target` again.
  if (gathered > target) {
    await staged.discard(account);
    gathered = 0;
  }
  while (gathered < target) {
    const events = await history.since(account, gathered, Math.min(PAGE_EVENTS, target - gathered));
    if (events.length === 0) throw new Error(`the trading server's history ends at ${gathered}, before ${target}`);
    const reached = await staged.stage(account, events);
    // The account is deleting or deleted now: there is no history to replace.
    if (reached === 0) return 0;
    gathered = reached;
  }
  return gathered;
}
