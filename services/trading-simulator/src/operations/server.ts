/**
 * One trading server in memory: its configuration, market and accounts, and who must be looked at
 * when a price moves.
 */
import type { ServerConfiguration } from "@kapi/trading-server";

import type { Account } from "../domain/account.ts";
import { Faults } from "../domain/faults.ts";
import { type Feed, Market, type MarketState } from "../domain/market.ts";
import { conversionSymbols } from "../domain/prices.ts";
import { symbolSpec } from "../domain/symbols.ts";

const NOBODY: ReadonlySet<Account> = new Set();

/** What is stored of a server besides its accounts. */
interface ServerState {
  readonly configuration: ServerConfiguration;
  readonly market: MarketState;
  readonly lastRolloverDay: number;
}

export class TradingServer {
  readonly serverId: string;
  readonly market: Market;
  readonly faults = new Faults();
  /** By number; the deleted ones too. */
  readonly accounts = new Map<string, Account>();
  /** Accounts that trade by themselves. */
  readonly autoTraders = new Set<Account>();
  /** Equity and margin that were last published, of accounts that a price can move. */
  readonly lastValued = new Map<Account, { readonly equityMinor: number; readonly marginMinor: number }>();
  configuration: ServerConfiguration;
  /** Days since 1970 of the last night for which swap was booked. */
  lastRolloverDay: number;
  readonly #watchers = new Map<string, Set<Account>>();
  readonly #watched = new Map<Account, ReadonlySet<string>>();

  constructor(serverId: string, feed: Feed, state: ServerState | Omit<ServerState, "market">) {
    this.serverId = serverId;
    this.configuration = state.configuration;
    this.lastRolloverDay = state.lastRolloverDay;
    this.market = new Market(feed, "market" in state ? state.market : null);
  }

  /** Reads what {@link toState} wrote. */
  static fromState(serverId: string, feed: Feed, text: string): TradingServer {
    return new TradingServer(serverId, feed, JSON.parse(text) as ServerState);
  }

  toState(): string {
    const { configuration, lastRolloverDay } = this;
    const state: ServerState = { configuration, lastRolloverDay, market: this.market.state };
    return JSON.stringify(state);
  }

  /** The account, unless there is none or it was deleted. */
  openAccount(accountNumber: string): Account | undefined {
    const account = this.accounts.get(accountNumber);
    return account?.status === "deleted" ? undefined : account;
  }

  /**
   * Accounts that a new price of `symbol` may concern: by position, by pending order, or by
   * conversion of currency.
   */
  watchersOf(symbol: string): ReadonlySet<Account> {
    return this.#watchers.get(symbol) ?? NOBODY;
  }

  /** Every account with a position or a pending order. */
  traders(): Iterable<Account> {
    return this.#watched.keys();
  }

  /**
   * To be called when positions or orders of an account, or its trading by itself, may have
   * changed.
   */
  reindex(account: Account): void {
    if (account.autoTrader === null) this.autoTraders.delete(account);
    else this.autoTraders.add(account);
    const before = this.#watched.get(account);
    const after = symbolsOf(account);
    for (const symbol of before ?? []) if (!after.has(symbol)) this.#watchers.get(symbol)?.delete(account);
    for (const symbol of after) {
      const watchers = this.#watchers.get(symbol);
      if (watchers === undefined) this.#watchers.set(symbol, new Set([account]));
      else watchers.add(account);
    }
    if (after.size > 0) this.#watched.set(account, after);
    else if (before !== undefined) {
      this.#watched.delete(account);
      this.lastValued.delete(account);
    }
  }
}

function symbolsOf(account: Account): Set<string> {
  const symbols = new Set<string>();
  for (const { symbol } of account.orders.values()) symbols.add(symbol);
  for (const { symbol } of account.positions.values()) {
    symbols.add(symbol);
    for (const conversion of conversionSymbols(symbolSpec(symbol).quoteCurrency, account.currency)) {
      symbols.add(conversion);
    }
  }
  return symbols;
}
