/**
 * Decides when a command runs. Commands of one account queue in log order. The heads (the first
 * commands) of a server's queues are gathered into batches. At most two batches of a server run at
 * once, not counting batches that expire parked commands. While many commands are running, the
 * second batch waits, so that more commands share it. A batch may have several commands of an
 * account, in log order. A server with an open breaker parks its own commands and no others.
 *
 * Invariants: the running commands of an account are in one batch; a command leaves its queue only
 * by `drop`.
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
 * `execute` carries a batch out. `settle` gets its outcomes and closes references that have no
 * outcome. `expire` is for commands that were never sent: because of their deadline or a rejection,
 * it makes them final.
 */
export type BatchMode = "execute" | "settle" | "expire";

/** Whether the trading server answered a batch; `unused`: the batch does not show this. */
export type ServerAnswer = "answered" | "unreachable" | "unused";

/** How the batches of one worker are run, and how large they become. */
interface SchedulerOptions {
  readonly clock: Clock;
  /** Between 0 and 1; for jitter. */
  readonly random: () => number;
  /** Runs a batch; calls `drop` or `retry` for each entry before it resolves. Never rejects. */
  readonly run: (serverId: string, mode: BatchMode, batch: readonly Entry[]) => Promise<ServerAnswer>;
  /** Called when the breaker of a server opens or closes. */
  readonly onBreaker: (serverId: string, open: boolean) => void;
  /**
   * Maximum number of commands in one batch. Default and upper limit: {@link MAX_BATCH_COMMANDS}.
   */
  readonly maxBatchCommands?: number;
  /** Maximum number of commands of one account in one batch. Default 1. */
  readonly maxAccountCommands?: number;
}

interface AccountQueue {
  readonly key: string;
  readonly server: ServerQueue;
  readonly entries: Entry[];
  /**
   * The commands that are running (null) or wait for a retry (its timer). As long as the map has a
   * command, no further command of the account starts.
   */
  readonly running: Map<Entry, NodeJS.Timeout | null>;
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
  /** The running batches, the oldest first. */
  readonly underWay: Set<BatchUnderWay>;
  /** Starts the next batch if no running batch ends before. */
  slowTimer: NodeJS.Timeout | null;
  /** Whether a dispatch is due after the current synchronous work. */
  woken: boolean;
  probeTimer: NodeJS.Timeout | null;
}

