import type { Account } from "../domain/account.ts";
import { autoTrade } from "../domain/auto-trader.ts";
import { applyPrices, bookNightlySwap, watchMargin } from "../domain/market-effects.ts";
import type { Engine } from "./engine.ts";
import type { TradingServer } from "./server.ts";

const DAY_MS = 86_400_000;
/** Maximum number of nights whose swap is booked later, because the server had no ticks. */
const MAX_MISSED_NIGHTS = 7;

/** Days since 1970 in UTC: a server's day starts at 00:00 UTC (decisions, 9). */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

/**
 * One tick of a server: a due rollover, new prices, their effects, valuations of accounts whose
 * values changed, then automatic trading. Does nothing while the committer is full.
 */
export function runTick(engine: Engine, server: TradingServer, intervalMs: number): void {
  if (engine.committer.isFull) return;
  rollOverWhenDue(engine, server);
  for (const symbols of server.market.tick(intervalMs)) applyMovedPrices(engine, server, symbols);
  const context = engine.context(server);
  for (const account of server.autoTraders) {
    if (account.autoTrader === null || !autoTrade(context, account, account.autoTrader)) continue;
    engine.changed(server, context, account, watchMargin(context, account));
  }
}

/** Records new prices of `symbols`, and applies them to the accounts that depend on them. */
export function applyMovedPrices(engine: Engine, server: TradingServer, symbols: readonly string[]): void {
  // Quotes are recorded before any valuation at their prices, so that the time of a quote is never
  // after the time of a valuation that uses it.
  const context = engine.context(server);
  server.recordQuotes(symbols, context.nowMs);
  const moved = new Set(symbols);
  const affected = new Set<Account>();
  for (const symbol of symbols) for (const account of server.watchersOf(symbol)) affected.add(account);
  for (const account of affected) {
    const sequence = account.sequence;
    const values = applyPrices(context, account, moved);
    if (account.sequence !== sequence) {
      engine.changed(server, context, account, values);
      continue;
    }
    const last = server.lastValued.get(account);
    const isSame = last?.equityMinor === values.equityMinor && last.marginMinor === values.marginMinor;
    if (!isSame && account.positions.size > 0) engine.value(server, context, account, values);
  }
}

/** Books one night's swap on all open positions. Returns the number of accounts with positions. */
export function rollOver(engine: Engine, server: TradingServer): number {
  const context = engine.context(server);
  let accounts = 0;
  for (const account of server.traders()) {
    if (!bookNightlySwap(context, account)) continue;
    accounts += 1;
    engine.changed(server, context, account, watchMargin(context, account));
  }
  return accounts;
}

/** The day is stored in one transaction with the swap, so that no night is booked twice. */
function rollOverWhenDue(engine: Engine, server: TradingServer): void {
  const today = dayOf(engine.clock.nowMs());
  if (today <= server.lastRolloverDay) return;
  const nights = Math.min(today - server.lastRolloverDay, MAX_MISSED_NIGHTS);
  for (let night = 0; night < nights; night += 1) rollOver(engine, server);
  server.lastRolloverDay = today;
  engine.committer.storeServer(server);
}
