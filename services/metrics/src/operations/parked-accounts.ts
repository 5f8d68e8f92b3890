import { setImmediate } from "node:timers/promises";

import { delay } from "@kapi/kernel";
import { type Logger, observed } from "@kapi/runtime";

import type { AccountExistence } from "../domain/ports.ts";
import type { Reading } from "../domain/reading.ts";
import type { AccountId } from "../domain/sample.ts";

/** Accounts of one partition that are parked at once, at most; beyond it the partition waits. */
export const MAX_PARKED_ACCOUNTS = 1_000;
/** Valuations that are kept of one parked account; beyond it they are coalesced into one sample. */
export const MAX_PARKED_VALUATIONS = 500;
/** The same of all parked accounts of a partition: about 200 bytes each. */
const MAX_PARKED_VALUATIONS_PER_PARTITION = 20_000;
const RETRY_DELAY_MS = 500;

let parkedNow = 0;
observed("metrics.accounts.parked", "Accounts whose valuations wait for the account service", "{account}", () => [
  { value: parkedNow },
]);

/** An account whose existence is not known yet. */
export interface ParkedAccount extends AccountId {
  readonly key: string;
  /** How many of its valuations were taken in. */
  valuations: number;
  /**
   * Those behind the first one, in log order; null once there were too many, and all are coalesced.
   */
  waiting: Reading[] | null;
  /** Whether it exists: what waits is on its way to the log. */
  exists: boolean;
}

export interface ParkedAccountsOptions {
  readonly existence: AccountExistence;
  /** The account exists. Resolves when nothing of it waits any more. */
  readonly exists: (account: ParkedAccount) => Promise<void>;
  /** There is no such account; it is parked no more. */
  readonly unknown: (account: ParkedAccount) => void;
  readonly logger: Logger;
}

/**
 * The accounts of a partition that the account service must be asked about. They are asked about in
 * the background, so that a slow or unavailable account service holds up only them.
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

  find(key: string): ParkedAccount | undefined {
    return this.#accounts.get(key);
  }

  /** Parks an account; false where there are as many as may be. */
  add(key: string, { serverId, accountNumber }: AccountId): boolean {
    if (this.#accounts.size >= MAX_PARKED_ACCOUNTS) return false;
    this.#accounts.set(key, { key, serverId, accountNumber, valuations: 0, waiting: [], exists: false });
    parkedNow += 1;
    if (!this.#isAsking) void this.#askUntilNoneIsLeft();
    return true;
  }

  /**
   * A valuation of a parked account.
   * @returns the valuations that the account's writer must take in now: none while it may wait.
   */
  keep(account: ParkedAccount, reading: Reading): readonly Reading[] {
    account.valuations += 1;
    if (account.valuations === 1 || account.waiting === null) return [reading];
    account.waiting.push(reading);
    this.#waiting += 1;
    const isRoom =
      account.waiting.length <= MAX_PARKED_VALUATIONS && this.#waiting <= MAX_PARKED_VALUATIONS_PER_PARTITION;
    if (isRoom) return [];
    const all = account.waiting;
    this.#waiting -= all.length;
    account.waiting = null;
    return all;
  }

  /** The next valuation that waits, in log order; undefined when none does. */
  next(account: ParkedAccount): Reading | undefined {
    const reading = account.waiting?.shift();
    if (reading !== undefined) this.#waiting -= 1;
    return reading;
  }

  /** The account is parked no more. */
  remove(account: ParkedAccount): void {
    if (!this.#accounts.delete(account.key)) return;
    this.#waiting -= account.waiting?.length ?? 0;
    parkedNow -= 1;
  }

  close(): void {
    this.#closed = true;
    for (const account of this.#accounts.values()) this.remove(account);
  }

  async #askUntilNoneIsLeft(): Promise<void> {
    this.#isAsking = true;
    while (!this.#closed && this.#accounts.size > 0) {
      // All accounts of a batch are asked about in one call.
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
      this.#options.logger.warn(fields, "the account service could not be asked about accounts; asking again");
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
