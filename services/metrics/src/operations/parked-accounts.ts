import type { AccountRef } from "@kapi/contracts";
import { setImmediate } from "node:timers/promises";

import { delay } from "@kapi/kernel";
import { type Logger, observed } from "@kapi/runtime";

import type { AccountExistence } from "../domain/ports.ts";
import type { ValuationRecord } from "../domain/valuation-record.ts";

/** Maximum number of parked accounts of one partition; the next one makes the partition wait. */
export const MAX_PARKED_ACCOUNTS = 1_000;
/** Maximum number of valuations of one parked account; above it they become one sample. */
export const MAX_PARKED_VALUATIONS = 500;
/**
 * Maximum number of waiting valuations of all parked accounts of a partition, of about 200 bytes
 * each. When one more valuation arrives, the waiting valuations of its account become one sample.
 */
const MAX_PARKED_VALUATIONS_PER_PARTITION = 20_000;
/** Pause before the next call to the account service if a call has failed. */
const RETRY_DELAY_MS = 500;

let parkedNow = 0;
observed("metrics.accounts.parked", "Accounts whose valuations wait for the account service", "{account}", () => [
  { value: parkedNow },
]);

/** An account that is parked, until its waiting valuations are sequenced. */
export interface ParkedAccount extends AccountRef {
  readonly key: string;
  /** Number of valuations received, without those that the account's writer rejected. */
  valuations: number;
  /** The valuations after the first one, in log order; null after there were too many. */
  waiting: ValuationRecord[] | null;
  /** Whether the account is known to exist; its valuations are then being sequenced. */
  exists: boolean;
}

/** The dependencies of {@link ParkedAccounts}. */
export interface ParkedAccountsOptions {
  readonly existence: AccountExistence;
  /** Called if the account exists. Resolves when none of its valuations waits. */
  readonly exists: (account: ParkedAccount) => Promise<void>;
  /** Called if the account does not exist, after it was removed from the parked accounts. */
  readonly unknown: (account: ParkedAccount) => void;
  readonly logger: Logger;
}

/**
 * The parked accounts of a partition. The account service is asked about them in the background, so
 * that a slow or unavailable account service delays only these accounts.
 */
export class ParkedAccounts {
  readonly #options: ParkedAccountsOptions;
  readonly #accounts = new Map<string, ParkedAccount>();
  #waiting = 0;
  #isAsking = false;
  #closed = false;

  constructor(options: ParkedAccountsOptions) {
    this.#options = options;
  }

  /** Returns the account if it is parked. */
  find(key: string): ParkedAccount | undefined {
    return this.#accounts.get(key);
  }

  /** Parks an account; returns false if the limit is reached. */
  add(key: string, { serverId, accountNumber }: AccountRef): boolean {
    if (this.#accounts.size >= MAX_PARKED_ACCOUNTS) return false;
    this.#accounts.set(key, { key, serverId, accountNumber, valuations: 0, waiting: [], exists: false });
    parkedNow += 1;
    if (!this.#isAsking) void this.#askUntilNoneIsLeft();
    return true;
  }

  /**
   * Keeps a valuation of a parked account.
   * @returns the valuations to pass to the account's writer now. The first valuation is passed at
   * once. Later valuations wait. When too many wait, they are passed together. After that, each
   * valuation is passed at once.
   */
  keep(account: ParkedAccount, valuation: ValuationRecord): readonly ValuationRecord[] {
    account.valuations += 1;
    if (account.valuations === 1 || account.waiting === null) return [valuation];
    account.waiting.push(valuation);
    this.#waiting += 1;
    const isRoom =
      account.waiting.length <= MAX_PARKED_VALUATIONS && this.#waiting <= MAX_PARKED_VALUATIONS_PER_PARTITION;
    if (isRoom) return [];
    const all = account.waiting;
    this.#waiting -= all.length;
    account.waiting = null;
    return all;
  }

  /** The lowest offset of the waiting valuations; null: none waits. */
  get lowestWaitingOffset(): number | null {
    let lowest: number | null = null;
    for (const { waiting } of this.#accounts.values()) {
      const offset = waiting?.[0]?.offset;
      if (offset !== undefined) lowest = Math.min(lowest ?? offset, offset);
    }
    return lowest;
  }

  /** Removes and returns the next waiting valuation, in log order. */
  next(account: ParkedAccount): ValuationRecord | undefined {
    const valuation = account.waiting?.shift();
    if (valuation !== undefined) this.#waiting -= 1;
    return valuation;
  }

  /** Ends the parking of an account. */
  remove(account: ParkedAccount): void {
    if (!this.#accounts.delete(account.key)) return;
    this.#waiting -= account.waiting?.length ?? 0;
    parkedNow -= 1;
  }

  /** Ends the parking of all accounts, without a call of `exists` or `unknown`. */
  close(): void {
    this.#closed = true;
    for (const account of this.#accounts.values()) this.remove(account);
  }

  async #askUntilNoneIsLeft(): Promise<void> {
    this.#isAsking = true;
    while (!this.#closed && this.#accounts.size > 0) {
      // Wait until all accounts of this turn of the event loop are added: one call asks about them.
      await setImmediate();
      const asked = [...this.#accounts.values()];
      const existing = await this.#ask(asked);
      if (existing === null) await delay(RETRY_DELAY_MS);
      else await this.#answer(asked, existing);
    }
    this.#isAsking = false;
  }

  async #ask(accounts: readonly ParkedAccount[]): Promise<readonly boolean[] | null> {
    try {
      return await this.#options.existence.exist(accounts);
    } catch (error) {
      const fields = { err: error, accounts: accounts.length };
      this.#options.logger.warn(fields, "the account service could not be asked about accounts; retrying");
      return null;
    }
  }

  async #answer(asked: readonly ParkedAccount[], existing: readonly boolean[]): Promise<void> {
    for (const [index, account] of asked.entries()) {
      if (this.#accounts.get(account.key) !== account) continue;
      if (existing[index] === true) await this.#options.exists(account);
      else {
        this.remove(account);
        this.#options.unknown(account);
      }
    }
  }
}
