/**
 * One trading server in memory: configuration, market, accounts, and an index of accounts by
 * symbol.
 */
import type { ServerConfiguration } from "@kapi/trading-server";

import type { Account } from "../domain/account.ts";
import { Faults } from "../domain/faults.ts";
import { type Feed, Market, type MarketState } from "../domain/market.ts";
import { conversionSymbols } from "../domain/prices.ts";
import { QuoteHistory } from "../domain/quote-history.ts";
import { SYMBOLS, symbolSpec } from "../domain/symbols.ts";

const NOBODY: ReadonlySet<Account> = new Set();

/** Stored state of a server, without accounts. */
interface ServerState {
  readonly configuration: ServerConfiguration;
  readonly market: MarketState;
  readonly lastRolloverDay: number;
}

/**
 * Operations change accounts directly, and then call {@link TradingServer.reindex}. Without this
 * call, ticks of the account's symbols could skip the account.
 */
export class TradingServer {
  readonly serverId: string;
  readonly market: Market;
  readonly faults = new Faults();
  /** Quotes of the last minutes by symbol, since the start of the process. */
  readonly quotes: ReadonlyMap<string, QuoteHistory> = new Map(
    [...SYMBOLS.keys()].map((name) => [name, new QuoteHistory()]),
  );
  /** All accounts by number, including deleted ones. */
  readonly accounts = new Map<string, Account>();
  /** Accounts with an incomplete flatten, by the reference of this change. */
  readonly flattening = new Map<string, Account>();
  /** Accounts with automatic trading. */
  readonly autoTraders = new Set<Account>();
  /** Last published equity and margin of accounts that depend on prices. */
  readonly lastValued = new Map<Account, { readonly equityMinor: number; readonly marginMinor: number }>();
  configuration: ServerConfiguration;
  /** The newest night whose swap is booked, in days since 1970. */
  lastRolloverDay: number;
  readonly #watchers = new Map<string, Set<Account>>();
  readonly #watched = new Map<Account, ReadonlySet<string>>();

  /** `nowMs`: the time at which the quote history begins. */
  constructor(serverId: string, feed: Feed, state: ServerState | Omit<ServerState, "market">, nowMs: number) {
    this.serverId = serverId;
    this.configuration = state.configuration;
    this.lastRolloverDay = state.lastRolloverDay;
    this.market = new Market(feed, "market" in state ? state.market : null);
    this.recordQuotes(this.quotes.keys(), nowMs);
  }

  static fromState(serverId: string, feed: Feed, text: string, nowMs: number): TradingServer {
    return new TradingServer(serverId, feed, JSON.parse(text) as ServerState, nowMs);
  }

  toState(): string {
    const { configuration, lastRolloverDay } = this;
    const state: ServerState = { configuration, lastRolloverDay, market: this.market.state };
    return JSON.stringify(state);
  }

  /** Call it when the market has new quotes of `symbols`. */
  recordQuotes(symbols: Iterable<string>, nowMs: number): void {
    for (const symbol of symbols) this.quotes.get(symbol)?.record(nowMs, this.market.quote(symbol));
  }

  /** Undefined: unknown or deleted. */
  existingAccount(accountNumber: string): Account | undefined {
    const account = this.accounts.get(accountNumber);
    return account?.status === "deleted" ? undefined : account;
  }

  /** Accounts that depend on `symbol`: by position, pending order or currency conversion. */
  watchersOf(symbol: string): ReadonlySet<Account> {
    return this.#watchers.get(symbol) ?? NOBODY;
  }

  /** Accounts with a position or pending order. */
  traders(): Iterable<Account> {
    return this.#watched.keys();
  }

  /** Call it when positions, orders or automatic trading of an account may have changed. */
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
