/**
 * The trading servers of this process. Every use case changes accounts through
 * {@link Engine.operate}: at once, in memory, in one turn of the event loop, and recorded in the
 * committer's open turn; it answers only when that turn is stored.
 */
import { type Committer, notConfigured } from "@kapi/bridge";
import type { Actor } from "@kapi/contracts";
import { type Clock, toIso } from "@kapi/kernel";

import type { Account } from "../domain/account.ts";
import { type TradingContext, type EventBody, nextEvent } from "../domain/trading-context.ts";
import type { Feed } from "../domain/market.ts";
import { type AccountValues, valueAccount, toValuation } from "../domain/account-values.ts";
import type { TradingServer } from "./server.ts";

/** Stores and publishes what happens on the accounts and servers of this process. */
export type SimulatorCommitter = Committer<Account, TradingServer>;

export interface EngineOptions {
  readonly clock: Clock;
  readonly feed: Feed;
  readonly committer: SimulatorCommitter;
  readonly servers: Map<string, TradingServer>;
}

/** A trading context that also gives the text of the event it recorded last. */
export interface RecordingContext extends TradingContext {
  readonly lastEventText: string;
  /**
   * The span of the change that is being made, if it belongs to a trace: its events are told in it.
   */
  traceparent: string | undefined;
  /** Who asked for the change that is being made, if it tells. */
  createdBy: Actor | undefined;
}

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

  /** The server, or an ApiError 503: whoever asks must configure it first, and ask again. */
  server(serverId: string): TradingServer {
    const server = this.servers.get(serverId.toLowerCase());
    if (server !== undefined) return server;
    throw notConfigured(serverId);
  }

  /** A trading context of this moment on one server. */
  context(server: TradingServer): RecordingContext {
    return new EngineTradingContext(this.committer, server, this.clock.nowMs(), (ms) => this.#iso(ms));
  }

  /**
   * To be called after a change of an account: looks after it when prices move, and publishes what
   * it is worth now. `values` saves valuation again.
   */
  changed(server: TradingServer, context: TradingContext, account: Account, values?: AccountValues): void {
    server.reindex(account);
    this.value(server, context, account, values ?? valueAccount(context.prices, account));
  }

  /** Publishes what an account is worth, with the open turn. */
  value(server: TradingServer, context: TradingContext, account: Account, values: AccountValues): void {
    if (account.positions.size > 0) {
      server.lastValued.set(account, { equityMinor: values.equityMinor, marginMinor: values.marginMinor });
    }
    this.committer.recordValuation(toValuation(account, values, this.#iso(context.nowMs)));
  }

  /** Many events share a millisecond: its text is made once. */
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
    // A deposit costs one journal row: the account's stored state follows later.
    if (body.type === "balance.changed") this.#committer.storeAccountLater(account);
    else this.touch(account);
    return event;
  }

  touch(account: Account): void {
    this.#committer.storeAccount(account);
  }
}
