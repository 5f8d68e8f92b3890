import { assert, type Clock, delay, OrganizationSlots, repeat, type Repetition } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import type { CommandEnds, CommandRead, CommandStore, TakenIn } from "../domain/ports.ts";

/**
 * Requests of this process that wait at once; one more is refused. Each is one look-up by key in
 * every poll.
 */
export const MAX_WAITERS = 2_000;
/**
 * An organization's share of them. Each gateway has a smaller share of its own; this one bounds
 * what several let through.
 */
export const MAX_WAITERS_PER_ORGANIZATION = 500;
/** How often it is looked whether another process has taken an end in. */
const POLL_INTERVAL_MS = 250;

/** Too many requests wait already, of the organization or in all. */
export class TooManyWaiters extends Error {
  override readonly name = "TooManyWaiters";
}

/**
 * Who waits for which command. A waiter is woken by the end that this process takes in, and by a
 * poll, one statement for all of them, for the ends that another process took in.
 */
export class CommandWaiters {
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #slots = new OrganizationSlots({ perOrganization: MAX_WAITERS_PER_ORGANIZATION, total: MAX_WAITERS });

  /** Wakes those who wait for commands that have ended by now. */
  taken(rows: readonly TakenIn[]): void {
    if (this.#waiting.size === 0) return;
    for (const { commandId, final, readable } of rows) if (final && readable) this.#wake(commandId);
  }

  /** Looks once whether some of the awaited commands have ended. */
  async poll(ends: CommandEnds): Promise<void> {
    if (this.#waiting.size === 0) return;
    for (const commandId of await ends.finalAmong([...this.#waiting.keys()])) this.#wake(commandId);
  }

  /**
   * Resolves when the command has ended, when `signal` is aborted, or after `timeoutMs`.
   * @throws TooManyWaiters
   */
  wait({ organizationId, commandId }: CommandRead, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const release = this.#slots.take(organizationId);
    if (release === null) throw new TooManyWaiters();
    const woken = new AbortController();
    const wake = (): void => woken.abort();
    const waiters = this.#waiting.get(commandId) ?? new Set();
    this.#waiting.set(commandId, waiters.add(wake));
    return delay(timeoutMs, AbortSignal.any([woken.signal, signal])).finally(() => {
      release();
      waiters.delete(wake);
      if (waiters.size === 0 && this.#waiting.get(commandId) === waiters) this.#waiting.delete(commandId);
    });
  }

  #wake(commandId: string): void {
    for (const wake of this.#waiting.get(commandId) ?? []) wake();
  }
}

/**
 * Polls until it is stopped. While PostgreSQL is away nobody is woken, and every request ends at
 * its deadline.
 */
export function startPolling(waiters: CommandWaiters, ends: CommandEnds, logger: Logger): Started<Repetition> {
  return repeat({
    name: "waiters for commands",
    round: () => waiters.poll(ends),
    pauseMs: POLL_INTERVAL_MS,
    firstPauseMs: POLL_INTERVAL_MS,
    // Callers wait for it.
    backOff: { firstMs: POLL_INTERVAL_MS },
    logger,
  });
}

/** The store, with every batch that was taken in told to the waiters. */
export function tellingWaiters(store: CommandStore, waiters: CommandWaiters): CommandStore {
  const told = <T extends readonly TakenIn[]>(rows: T): T => {
    waiters.taken(rows);
    return rows;
  };
  return {
    ...store,
    takeInMessages: async (messages, positions) => told(await store.takeInMessages(messages, positions)),
    takeInEvents: async (events, positions) => told(await store.takeInEvents(events, positions)),
  };
}

/**
 * The body of getCommand as soon as the command is final, or as it is when the time is over
 * (decisions, 3.7); null where the command is not known here. `signal`: the caller has gone.
 * @throws TooManyWaiters
 */
export async function waitForCommand(
  needs: {
    readonly store: CommandStore;
    readonly ends: CommandEnds;
    readonly waiters: CommandWaiters;
    readonly clock: Clock;
  },
  read: CommandRead,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string | null> {
  const { organizationId, commandId } = read;
  const { store, ends, waiters, clock } = needs;
  const startedMs = clock.nowMs();
  const body = async (): Promise<string | null> => {
    const [command] = await store.byIds([commandId]);
    assert(command !== "later", "one command always fits");
    return command?.organizationId === organizationId ? `{"command":${command.json}}` : null;
  };
  if ((await body()) === null) return null;
  const done = new AbortController();
  const leftMs = Math.max(0, timeoutMs - (clock.nowMs() - startedMs));
  // Waits first and looks then: an end that comes between the two wakes it.
  const ended = waiters.wait(read, leftMs, AbortSignal.any([signal, done.signal]));
  try {
    if ((await ends.finalAmong([commandId])).length === 0) await ended;
  } finally {
    done.abort();
  }
  return body();
}
