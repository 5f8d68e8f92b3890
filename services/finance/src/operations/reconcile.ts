/**
 * Reconciliation: from time to time the balance of every account in the ledger is compared with
 * that of its trading server, and what differs is told. Nothing is ever mended: a difference is a
 * mistake that somebody has to understand.
 *
 * Life: a pass begins some time after the end of the one before it. It goes through the accounts in
 * the order of their key, a batch at a time; an account that is not booked up to the server's
 * sequence is looked at again at the end of the pass, against the same snapshot.
 */
import { delay, repeat, type Repetition } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";
import type { TradingServerClient } from "@kapi/trading-server";

import type { AccountName } from "../domain/ledger.ts";
import { type Difference, findingOf, type LedgerBalances, type ServerSide } from "../domain/reconciliation.ts";

/** Accounts read and compared together. */
const BATCH_ACCOUNTS = 100;
/** Calls to trading servers at once. The deadline of each is the client's. */
const MAX_CALLS = 4;
/**
 * Rest after a batch: at most a thousand accounts a second, beside the work that customers wait
 * for.
 */
const BATCH_PAUSE_MS = 100;
/** Unanswered calls to one server after which the rest of its accounts is left to the next pass. */
const MAX_SERVER_FAILURES = 3;
/** Accounts remembered for a second look; what is more counts as behind. */
const MAX_SECOND_LOOKS = 1_000;
/** How often, and how far apart, accounts are looked at again that were not booked far enough. */
const SECOND_LOOKS = 4;
const SECOND_LOOK_PAUSE_MS = 500;
/** Differences of a pass that get a line each; the metric counts all of them. */
const MAX_LOGGED_DIFFERENCES = 100;

/** How many accounts of a pass were found how. */
export interface PassReport {
  readonly agrees: number;
  readonly differs: number;
  readonly missing: number;
  /**
   * Not booked up to the trading server's sequence: for example an account with a gap that cannot
   * be filled.
   */
  readonly behind: number;
  /** The trading server gave no answer, or is not known. */
  readonly unreachable: number;
}

export interface ReconcilerOptions {
  readonly balances: LedgerBalances;
  readonly client: Pick<TradingServerClient, "snapshot" | "eventSequence">;
  readonly isUnreachable: (error: unknown) => boolean;
  /** Told once a pass. */
  readonly onPass: (report: PassReport) => void;
  readonly intervalMs: number;
  readonly logger: Logger;
}

/** Starts the passes; `stop` waits for the calls under way. */
export function startReconciler(options: ReconcilerOptions): Started<Repetition> {
  const { intervalMs, logger } = options;
  return repeat({
    name: "reconciliation",
    round: (signal) => new Pass(options, signal).run(),
    pauseMs: intervalMs,
    firstPauseMs: intervalMs,
    // A pass is much work: one that broke off is not repeated sooner.
    backOff: { firstMs: intervalMs },
    logger,
  });
}

/** An account and what its trading server says; null: it never had the account. */
type Seen = AccountName & { readonly server: ServerSide | null };

class Pass {
  readonly #options: ReconcilerOptions;
  readonly #signal: AbortSignal;
  readonly #counts = { agrees: 0, differs: 0, missing: 0, behind: 0, unreachable: 0 };
  readonly #failures = new Map<string, number>();
  #secondLooks: Seen[] = [];
  #logged = 0;

  constructor(options: ReconcilerOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    let previous: AccountName | null = null;
    do {
      const accounts: readonly AccountName[] = await this.#options.balances.after(previous, BATCH_ACCOUNTS);
      await this.#compare(await this.#snapshots(accounts));
      previous = accounts.at(-1) ?? null;
      if (previous !== null) await delay(BATCH_PAUSE_MS, this.#signal);
    } while (previous !== null && !this.#signal.aborted);
    for (let look = 0; look < SECOND_LOOKS && this.#secondLooks.length > 0 && !this.#signal.aborted; look += 1) {
      await delay(SECOND_LOOK_PAUSE_MS, this.#signal);
      const again = this.#secondLooks;
      this.#secondLooks = [];
      for (let at = 0; at < again.length; at += BATCH_ACCOUNTS) {
        await this.#compare(again.slice(at, at + BATCH_ACCOUNTS));
      }
    }
    this.#counts.behind += this.#secondLooks.length;
    // A pass that was broken off says nothing about the accounts that it did not reach.
    if (!this.#signal.aborted) this.#options.onPass(this.#counts);
  }

  /** What the trading servers say of the accounts, as far as they answer. */
  async #snapshots(accounts: readonly AccountName[]): Promise<Seen[]> {
    const seen: Seen[] = [];
    const waiting = accounts[Symbol.iterator]();
    const takeTurns = async (): Promise<void> => {
      for (const account of waiting) {
        if (this.#signal.aborted) return;
        const server = await this.#snapshot(account);
        if (server === "unreachable") this.#counts.unreachable += 1;
        else if (server === "deleted") this.#counts.agrees += 1;
        else seen.push({ ...account, server });
      }
    };
    await Promise.all(Array.from({ length: MAX_CALLS }, takeTurns));
    return seen;
  }

  async #snapshot({ serverId, accountNumber }: AccountName): Promise<ServerSide | "unreachable" | "deleted" | null> {
    const { client, isUnreachable } = this.#options;
    const failures = this.#failures.get(serverId) ?? 0;
    if (failures >= MAX_SERVER_FAILURES) return "unreachable";
    try {
      const snapshot = await client.snapshot(serverId, accountNumber);
      if (snapshot !== null) return snapshot;
      // A server keeps the sequence of an account that was deleted there: its money went with it,
      // and is no difference.
      return (await client.eventSequence(serverId, accountNumber)) === null ? null : "deleted";
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      this.#failures.set(serverId, failures + 1);
      return "unreachable";
    }
  }

  async #compare(seen: readonly Seen[]): Promise<void> {
    const keyed = new Map(seen.map((one) => [`${one.serverId}/${one.accountNumber}`, one]));
    const asked = seen.map(({ server, ...account }) => ({ ...account, sequence: server?.sequence ?? null }));
    for (const ledger of await this.#options.balances.balancesAt(asked)) {
      const one = keyed.get(`${ledger.serverId}/${ledger.accountNumber}`);
      if (one === undefined) continue;
      const finding = findingOf(ledger, one.server);
      if (finding === "behind" && this.#secondLooks.length < MAX_SECOND_LOOKS) this.#secondLooks.push(one);
      else this.#counts[finding] += 1;
      if (finding !== "differs" && finding !== "missing") continue;
      this.#tell({
        serverId: ledger.serverId,
        accountNumber: ledger.accountNumber,
        finding,
        ledgerBalanceMinor: ledger.balanceMinor,
        serverBalanceMinor: one.server?.balanceMinor ?? null,
        sequence: one.server?.sequence ?? ledger.lastSequence,
      });
    }
  }

  #tell(difference: Difference): void {
    this.#logged += 1;
    if (this.#logged > MAX_LOGGED_DIFFERENCES) return;
    this.#options.logger.error({ ...difference }, "reconciliation: ledger and trading server differ");
  }
}
