/**
 * Group commit. Changes collect in the open commit while a transaction runs; the next transaction
 * stores the whole open commit. Nothing is answered or published before it is stored. A commit that
 * cannot be stored ends the process. The next process reads the stored state, and callers send
 * their changes again or settle the references.
 */
import { accountKey, type TradingEvent, type Valuation } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { type Deferred, deferred } from "@kapi/kernel";

import type { CommitBatch, Journal, JournalRow, OutgoingValuation, Publisher } from "./ports.ts";

/** New work is rejected while this many journal rows, or more, are not stored yet. */
export const MAX_WAITING_ROWS = 20_000;

/** Identifies an account of the platform. */
export interface PlatformAccount {
  readonly serverId: string;
  readonly accountNumber: string;
}
/** Identifies a trading server. */
export interface PlatformServer {
  readonly serverId: string;
}

/**
 * Returns the whole state of an account or a server as JSON text, which is then stored. Called when
 * the storing of a commit begins. The text must not contain the character U+001F.
 */
export interface StateText<A extends PlatformAccount, S extends PlatformServer> {
  account(account: A): string;
  server(server: S): string;
}

/** Changes since the last transaction began. */
class PendingCommit<A extends PlatformAccount, S extends PlatformServer> {
  readonly rows: JournalRow[] = [];
  /** Accounts whose state is stored with this commit. */
  readonly accounts = new Set<A>();
  /** Accounts whose state is stored later: journal rows suffice for now. */
  readonly deferredAccounts = new Set<A>();
  readonly servers = new Set<S>();
  readonly valuations: OutgoingValuation[] = [];
  readonly stored: Deferred<void> = deferred();
}

/** Where commits are stored and published, and the last position when the process starts. */
interface CommitterOptions<A extends PlatformAccount, S extends PlatformServer> {
  readonly journal: Pick<Journal, "write">;
  readonly publisher: Publisher;
  readonly stateText: StateText<A, S>;
  /** Position of the last row in the journal; 0 if it is empty. */
  readonly lastPosition: number;
  /**
   * Called after a commit with rows is stored, before it is published or answered. Crash tests end
   * the process there.
   */
  readonly onStored: () => void;
  /** Called once if a commit cannot be stored. The process must end. */
  readonly fatal: (error: Error) => void;
}

/** Collects changes, and stores them in commits. */
export class Committer<A extends PlatformAccount, S extends PlatformServer> {
  readonly #options: CommitterOptions<A, S>;
  #open = new PendingCommit<A, S>();
  /** Resolves when the running transaction has stored its commit; null if no transaction runs. */
  #storing: Promise<void> | null = null;
  #isScheduled = false;
  #failure: Error | null = null;
  #lastPosition: number;
  #lastBatchedPosition: number;
  #waitingRows = 0;
  /** Accounts whose stored state is older than their newest journal row. */
  #lazyAccounts = new Set<A>();

  constructor(options: CommitterOptions<A, S>) {
    this.#options = options;
    this.#lastPosition = options.lastPosition;
    this.#lastBatchedPosition = options.lastPosition;
  }

  /**
   * Adds an event to the open commit and returns the event's JSON text. The event's `sequence` must
   * be the account's last sequence plus 1. Its `reference` must be the reference of the change that
   * the event confirms, and null for every other event. `traceparent`: span of the change.
   * Everything that is recorded without an `await` in between is stored together.
   */
  recordEvent(event: TradingEvent, traceparent?: string): string {
    const { serverId, accountNumber, sequence, reference } = event;
    const text = JSON.stringify(event);
    this.#append({ serverId, accountNumber, sequence, reference, event: text, outcome: null, traceparent });
    return text;
  }

  /** Adds the outcome (JSON text) of a change without an event. */
  recordOutcome(serverId: string, accountNumber: string | null, reference: string, outcome: string): void {
    this.#append({ serverId, accountNumber, sequence: null, reference, event: null, outcome });
  }

  /** Publishes a valuation after the open commit is stored. */
  recordValuation(valuation: Valuation): void {
    const key = accountKey(valuation.serverId, valuation.accountNumber);
    this.#commit().valuations.push({ key, value: JSON.stringify(valuation) });
  }

  /** Stores the state of an account with the open commit. */
  storeAccount(account: A): void {
    this.#commit().accounts.add(account);
  }

  /**
   * Stores the state of an account in the background, later than the open commit. Only for changes
   * that a restart can derive from the stored state and the later events.
   */
  storeAccountLater(account: A): void {
    this.#commit().deferredAccounts.add(account);
  }

