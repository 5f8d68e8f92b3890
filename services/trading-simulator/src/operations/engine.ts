/**
 * The trading servers of this process. Operations change accounts in memory, in one turn of the
 * event loop, and add their events to the open commit, which the next transaction stores. They
 * answer when that commit is stored.
 */
import { type Committer, notConfigured } from "@kapi/bridge";
import type { Actor } from "@kapi/contracts";
import { type Clock, toIso } from "@kapi/kernel";

import type { Account } from "../domain/account.ts";
import { type TradingContext, type EventBody, nextEvent } from "../domain/trading-context.ts";
import type { Feed } from "../domain/market.ts";
import { type AccountValues, valueAccount, toValuation } from "../domain/account-values.ts";
import type { TradingServer } from "./server.ts";

export type SimulatorCommitter = Committer<Account, TradingServer>;

interface EngineOptions {
  readonly clock: Clock;
  readonly feed: Feed;
  readonly committer: SimulatorCommitter;
  readonly servers: Map<string, TradingServer>;
}

/** A trading context that also has the text of the last event. */
export interface RecordingContext extends TradingContext {
  readonly lastEventText: string;
  /** Span of the current change, if traced. It is recorded with each event of the change. */
  traceparent: string | undefined;
  /** Who requested the current change, if known. */
  createdBy: Actor | undefined;
}

/**
 * One for each process. It owns no data: `servers` holds the trading servers, and `committer`
 * stores what operations record.
 */
export class Engine {
  readonly clock: Clock;
  readonly feed: Feed;
  readonly committer: SimulatorCommitter;
  readonly servers: Map<string, TradingServer>;
  #isoOf = { ms: Number.NaN, iso: "" };

  constructor(options: EngineOptions) {
    this.clock = options.clock;
    this.feed = options.feed;
    this.committer = options.committer;
    this.servers = options.servers;
  }

  /**
   * Returns a server by its id. @throws ApiError 503 for an unknown server: the caller configures
   * it and retries.
   */
  server(serverId: string): TradingServer {
    const server = this.servers.get(serverId.toLowerCase());
    if (server !== undefined) return server;
    throw notConfigured(serverId);
  }

  /** A trading context of one server at this moment. */
  context(server: TradingServer): RecordingContext {
    return new EngineTradingContext(this.committer, server, this.clock.nowMs(), (ms) => this.#iso(ms));
  }

  /**
   * Call it after a change of an account: indexes the account by its symbols and publishes a
   * valuation. `values`: the values of the account, if the caller has them.
   */
  changed(server: TradingServer, context: TradingContext, account: Account, values?: AccountValues): void {
    server.reindex(account);
    this.value(server, context, account, values ?? valueAccount(context.prices, account));
  }

  /** Publishes a valuation with the open commit. */
  value(server: TradingServer, context: TradingContext, account: Account, values: AccountValues): void {
    if (account.positions.size > 0) {
      server.lastValued.set(account, { equityMinor: values.equityMinor, marginMinor: values.marginMinor });
    }
    this.committer.recordValuation(toValuation(account, values, this.#iso(context.nowMs)));
  }

  /** Many events share a millisecond: its text is cached. */
  #iso(ms: number): string {
    if (this.#isoOf.ms !== ms) this.#isoOf = { ms, iso: toIso(ms) };
    return this.#isoOf.iso;
  }
}

class EngineTradingContext implements RecordingContext {
  readonly prices: TradingContext["prices"];
  readonly nowMs: number;
  lastEventText = "";
  traceparent: string | undefined;
  createdBy: Actor | undefined;
  readonly #committer: SimulatorCommitter;
  readonly #iso: (ms: number) => string;

  constructor(committer: SimulatorCommitter, server: TradingServer, nowMs: number, iso: (ms: number) => string) {
    this.prices = server.market;
    this.nowMs = nowMs;
    this.#committer = committer;
    this.#iso = iso;
  }

  emit(account: Account, body: EventBody, reference?: string): ReturnType<TradingContext["emit"]> {
    const event = nextEvent(account, body, this.#iso(this.nowMs), reference ?? null, this.createdBy);
    this.lastEventText = this.#committer.recordEvent(event, this.traceparent);
    // A deposit or withdrawal costs one journal row: the state of the account is stored later.
    if (body.type === "balance.changed") this.#committer.storeAccountLater(account);
    else this.touch(account);
    return event;
  }

  touch(account: Account): void {
    this.#committer.storeAccount(account);
  }
}
