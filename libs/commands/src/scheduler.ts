/**
 * Decides when a command runs. Commands of one account queue in log order and run one at a time.
 * The heads of a server's queues are gathered into batches; under load, two batches run at once. A
 * server with an open breaker parks its own commands and no others.
 *
 * Invariants: at most one command of an account runs at a time; a command leaves its queue only by
 * `complete` or `drop`.
 */
import { Breaker, type Clock } from "@kapi/kernel";

import type { Entry } from "./entry.ts";
import {
  EXPIRY_SWEEP_MS,
  FEW_COMMANDS,
  MAX_BATCH_COMMANDS,
  MAX_BATCHES_PER_SERVER,
  SLOW_BATCH_MS,
  MIN_SECOND_BATCH_COMMANDS,
} from "./limits.ts";

/**
 * `execute` carries a batch out. `settle` gets its outcomes and closes references without one.
 * `expire` makes commands final that were never sent, because of their deadline or a rejection.
 */
export type BatchMode = "execute" | "settle" | "expire";

/** Whether the trading server answered a batch. */
export type ServerAnswer = "answered" | "unreachable" | "unused";

export interface SchedulerOptions {
  readonly clock: Clock;
  /** Between 0 and 1; for jitter. */
  readonly random: () => number;
  /**
   * Runs a batch; calls `complete` or `retry` for each entry before it resolves. Never rejects.
   */
  readonly run: (serverId: string, mode: BatchMode, batch: readonly Entry[]) => Promise<ServerAnswer>;
  readonly onBreaker: (serverId: string, open: boolean) => void;
  /**
   * Maximum number of commands in one batch. Default and upper limit: {@link MAX_BATCH_COMMANDS}.
   */
  readonly maxBatchCommands?: number;
}

interface AccountQueue {
  readonly key: string;
  readonly server: ServerQueue;
  readonly entries: Entry[];
  /** Whether its first command is running or waits for a retry. */
  blocked: boolean;
  timer: NodeJS.Timeout | null;
}

interface BatchUnderWay {
  readonly commands: number;
  /** From this time on, the next batch does not wait for this one. */
  readonly slowFromMs: number;
}

