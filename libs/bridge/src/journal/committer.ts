/**
 * Group commit. All that happens while one transaction is under way gathers in the open turn; the
 * next transaction stores that turn whole. Memory is ahead of the store by at most the open turn
 * and the one under way, and nothing that is not stored is answered or published. A turn that
 * cannot be stored ends the process: the restarted one reads what is stored, and callers settle
 * their references.
 */
import { accountKey, type TradingEvent, type Valuation } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { type Deferred, deferred } from "@kapi/kernel";

import type { CommitBatch, Journal, JournalRow, OutgoingValuation, Publisher } from "./ports.ts";

/** Rows that may wait for a transaction before new work is turned away. */
export const MAX_WAITING_ROWS = 20_000;

/** An account, as far as the bridge knows what the platform's side keeps of it. */
export interface KeptAccount {
  readonly serverId: string;
  readonly accountNumber: string;
}
/** The same of a trading server. */
export interface KeptServer {
  readonly serverId: string;
}

/**
 * The whole state of an account or server as text, for its stored row. Called when a turn begins to
 * be stored.
 */
export interface StateText<A extends KeptAccount, S extends KeptServer> {
  account(account: A): string;
  server(server: S): string;
}

/** What happened since the last transaction began. */
class Turn<A extends KeptAccount, S extends KeptServer> {
  readonly rows: JournalRow[] = [];
  /** Accounts whose stored state must be written with this turn. */
  readonly accounts = new Set<A>();
  /** Accounts whose state follows later: their journal rows are enough for now. */
  readonly movedAccounts = new Set<A>();
  readonly servers = new Set<S>();
  readonly valuations: OutgoingValuation[] = [];
  readonly stored: Deferred<void> = deferred();
}

export interface CommitterOptions<A extends KeptAccount, S extends KeptServer> {
  readonly journal: Pick<Journal, "write">;
  readonly publisher: Publisher;
  readonly stateText: StateText<A, S>;
  /** Position of the last row in the journal. */
  readonly lastPosition: number;
  /**
   * Called after a turn with rows was stored, before it is published or answered; crash tests end
   * the process there.
   */
  readonly onStored: () => void;
  readonly fatal: (error: Error) => void;
}

export class Committer<A extends KeptAccount, S extends KeptServer> {
  readonly #options: CommitterOptions<A, S>;
  #open = new Turn<A, S>();
  /** Resolves with the turn that is being stored. */
  #storing: Promise<void> | null = null;
  #isScheduled = false;
  #failure: Error | null = null;
  #lastPosition: number;
  #lastBatchedPosition: number;
  #waitingRows = 0;
  /** Accounts whose journal has rows that their stored state lacks. */
  #lazyAccounts = new Set<A>();

  constructor(options: CommitterOptions<A, S>) {
    this.#options = options;
    this.#lastPosition = options.lastPosition;
    this.#lastBatchedPosition = options.lastPosition;
  }

  /**
   * Adds an event to the open turn, and gives it as JSON text. Its sequence is the account's last
   * one plus 1; its reference is that of the change that made it, and null of what a change causes
   * besides. `traceparent`: the span of that change. What is added in one turn of the event loop is
   * stored together.
   */
  recordEvent(event: TradingEvent, traceparent?: string): string {
    const { serverId, accountNumber, sequence, reference } = event;
    const text = JSON.stringify(event);
    this.#append({ serverId, accountNumber, sequence, reference, event: text, outcome: null, traceparent });
    return text;
  }

  /** Adds the outcome (JSON text) of a reference whose change made no event. */
  recordOutcome(serverId: string, accountNumber: string | null, reference: string, outcome: string): void {
    this.#append({ serverId, accountNumber, sequence: null, reference, event: null, outcome });
  }

  /** Publishes what an account is worth, when the open turn is stored. */
  recordValuation(valuation: Valuation): void {
    const key = accountKey(valuation.serverId, valuation.accountNumber);
    this.#turn().valuations.push({ key, value: JSON.stringify(valuation) });
  }

  /** Stores the whole state of an account with the open turn. */
  storeAccount(account: A): void {
    this.#turn().accounts.add(account);
  }

  /**
   * Stores it within seconds: for an event from which, with the state before it, a restart makes
   * the state again.
   */
  storeAccountLater(account: A): void {
    this.#turn().movedAccounts.add(account);
  }

  /** Stores the whole state of a trading server with the open turn. */
  storeServer(server: S): void {
    this.#turn().servers.add(server);
  }

  /** True while so much waits to be stored that nothing new should be begun. */
  get isFull(): boolean {
    return this.#waitingRows >= MAX_WAITING_ROWS || this.#failure !== null;
  }

  /** Throws an ApiError 503 while {@link isFull}. */
  refuseWhenFull(): void {
    if (!this.isFull) return;
    throw new ApiError("DEPENDENCY_UNAVAILABLE", { status: 503, text: "too much waits to be stored" });
  }

  /** Resolves when all that happened until now is stored. */
  stored(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#isScheduled) return this.#open.stored.promise;
    return this.#storing ?? Promise.resolve();
  }

  /** Accounts whose state was read from the store with journal rows after it. */
  addLazyAccounts(accounts: Iterable<A>): void {
    for (const account of accounts) this.#lazyAccounts.add(account);
  }

  /**
   * Stores the state of every account that the journal is ahead of, `chunk` in a transaction.
   * Resolves with a position up to which all rows are in the stored accounts.
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
    this.#turn().rows.push({ position: this.#lastPosition, ...row });
  }

  #turn(): Turn<A, S> {
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
      const turn = this.#open;
      this.#open = new Turn<A, S>();
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

  async #store(turn: Turn<A, S>): Promise<void> {
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

  /**
   * Serialized at once, so that a stored state holds exactly the rows up to the turn's last
   * position.
   */
  #batchOf(turn: Turn<A, S>): CommitBatch {
    const position = turn.rows.at(-1)?.position ?? this.#lastBatchedPosition;
    this.#lastBatchedPosition = position;
    for (const account of turn.movedAccounts) this.#lazyAccounts.add(account);
    const accounts = [...turn.accounts].map((account) => {
      this.#lazyAccounts.delete(account);
      const { serverId, accountNumber } = account;
      return { serverId, accountNumber, position, state: this.#options.stateText.account(account) };
    });
    const servers = [...turn.servers].map((server) => {
      return { serverId: server.serverId, state: this.#options.stateText.server(server) };
    });
    return { rows: turn.rows, accounts, servers };
  }

  #fail(failure: Error, turn: Turn<A, S>): void {
    this.#failure = failure;
    for (const waiting of [turn, this.#open]) {
      waiting.stored.promise.catch(() => undefined);
      waiting.stored.reject(failure);
    }
    this.#options.fatal(failure);
  }
}
