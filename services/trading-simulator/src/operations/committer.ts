/**
 * Group commit. All that happens while one transaction is under way gathers in the open turn; the next transaction
 * stores that turn whole. Memory is ahead of the store by at most the open turn and the one under way, and nothing that
 * is not stored is answered or published. A turn that cannot be stored ends the process: the restarted one reads what is
 * stored, and callers settle their references.
 */
import { type Deferred, deferred } from "@kapi/kernel";

import { type Account, toState } from "../domain/account.ts";
import type { CommitBatch, Journal, JournalRow, OutgoingValuation, Publisher } from "../domain/ports.ts";
import type { TradingServer } from "./server.ts";

/** Rows that may wait for a transaction before new work is turned away. */
export const MAX_WAITING_ROWS = 20_000;

/** What happened since the last transaction began. */
export class Turn {
  readonly rows: JournalRow[] = [];
  /** Accounts whose stored state must be written with this turn. */
  readonly accounts = new Set<Account>();
  /** Accounts of which only sequence and balance changed: the journal row is enough for now. */
  readonly movedAccounts = new Set<Account>();
  readonly servers = new Set<TradingServer>();
  readonly valuations: OutgoingValuation[] = [];
  readonly stored: Deferred<void> = deferred();
}

export interface CommitterOptions {
  readonly journal: Journal;
  readonly publisher: Publisher;
  /** Position of the last row in the journal. */
  readonly lastPosition: number;
  /** Called after a turn with rows was stored, before it is published or answered; crash tests end the process there. */
  readonly onStored: () => void;
  readonly fatal: (error: Error) => void;
}

export class Committer {
  readonly #options: CommitterOptions;
  #open = new Turn();
  /** Resolves with the turn that is being stored. */
  #storing: Promise<void> | null = null;
  #isScheduled = false;
  #failure: Error | null = null;
  #lastPosition: number;
  #lastBatchedPosition: number;
  #waitingRows = 0;
  /** Accounts whose journal has rows that their stored state lacks. */
  #lazyAccounts = new Set<Account>();

  constructor(options: CommitterOptions) {
    this.#options = options;
    this.#lastPosition = options.lastPosition;
    this.#lastBatchedPosition = options.lastPosition;
  }

  /** The open turn; whatever is put into it in this turn of the event loop is stored together. */
  turn(): Turn {
    this.#schedule();
    return this.#open;
  }

  /** Adds a row to the open turn, at the next position. */
  append(row: Omit<JournalRow, "position">): void {
    this.#lastPosition += 1;
    this.#waitingRows += 1;
    this.turn().rows.push({ position: this.#lastPosition, ...row });
  }

  /** True while so much waits to be stored that nothing new should be begun. */
  get isFull(): boolean {
    return this.#waitingRows >= MAX_WAITING_ROWS || this.#failure !== null;
  }

  /** Resolves when all that happened until now is stored. */
  stored(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#isScheduled) return this.#open.stored.promise;
    return this.#storing ?? Promise.resolve();
  }

  /** Whether every stored state is complete. */
  get hasLazyAccounts(): boolean {
    return this.#lazyAccounts.size > 0;
  }

  /** Accounts whose state was read from the store with journal rows after it. */
  addLazyAccounts(accounts: Iterable<Account>): void {
    for (const account of accounts) this.#lazyAccounts.add(account);
  }

  /**
   * Stores the state of every account that the journal is ahead of, `chunk` in a transaction. Resolves with a position
   * up to which all rows are in the stored accounts.
   */
  async storeAccounts(chunk: number): Promise<number> {
    const accounts = [...this.#lazyAccounts];
    const checkpoint = this.#lastBatchedPosition;
    this.#lazyAccounts = new Set();
    for (let start = 0; start < accounts.length; start += chunk) {
      const turn = this.turn();
      for (const account of accounts.slice(start, start + chunk)) turn.accounts.add(account);
      await this.stored();
    }
    await this.stored();
    return checkpoint;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#storing === null) setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    while (this.#isScheduled && this.#failure === null) {
      const turn = this.#open;
      this.#open = new Turn();
      this.#isScheduled = false;
      this.#storing = turn.stored.promise;
      try {
        await this.#store(turn);
        turn.stored.resolve();
      } catch (error) {
        this.#fail(error instanceof Error ? error : new Error(String(error)), turn);
      }
    }
    this.#storing = null;
  }

  async #store(turn: Turn): Promise<void> {
    const batch = this.#batchOf(turn);
    if (batch.rows.length + batch.accounts.length + batch.servers.length > 0) {
      await this.#options.journal.write(batch);
      if (batch.rows.length > 0) this.#options.onStored();
    }
    this.#waitingRows -= turn.rows.length;
    const events = turn.rows.flatMap(({ position, event: value, serverId, accountNumber, traceparent }) =>
      value === null ? [] : [{ position, value, key: `${serverId}/${accountNumber}`, traceparent }],
    );
    if (events.length > 0) this.#options.publisher.events(events);
    if (turn.valuations.length > 0) this.#options.publisher.valuations(turn.valuations);
  }

  /** Serialized at once, so that a stored state holds exactly the rows up to the turn's last position. */
  #batchOf(turn: Turn): CommitBatch {
    const position = turn.rows.at(-1)?.position ?? this.#lastBatchedPosition;
    this.#lastBatchedPosition = position;
    for (const account of turn.movedAccounts) this.#lazyAccounts.add(account);
    const accounts = [...turn.accounts].map((account) => {
      this.#lazyAccounts.delete(account);
      const { serverId, accountNumber } = account;
      return { serverId, accountNumber, position, state: toState(account) };
    });
    const servers = [...turn.servers].map((server) => ({ serverId: server.serverId, state: server.toState() }));
    return { rows: turn.rows, accounts, servers };
  }

  #fail(failure: Error, turn: Turn): void {
    this.#failure = failure;
    for (const waiting of [turn, this.#open]) {
      waiting.stored.promise.catch(() => undefined);
      waiting.stored.reject(failure);
    }
    this.#options.fatal(failure);
  }
}
