import { assert, type Clock, delay, OrganizationSlots, repeat, type Repetition, Urgency } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import type { FinalCommandRepository, CommandRead, CommandRepository, IngestedCommand } from "../domain/ports.ts";

/**
 * Maximum number of concurrent waits in this process; further ones are rejected. Every poll looks
 * up each awaited command by its id.
 */
export const MAX_WAITERS = 2_000;
/**
 * Maximum number of concurrent waits per organization in this process, from all gateways together.
 * Each gateway has a limit of its own too.
 */
export const MAX_WAITERS_PER_ORGANIZATION = 500;
/** Interval of the search for final states that another process ingested. */
const POLL_INTERVAL_MS = 250;
/** Maximum wait for a command that is not stored yet: its message may be on its way. */
const NOT_READABLE_YET_MS = 50;

/** The process, or the organization, has the maximum number of concurrent waits. */
export class TooManyWaiters extends Error {
  override readonly name = "TooManyWaiters";
}

/** A request that waits until a command is readable, or final. */
interface Waiter {
  readonly until: "readable" | "final";
  readonly wake: () => void;
}

/**
 * Requests that wait for commands. A final state that this process ingests wakes the waiters of the
 * command. A poll, one statement for all waiters, finds final states that other processes ingested.
 */
export class CommandWaiters {
  /** While a caller waits, the consumers do not use their longest interval between batches. */
  readonly urgency = new Urgency();
  readonly #waiting = new Map<string, Set<Waiter>>();
  readonly #slots = new OrganizationSlots({ perOrganization: MAX_WAITERS_PER_ORGANIZATION, total: MAX_WAITERS });

  /**
   * Wakes the waiters of each readable row. Those that wait for a final state wake only if the row
   * is final.
   */
  notify(rows: readonly IngestedCommand[]): void {
    if (this.#waiting.size === 0) return;
    for (const { commandId, final, readable } of rows) if (readable) this.#wake(commandId, final);
  }

  /** Looks up, in one statement, which awaited commands are final, and wakes their waiters. */
  async poll(finalCommands: FinalCommandRepository): Promise<void> {
    if (this.#waiting.size === 0) return;
    for (const commandId of await finalCommands.findFinal([...this.#waiting.keys()])) this.#wake(commandId, true);
  }

  /**
   * Resolves when the command becomes readable or final (`until`), when `signal` aborts, or after
   * `timeoutMs`.
   * @throws TooManyWaiters synchronously.
   */
  wait(
    { organizationId, commandId }: CommandRead,
    until: Waiter["until"],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const release = this.#slots.take(organizationId);
    if (release === null) throw new TooManyWaiters();
    const woken = new AbortController();
    const waiter: Waiter = { until, wake: () => woken.abort() };
    const waiters = this.#waiting.get(commandId) ?? new Set();
    this.#waiting.set(commandId, waiters.add(waiter));
    return delay(timeoutMs, AbortSignal.any([woken.signal, signal])).finally(() => {
      release();
      waiters.delete(waiter);
      if (waiters.size === 0 && this.#waiting.get(commandId) === waiters) this.#waiting.delete(commandId);
    });
  }

  #wake(commandId: string, isFinal: boolean): void {
    for (const { until, wake } of this.#waiting.get(commandId) ?? []) if (isFinal || until === "readable") wake();
  }
}

/**
 * Polls until it is stopped. While PostgreSQL is unavailable no waiter wakes: a wait ends at its
 * timeout, or when its caller disconnects.
 */
export function startPolling(
  waiters: CommandWaiters,
  finalCommands: FinalCommandRepository,
  logger: Logger,
): Started<Repetition> {
  return repeat({
    name: "waiters for commands",
    round: () => waiters.poll(finalCommands),
    pauseMs: POLL_INTERVAL_MS,
    firstPauseMs: POLL_INTERVAL_MS,
    // Callers wait for the poll, so it does not back off further than its own interval.
    backOff: { firstMs: POLL_INTERVAL_MS },
    logger,
  });
}

/** Wraps a repository: every ingested batch notifies the waiters. */
export function notifyingWaiters(repository: CommandRepository, waiters: CommandWaiters): CommandRepository {
  const notify = <T extends readonly IngestedCommand[]>(rows: T): T => {
    waiters.notify(rows);
    return rows;
  };
  return {
    ...repository,
    ingestMessages: async (messages, positions) => notify(await repository.ingestMessages(messages, positions)),
    ingestEvents: async (events, positions) => notify(await repository.ingestEvents(events, positions)),
  };
}

/**
 * Returns the body of getCommand once the command is final, or its current state after `timeoutMs`
 * (decisions, 3.7); null for a command that is still unknown after {@link NOT_READABLE_YET_MS}, or
 * is another organization's. `signal` aborts when the caller disconnects.
 * @throws TooManyWaiters
 */
export async function waitForCommand(
  dependencies: {
    readonly repository: CommandRepository;
    readonly finalCommands: FinalCommandRepository;
    readonly waiters: CommandWaiters;
    readonly clock: Clock;
  },
  read: CommandRead,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string | null> {
  const { organizationId, commandId } = read;
  const { repository, finalCommands, waiters, clock } = dependencies;
  const startedMs = clock.nowMs();
  const body = async (): Promise<string | null> => {
    const [command] = await repository.byIds([commandId]);
    assert(command !== "later", "a read of a single command returned `later`");
    return command?.organizationId === organizationId ? `{"command":${command.json}}` : null;
  };
  // Urgency begins before the look-up, because the message may not be ingested yet.
  const endUrgency = waiters.urgency.begin();
  const done = new AbortController();
  try {
    if ((await body()) === null) {
      await waiters.wait(read, "readable", Math.min(NOT_READABLE_YET_MS, timeoutMs), signal);
      if ((await body()) === null) return null;
    }
    const remainingMs = Math.max(0, timeoutMs - (clock.nowMs() - startedMs));
    // Register the wait before the look-up: a final state that is ingested in between wakes it.
    const woken = waiters.wait(read, "final", remainingMs, AbortSignal.any([signal, done.signal]));
    if ((await finalCommands.findFinal([commandId])).length === 0) await woken;
  } finally {
    done.abort();
    endUrgency();
  }
  return body();
}