/** Forms batches of the commands of one worker; see the rules above. */
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

  /**
   * Queues a command behind the running commands of its account, and behind those with a lower
   * offset.
   */
  add(entry: Entry): void {
    const account = this.#accountOf(entry);
    const { entries, running } = account;
    let index = entries.length;
    const first = entries.findLastIndex((other) => running.has(other)) + 1;
    while (index > first && (entries[index - 1]?.offset ?? -1) > entry.offset) index -= 1;
    entries.splice(index, 0, entry);
    if (running.size === 0) this.#makeReady(account);
  }

  /**
   * Runs the command again as soon as `delayMs` has passed and no other command of its account runs
   * or waits for a retry.
   */
  retry(entry: Entry, delayMs: number): void {
    const account = this.#findAccount(entry);
    if (account === undefined || !account.running.has(entry)) return;
    if (delayMs <= 0) return this.#release(account, entry);
    clearTimeout(account.running.get(entry) ?? undefined);
    account.running.set(
      entry,
      setTimeout(() => this.#release(account, entry), delayMs),
    );
  }

  /**
   * Removes a final command, or a command whose partition was closed; frees its account for the
   * next command. If it is running, its outcome is ignored.
   */
  drop(entry: Entry): void {
    entry.dropped = true;
    const account = this.#findAccount(entry);
    const index = account?.entries.indexOf(entry) ?? -1;
    if (account === undefined || index === -1) return;
    account.entries.splice(index, 1);
    this.#release(account, entry);
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
      for (const { running } of server.accounts.values())
        for (const timer of running.values()) clearTimeout(timer ?? undefined);
    }
    await Promise.all(this.#batches);
  }

  /**
   * The command no longer runs or waits for a retry. When this is true for all commands of the
   * account that were started together, the first commands of the account may run.
   */
  #release(account: AccountQueue, entry: Entry): void {
    clearTimeout(account.running.get(entry) ?? undefined);
    account.running.delete(entry);
    if (account.running.size > 0) return;
    if (account.entries.length > 0) return this.#makeReady(account);
    account.server.ready.delete(account);
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
      account = { key, server, entries: [], running: new Map() };
      server.accounts.set(key, account);
    }
    return account;
  }

  #findAccount(entry: Entry): AccountQueue | undefined {
    return this.#servers.get(entry.message.serverId)?.accounts.get(entry.orderKey);
  }

  /**
   * Deletes the queues of a server without commands, unless its breaker is open. If `server` was
   * deleted before, a later command may have created new queues, which stay.
   */
  #forget(server: ServerQueue): void {
    const idle = server.accounts.size === 0 && server.underWay.size === 0 && !server.breaker.open;
    if (idle && this.#servers.get(server.serverId) === server) this.#servers.delete(server.serverId);
  }

  #makeReady(account: AccountQueue): void {
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
      const { mode, batch } = this.#nextBatch(server, allowance);
      const call = mode === "expire" ? null : server.breaker.sent();
      const work = this.#run(server, mode, batch, call).finally(() => this.#batches.delete(work));
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

  /** Dispatches after `waitMs`, if no batch ends before. */
  #dispatchLater(server: ServerQueue, waitMs: number): void {
    if (server.slowTimer !== null) return;
    server.slowTimer = setTimeout(() => {
      server.slowTimer = null;
      this.#wake(server);
    }, waitMs);
  }

  /**
   * Forms a batch of the heads that have waited longest and need the same mode, and of commands
   * that follow these heads. Their accounts are no longer ready.
   */
  #nextBatch(server: ServerQueue, limit: number): { mode: BatchMode; batch: Entry[] } {
    const nowMs = this.#options.clock.nowMs();
    let mode: BatchMode = "execute";
    const heads: AccountQueue[] = [];
    for (const account of server.ready) {
      const head = account.entries[0];
      if (head === undefined) continue;
      const needed = modeOf(head, nowMs);
      if (heads.length > 0 && (needed !== mode || head.unexpectedErrors > 0)) continue;
      mode = needed;
      heads.push(account);
      if (heads.length >= limit || head.unexpectedErrors > 0) break;
    }
    const batch = heads.flatMap(({ entries }) => entries.slice(0, 1));
    for (const { entries } of heads) batch.push(...this.#following(entries, mode, nowMs, limit - batch.length));
    for (const account of heads) server.ready.delete(account);
    for (const entry of batch) this.#findAccount(entry)?.running.set(entry, null);
    return { mode, batch };
  }

  /** The commands that directly follow the head of an account and can share its batch. */
  #following(entries: readonly Entry[], mode: BatchMode, nowMs: number, limit: number): Entry[] {
    const { maxAccountCommands = 1 } = this.#options;
    const isSolitary = mode !== "execute" || (entries[0]?.unexpectedErrors ?? 0) > 0;
    const most = isSolitary ? 0 : Math.min(maxAccountCommands - 1, limit);
    const next = entries.slice(1, 1 + Math.max(0, most));
    const end = next.findIndex((entry) => modeOf(entry, nowMs) !== mode || entry.unexpectedErrors > 0);
    return end === -1 ? next : next.slice(0, end);
  }

  /** `call`: the number that the breaker gave the batch; null: the batch calls no server. */
  async #run(server: ServerQueue, mode: BatchMode, batch: readonly Entry[], call: number | null): Promise<void> {
    const underWay = { commands: batch.length, slowFromMs: this.#options.clock.nowMs() + SLOW_BATCH_MS };
    server.underWay.add(underWay);
    const answer = await this.#options.run(server.serverId, mode, batch);
    server.underWay.delete(underWay);
    if (server.slowTimer !== null) clearTimeout(server.slowTimer);
    server.slowTimer = null;
    const { breaker } = server;
    const wasOpen = breaker.open;
    if (call !== null) {
      if (answer === "answered") breaker.answered();
      else if (answer === "unused") breaker.unused(call);
      else if (breaker.failed(call)) this.#options.onBreaker(server.serverId, true);
    }
    if (wasOpen && !breaker.open) this.#options.onBreaker(server.serverId, false);
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

  /** Expires parked commands that were never sent. This needs no call to the trading server. */
  #expireParked(): void {
    const nowMs = this.#options.clock.nowMs();
    for (const server of this.#servers.values()) {
      if (!server.breaker.open) continue;
      const batch: Entry[] = [];
      for (const account of server.ready) {
        const head = account.entries[0];
        if (head === undefined || modeOf(head, nowMs) !== "expire" || batch.length >= MAX_BATCH_COMMANDS) continue;
        account.running.set(head, null);
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

/** What a command needs now, by its rejection, its deadline, and whether it may have been sent. */
function modeOf(entry: Entry, nowMs: number): BatchMode {
  if (entry.rejection !== null) return entry.maybeSent ? "settle" : "expire";
  if (nowMs < entry.deadlineMs) return "execute";
  return entry.maybeSent ? "settle" : "expire";
}
