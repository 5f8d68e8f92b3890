/**
 * Reconciliation: periodically compares the balance of every account in the ledger with its trading
 * server, and reports differences. Differences are never corrected automatically: an operator has
 * to find the cause of each one.
 *
 * A pass starts some time after the end of the previous one. It reads the accounts in key order, in
 * batches. An account that is not booked up to the server's sequence is compared again at the end
 * of the pass, with the same snapshot.
 */
import type { AccountRef } from "@kapi/contracts";
import { delay, repeat, type Repetition } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";
import type { TradingServerClient } from "@kapi/trading-server";

import { type Difference, compareBalances, type LedgerBalances, type ServerSide } from "../domain/reconciliation.ts";

/** Accounts per batch. */
const BATCH_ACCOUNTS = 100;
/** Maximum number of concurrent calls to trading servers; the client sets their deadline. */
const MAX_CALLS = 4;
/** Pause after a batch: limits the load to a thousand accounts a second. */
const BATCH_PAUSE_MS = 100;
/** After this many failed calls, the server's other accounts count as unreachable in this pass. */
const MAX_SERVER_FAILURES = 3;
/** Maximum number of accounts to compare again; further ones count as behind. */
const MAX_RECHECKS = 1_000;
/** How often, and at what interval, accounts that are behind are compared again. */
const RECHECK_ROUNDS = 4;
const RECHECK_PAUSE_MS = 500;
/** Maximum number of logged differences per pass; the metric counts all. */
const MAX_LOGGED_DIFFERENCES = 100;

/** Number of accounts by result. */
export interface PassReport {
  readonly agrees: number;
  readonly differs: number;
  readonly missing: number;
  /**
   * Not booked up to the trading server's sequence, for example because of a gap that cannot be
   * filled.
   */
  readonly behind: number;
  /**
   * The trading server did not answer or is unknown, or too many calls of its organization wait.
   */
  readonly unreachable: number;
}

interface ReconcilerOptions {
  readonly balances: LedgerBalances;
  readonly client: Pick<TradingServerClient, "snapshot" | "eventSequence">;
  readonly isUnreachable: (error: unknown) => boolean;
  /** Called after each pass. */
  readonly onPass: (report: PassReport) => void;
  readonly intervalMs: number;
  readonly logger: Logger;
}

/** Starts the passes; `stop` waits for running calls. */
export function startReconciler(options: ReconcilerOptions): Started<Repetition> {
  const { intervalMs, logger } = options;
  return repeat({
    name: "reconciliation",
    round: (signal) => new Pass(options, signal).run(),
    pauseMs: intervalMs,
    firstPauseMs: intervalMs,
    // A pass is expensive, so a failed pass is not repeated sooner.
    backOff: { firstMs: intervalMs },
    logger,
  });
}

/** An account and its state on the trading server; null if the server never had it. */
type Seen = AccountRef & { readonly server: ServerSide | null };

class Pass {
  readonly #options: ReconcilerOptions;
  readonly #signal: AbortSignal;
  readonly #counts = { agrees: 0, differs: 0, missing: 0, behind: 0, unreachable: 0 };
  readonly #failures = new Map<string, number>();
  #rechecks: Seen[] = [];
  #logged = 0;

  constructor(options: ReconcilerOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    let previous: AccountRef | null = null;
    do {
      const accounts: readonly AccountRef[] = await this.#options.balances.after(previous, BATCH_ACCOUNTS);
      await this.#compare(await this.#snapshots(accounts));
      previous = accounts.at(-1) ?? null;
      if (previous !== null) await delay(BATCH_PAUSE_MS, this.#signal);
    } while (previous !== null && !this.#signal.aborted);
    for (let look = 0; look < RECHECK_ROUNDS && this.#rechecks.length > 0 && !this.#signal.aborted; look += 1) {
      await delay(RECHECK_PAUSE_MS, this.#signal);
      const again = this.#rechecks;
      this.#rechecks = [];
      for (let at = 0; at < again.length; at += BATCH_ACCOUNTS) {
        await this.#compare(again.slice(at, at + BATCH_ACCOUNTS));
      }
    }
    this.#counts.behind += this.#rechecks.length;
    // An aborted pass reports nothing.
    if (!this.#signal.aborted) this.#options.onPass(this.#counts);
  }

  /** The states on the trading servers that answer. */
  async #snapshots(accounts: readonly AccountRef[]): Promise<Seen[]> {
    const seen: Seen[] = [];
    const waiting = accounts[Symbol.iterator]();
    const work = async (): Promise<void> => {
      for (const account of waiting) {
        if (this.#signal.aborted) return;
        const server = await this.#snapshot(account);
        if (server === "unreachable") this.#counts.unreachable += 1;
        else if (server === "deleted") this.#counts.agrees += 1;
        else seen.push({ ...account, server });
      }
    };
    await Promise.all(Array.from({ length: MAX_CALLS }, work));
    return seen;
  }

  async #snapshot({ serverId, accountNumber }: AccountRef): Promise<ServerSide | "unreachable" | "deleted" | null> {
    const { client, isUnreachable } = this.#options;
    const failures = (): number => this.#failures.get(serverId) ?? 0;
    if (failures() >= MAX_SERVER_FAILURES) return "unreachable";
    try {
      const snapshot = await client.snapshot(serverId, accountNumber);
      if (snapshot !== null) return snapshot;
      // The server keeps the sequence of a deleted account: its missing balance is no difference.
      return (await client.eventSequence(serverId, accountNumber)) === null ? null : "deleted";
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      // Reads the number again, because other calls may have failed during this call.
      this.#failures.set(serverId, failures() + 1);
      return "unreachable";
    }
  }

  async #compare(seen: readonly Seen[]): Promise<void> {
    const keyed = new Map(seen.map((one) => [`${one.serverId}/${one.accountNumber}`, one]));
    const asked = seen.map(({ server, ...account }) => ({ ...account, sequence: server?.sequence ?? null }));
    for (const ledger of await this.#options.balances.balancesAt(asked)) {
      const one = keyed.get(`${ledger.serverId}/${ledger.accountNumber}`);
      if (one === undefined) continue;
      const finding = compareBalances(ledger, one.server);
      if (finding === "behind" && this.#rechecks.length < MAX_RECHECKS) this.#rechecks.push(one);
      else this.#counts[finding] += 1;
      if (finding !== "differs" && finding !== "missing") continue;
      this.#report({
        serverId: ledger.serverId,
        accountNumber: ledger.accountNumber,
        finding,
        ledgerBalanceMinor: ledger.balanceMinor,
        serverBalanceMinor: one.server?.balanceMinor ?? null,
        sequence: one.server?.sequence ?? ledger.lastSequence,
      });
    }
  }

  #report(difference: Difference): void {
    this.#logged += 1;
    if (this.#logged > MAX_LOGGED_DIFFERENCES) return;
    this.#options.logger.error({ ...difference }, "reconciliation: ledger and trading server differ");
  }
}