  /** Stores the state of a trading server with the open commit. */
  storeServer(server: S): void {
    this.#commit().servers.add(server);
  }

  /** Whether too many changes wait to be stored, or a commit has failed: then start no new work. */
  get isFull(): boolean {
    return this.#waitingRows >= MAX_WAITING_ROWS || this.#failure !== null;
  }

  /** Throws an ApiError 503 while {@link isFull}. */
  rejectWhenFull(): void {
    if (!this.isFull) return;
    throw new ApiError("DEPENDENCY_UNAVAILABLE", {
      status: 503,
      text: "too many changes wait to be stored, or a commit has failed; retry later",
    });
  }

  /** Resolves when everything recorded before this call is stored. Rejects if a commit failed. */
  stored(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#isScheduled) return this.#open.stored.promise;
    return this.#storing ?? Promise.resolve();
  }

  /**
   * Adds accounts whose stored state is older than their newest journal row; {@link storeAccounts}
   * stores them.
   */
  addLazyAccounts(accounts: Iterable<A>): void {
    for (const account of accounts) this.#lazyAccounts.add(account);
  }

  /**
   * Stores every account whose stored state is older than its newest journal row, `chunk` per
   * transaction. Resolves with a journal position: the stored state of every account includes all
   * rows of the account up to this position.
   */
  async storeAccounts(chunk: number): Promise<number> {
    const accounts = [...this.#lazyAccounts];
    const checkpoint = this.#lastBatchedPosition;
    this.#lazyAccounts = new Set();
    for (let start = 0; start < accounts.length; start += chunk) {
      for (const account of accounts.slice(start, start + chunk)) this.storeAccount(account);
      await this.stored();
    }
    await this.stored();
    return checkpoint;
  }

  #append(row: Omit<JournalRow, "position">): void {
    this.#lastPosition += 1;
    this.#waitingRows += 1;
    this.#commit().rows.push({ position: this.#lastPosition, ...row });
  }

  #commit(): PendingCommit<A, S> {
    this.#schedule();
    return this.#open;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#storing === null) setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    while (this.#isScheduled && this.#failure === null) {
      const commit = this.#open;
      this.#open = new PendingCommit<A, S>();
      this.#isScheduled = false;
      this.#storing = commit.stored.promise;
      try {
        await this.#store(commit);
        commit.stored.resolve();
      } catch (error) {
        this.#fail(error instanceof Error ? error : new Error(String(error)), commit);
      }
    }
    this.#storing = null;
  }

  async #store(commit: PendingCommit<A, S>): Promise<void> {
    const batch = this.#batchOf(commit);
    if (batch.rows.length + batch.accounts.length + batch.servers.length > 0) {
      await this.#options.journal.write(batch);
      if (batch.rows.length > 0) this.#options.onStored();
    }
    this.#waitingRows -= commit.rows.length;
    const events = commit.rows.flatMap(({ position, event: value, serverId, accountNumber, traceparent }) =>
      value === null ? [] : [{ position, value, key: `${serverId}/${accountNumber}`, traceparent }],
    );
    if (events.length > 0) this.#options.publisher.events(events);
    if (commit.valuations.length > 0) this.#options.publisher.valuations(commit.valuations);
  }

  /**
   * Serializes all states in one synchronous step, so that a stored state has exactly the rows up
   * to the last position of the commit.
   */
  #batchOf(commit: PendingCommit<A, S>): CommitBatch {
    const position = commit.rows.at(-1)?.position ?? this.#lastBatchedPosition;
    this.#lastBatchedPosition = position;
    for (const account of commit.deferredAccounts) this.#lazyAccounts.add(account);
    const accounts = [...commit.accounts].map((account) => {
      this.#lazyAccounts.delete(account);
      const { serverId, accountNumber } = account;
      return { serverId, accountNumber, position, state: this.#options.stateText.account(account) };
    });
    const servers = [...commit.servers].map((server) => {
      return { serverId: server.serverId, state: this.#options.stateText.server(server) };
    });
    return { rows: commit.rows, accounts, servers };
  }

  #fail(failure: Error, commit: PendingCommit<A, S>): void {
    this.#failure = failure;
    for (const waiting of [commit, this.#open]) {
      waiting.stored.promise.catch(() => undefined);
      waiting.stored.reject(failure);
    }
    this.#options.fatal(failure);
  }
}
