import type { Kapi } from "../src/index.ts";

/** A kapi to test, with an empty server. */
export interface Subject {
  readonly kapi: Kapi;
  readonly serverId: string;
  /** Opens and closes a position on the account. */
  trade(accountNumber: string): Promise<void>;
  /** Opens a position, and returns its id. Rejects if the account accepts no orders. */
  openPosition(accountNumber: string): Promise<string>;
  /** Places a pending order. Rejects if the account accepts no orders. */
  placeOrder(accountNumber: string): Promise<void>;
  /** Makes the account breach the rule, which must be a maximum loss of 10 cents. */
  breach(accountNumber: string, ruleId: string): Promise<void>;
  /** Keeps the commands of an account from being carried out. */
  hold(accountNumber: string): Promise<void>;
  /** Carries out the held commands. */
  release(): Promise<void>;
  /** Changes the account's equity, so that a live sample is sent. */
  moveEquity(accountNumber: string): Promise<void>;
}