interface ServerQueue {
  readonly serverId: string;
  readonly accounts: Map<string, AccountQueue>;
  /** Accounts whose first command may run, longest waiting first. */
  readonly ready: Set<AccountQueue>;
  readonly breaker: Breaker;
  /** The oldest first. */
  readonly underWay: Set<BatchUnderWay>;
  slowTimer: NodeJS.Timeout | null;
  woken: boolean;
  probeTimer: NodeJS.Timeout | null;
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #servers = new Map<string, ServerQueue>();
  readonly #seen = new Set<string>();
  readonly #batches = new Set<Promise<void>>();
  readonly #sweep: NodeJS.Timeout;
  #stopped = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#sweep = setInterval(() => this.#expireParked(), EXPIRY_SWEEP_MS);
  }

  /** Queues a command behind the commands of its account with a lower offset. */
  add(entry: Entry): void {
    const account = this.#accountOf(entry);
    const { entries } = account;
    let index = entries.length;
    const first = account.blocked ? 1 : 0;
    while (index > first && (entries[index - 1]?.offset ?? -1) > entry.offset) index -= 1;
    entries.splice(index, 0, entry);
    if (!account.blocked) this.#makeReady(account);
  }

  /** The command is final: the next command of its account may run. */
  complete(entry: Entry): void {
    this.#remove(entry);
  }

  /** Runs the command again after `delayMs`. */
  retry(entry: Entry, delayMs: number): void {
    const account = this.#findAccount(entry);
    if (account?.entries[0] !== entry) return;
    if (account.timer !== null) clearTimeout(account.timer);
    account.timer = null;
    if (delayMs <= 0) return this.#makeReady(account);
    account.timer = setTimeout(() => {
      account.timer = null;
      this.#makeReady(account);
    }, delayMs);
  }

  /** Removes a waiting or running command; the outcome of its batch is ignored. */
  drop(entry: Entry): void {
    entry.dropped = true;
    this.#remove(entry);
  }

  /** All servers that ever had commands, and whether their commands are parked now. */
  servers(): { serverId: string; parked: boolean }[] {
    return Array.from(this.#seen, (serverId) => ({
      serverId,
      parked: this.#servers.get(serverId)?.breaker.open ?? false,
    }));
  }

  /** Starts no more batches; resolves when the running ones have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#sweep);
    for (const server of this.#servers.values()) {
      if (server.probeTimer !== null) clearTimeout(server.probeTimer);
      if (server.slowTimer !== null) clearTimeout(server.slowTimer);
      for (const { timer } of server.accounts.values()) if (timer !== null) clearTimeout(timer);
    }
    await Promise.all(this.#batches);
  }

  #remove(entry: Entry): void {
    const account = this.#findAccount(entry);
    const index = account?.entries.indexOf(entry) ?? -1;
    if (account === undefined || index === -1) return;
    account.entries.splice(index, 1);
    if (index > 0) return;
    if (account.timer !== null) clearTimeout(account.timer);
    account.timer = null;
    account.blocked = false;
    account.server.ready.delete(account);
    if (account.entries.length > 0) return this.#makeReady(account);
    account.server.accounts.delete(account.key);
    this.#forget(account.server);
  }

  #accountOf(entry: Entry): AccountQueue {
    const { serverId } = entry.message;
    let server = this.#servers.get(serverId);
    if (server === undefined) {
      const breaker = new Breaker(this.#options.clock, this.#options.random);
      const queues = { accounts: new Map<string, AccountQueue>(), ready: new Set<AccountQueue>() };
      const underWay = new Set<BatchUnderWay>();
      server = { serverId, ...queues, breaker, underWay, slowTimer: null, woken: false, probeTimer: null };
      this.#servers.set(serverId, server);
      this.#seen.add(serverId);
    }
    const key = entry.orderKey;
    let account = server.accounts.get(key);
    if (account === undefined) {
      account = { key, server, entries: [], blocked: false, timer: null };
      server.accounts.set(key, account);
    }
    return account;
  }

  #findAccount(entry: Entry): AccountQueue | undefined {
    return this.#servers.get(entry.message.serverId)?.accounts.get(entry.orderKey);
  }

  /** Deletes a server without commands, unless its breaker is open. */
  #forget(server: ServerQueue): void {
    const idle = server.accounts.size === 0 && server.underWay.size === 0 && !server.breaker.open;
    if (idle) this.#servers.delete(server.serverId);
  }

  #makeReady(account: AccountQueue): void {
    account.blocked = false;
    account.server.ready.add(account);
    this.#wake(account.server);
  }

  /**
   * Dispatches after the current synchronous work, so that commands added together share a batch.
   */
  #wake(server: ServerQueue): void {
    if (server.woken) return;
    server.woken = true;
    queueMicrotask(() => {
      server.woken = false;
      this.#dispatch(server);
    });
  }

  #dispatch(server: ServerQueue): void {
    while (!this.#stopped && server.ready.size > 0 && server.underWay.size < MAX_BATCHES_PER_SERVER) {
      const allowance = Math.min(this.#options.maxBatchCommands ?? MAX_BATCH_COMMANDS, server.breaker.allowance());
      if (allowance === 0) return this.#probeLater(server);
      const waitMs = this.#batchingWaitMs(server, allowance);
      if (waitMs > 0) return this.#dispatchLater(server, waitMs);
      const { mode, batch } = this.#take(server, allowance);
      if (mode !== "expire") server.breaker.sent();
      const work = this.#run(server, mode, batch).finally(() => this.#batches.delete(work));
      this.#batches.add(work);
    }
  }

  /**
   * How long the ready commands wait for a running batch to end, so that later commands share their
   * batch.
   */
  #batchingWaitMs(server: ServerQueue, allowance: number): number {
    const [oldest] = server.underWay;
    if (oldest === undefined || server.ready.size >= Math.min(MIN_SECOND_BATCH_COMMANDS, allowance)) return 0;
    const commands = [...server.underWay].reduce((sum, batch) => sum + batch.commands, 0);
    if (commands <= FEW_COMMANDS) return 0;
    const leftMs = oldest.slowFromMs - this.#options.clock.nowMs();
    // The time is larger than the maximum only if the clock was set back. Do not wait in that case.
    return leftMs > SLOW_BATCH_MS ? 0 : leftMs;
  }

  /** Wakes the server by a timer, if no batch ends before. */
  #dispatchLater(server: ServerQueue, waitMs: number): void {
    if (server.slowTimer !== null) return;
    server.slowTimer = setTimeout(() => {
      server.slowTimer = null;
      this.#wake(server);
    }, waitMs);
  }

  /** Takes the heads that have waited longest and need the same mode. */
  #take(server: ServerQueue, limit: number): { mode: BatchMode; batch: Entry[] } {
    const nowMs = this.#options.clock.nowMs();
    let mode: BatchMode | null = null;
    const batch: Entry[] = [];
    for (const account of server.ready) {
      const head = account.entries[0];
      if (head === undefined) continue;
      const needed = modeOf(head, nowMs);
      if (mode !== null && (needed !== mode || head.unexpectedErrors > 0)) continue;
      mode = needed;
      account.blocked = true;
      server.ready.delete(account);
      batch.push(head);
      if (batch.length >= limit || head.unexpectedErrors > 0) break;
    }
    return { mode: mode ?? "execute", batch };
  }

  async #run(server: ServerQueue, mode: BatchMode, batch: readonly Entry[]): Promise<void> {
    const underWay = { commands: batch.length, slowFromMs: this.#options.clock.nowMs() + SLOW_BATCH_MS };
    server.underWay.add(underWay);
    const answer = await this.#options.run(server.serverId, mode, batch);
    server.underWay.delete(underWay);
    if (server.slowTimer !== null) clearTimeout(server.slowTimer);
    server.slowTimer = null;
    const wasOpen = server.breaker.open;
    if (answer === "answered") server.breaker.answered();
    else if (answer === "unused") server.breaker.unused();
    else if (server.breaker.failed()) this.#options.onBreaker(server.serverId, true);
    if (wasOpen && !server.breaker.open) this.#options.onBreaker(server.serverId, false);
    this.#forget(server);
    this.#wake(server);
  }

  /**
   * A running probe wakes the server when it ends. Otherwise a timer does, even if the wait is
   * already over.
   */
  #probeLater(server: ServerQueue): void {
    if (server.probeTimer !== null || server.breaker.probing) return;
    const waitMs = server.breaker.waitMs();
    server.probeTimer = setTimeout(() => {
      server.probeTimer = null;
      this.#wake(server);
    }, waitMs);
  }

  /**
   * Expires parked commands that were never sent. This needs no call to the trading server.
   */
  #expireParked(): void {
    const nowMs = this.#options.clock.nowMs();
    for (const server of this.#servers.values()) {
      if (!server.breaker.open) continue;
      const batch: Entry[] = [];
      for (const account of server.ready) {
        const head = account.entries[0];
        if (head === undefined || modeOf(head, nowMs) !== "expire" || batch.length >= MAX_BATCH_COMMANDS) continue;
        account.blocked = true;
        server.ready.delete(account);
        batch.push(head);
      }
      if (batch.length === 0) continue;
      const work = this.#options.run(server.serverId, "expire", batch).then(() => this.#forget(server));
      this.#batches.add(work);
      void work.finally(() => this.#batches.delete(work));
    }
  }
}

function modeOf(entry: Entry, nowMs: number): BatchMode {
  if (entry.rejection !== null) return entry.maybeSent ? "settle" : "expire";
  if (nowMs < entry.deadlineMs) return "execute";
  return entry.maybeSent ? "settle" : "expire";
}
