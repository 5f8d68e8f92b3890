/**
 * The partitions that the consumer group assigned to this process, with their leases and commands.
 * If a lease expires while the partition is still assigned (a long database outage), it is renewed,
 * or acquired again after a pause. References make it safe to run a command twice. If the group has
 * already assigned the partition to another process, that process keeps the lease: its generation
 * is higher.
 */
import { delay } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import { type Incoming, storedMessage } from "./decode.ts";
import type { Entry } from "./entry.ts";
import type { Lease, PartitionLeases } from "./partition-leases.ts";
import { LEASE_RENEWAL_MS, REOPEN_DELAY_MS } from "./limits.ts";
import { PartitionQueue } from "./partition-queue.ts";
import type { Scheduler } from "./scheduler.ts";
import { LOCK_LEASED } from "./statements.ts";
import type { CommandStore } from "./store.ts";

/** The parts of one worker that its partitions use. All of them belong to the same topic. */
interface PartitionsOptions {
  readonly store: CommandStore;
  readonly leases: PartitionLeases;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
}

/** The partitions that this process holds. */
export class Partitions {
  readonly #options: PartitionsOptions;
  readonly #queues = new Map<number, PartitionQueue>();
  readonly #renewal: NodeJS.Timeout;
  readonly #stopping = new AbortController();
  readonly #opening = new Set<Promise<void>>();
  #assigned = false;
  /** The generation of the consumer group at the last assignment. */
  #generation = 0;
  #wasOpen = false;

  constructor(options: PartitionsOptions) {
    this.#options = options;
    this.#renewal = setInterval(() => void this.#renew(), LEASE_RENEWAL_MS);
  }

  /**
   * Returns why not all assigned partitions are open yet, or null. After it has returned null one
   * time, it always returns null: a rebalance must not make a running process unready.
   */
  check(): string | null {
    if (this.#wasOpen) return null;
    if (!this.#assigned) return "the consumer group has not assigned partitions yet";
    const waiting = [...this.#queues.values()].filter(({ lease }) => lease === null);
    this.#wasOpen = waiting.length === 0;
    return this.#wasOpen ? null : `${waiting.length} partitions are not open yet`;
  }

  /** Number of commands in memory. */
  loaded(): number {
    let count = 0;
    for (const queue of this.#queues.values()) count += [...queue.entries()].length;
    return count;
  }

  /**
   * When the oldest command in memory was accepted, in milliseconds since the epoch; null without
   * commands. It need not be the command with the earliest deadline: the command of a risk rule's
   * action has a later deadline (decisions, 15.6).
   */
  oldestMs(): number | null {
    return this.#earliest(({ message }) => Date.parse(message.createdAt));
  }

  /**
   * The earliest deadline of the commands in memory, in milliseconds since the epoch; null without
   * commands.
   */
  earliestDeadlineMs(): number | null {
    return this.#earliest(({ deadlineMs }) => deadlineMs);
  }

  #earliest(timeOf: (entry: Entry) => number): number | null {
    let earliest = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues.values()) {
      for (const entry of queue.entries()) earliest = Math.min(earliest, timeOf(entry));
    }
    return earliest === Number.POSITIVE_INFINITY ? null : earliest;
  }

  /**
   * Applies a new assignment of the group: opens its partitions and closes all others. The inbox of
   * a partition that stays assigned is read again, because another process may have held the
   * partition in between. Holding the lease does not exclude that: a process that was frozen can
   * acquire an expired lease again before it rejoins the group. The offsets of the commands that
   * the other process wrote are committed, so Kafka does not deliver them again.
   */
  async assign(partitions: readonly number[], generation: number): Promise<void> {
    this.#generation = generation;
    const given = new Set(partitions);
    for (const [partition, { lease }] of this.#queues) {
      if (!given.has(partition) || lease === null) this.#close(partition);
    }
    await this.#renew();
    const opened = partitions.map((partition) => {
      const queue = this.#queues.get(partition);
      return queue === undefined ? this.#open(partition) : this.#reload(queue);
    });
    this.#assigned = true;
    await Promise.all(opened);
  }

  async #reload(queue: PartitionQueue): Promise<void> {
    try {
      await queue.reload();
    } catch (error) {
      this.#options.logger.warn({ err: error, partition: queue.partition }, "the inbox could not be read; retrying");
      this.#close(queue.partition);
      await this.#open(queue.partition);
    }
  }

  /** Adds commands that were just written to the inbox. */
  add(partition: number, messages: readonly Incoming[]): void {
    this.#queues.get(partition)?.add(messages);
  }

  /** Adds repeated commands, which may be open and not in memory. */
  async addRepeats(partition: number, commandIds: readonly string[]): Promise<void> {
    await this.#queues.get(partition)?.addRepeats(commandIds);
  }

  /** Removes a final command. */
  remove(entry: Entry): void {
    this.#options.scheduler.drop(entry);
    entry.partition.remove(entry);
  }

  /** Returns a command that is in memory; undefined if it is not there. */
  find(commandId: string): Entry | undefined {
    for (const queue of this.#queues.values()) {
      const entry = queue.get(commandId);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /** Removes final commands, whichever path made them final. */
  removeAll(commandIds: readonly string[]): void {
    for (const commandId of commandIds) {
      const entry = this.find(commandId);
      if (entry !== undefined) this.remove(entry);
    }
  }

  /**
   * The lease has expired, or another process holds it: drops the commands of the partition, and
   * tries to acquire the lease again.
   */
  handleLeaseLost({ partition, token }: Lease): void {
    if (this.#queues.get(partition)?.lease?.token !== token) return;
    this.#options.logger.warn({ partition }, "the lease of a partition was lost");
    this.#close(partition);
    const queue = this.#makeQueue(partition);
    this.#reopenLater(queue);
  }

  #reopenLater(queue: PartitionQueue): void {
    void this.#track(delay(REOPEN_DELAY_MS, this.#stopping.signal).then(() => this.#openUntilDone(queue)));
  }

  /**
   * Drops all commands; resolves when no partition is being opened. Leases expire by themselves.
   */
  async stop(): Promise<void> {
    clearInterval(this.#renewal);
    this.#stopping.abort();
    for (const partition of this.#queues.keys()) this.#close(partition);
    await Promise.all(this.#opening);
  }

  #open(partition: number): Promise<void> {
    const queue = this.#makeQueue(partition);
    return this.#track(this.#openUntilDone(queue));
  }

  #makeQueue(partition: number): PartitionQueue {
    const { store, scheduler, logger } = this.#options;
    const queue = new PartitionQueue(partition, {
      database: store.database,
      schedule: (entry) => scheduler.add(entry),
      onReadError: (error) => logger.warn({ err: error, partition }, "the inbox could not be read; retrying"),
    });
    this.#queues.set(partition, queue);
    return queue;
  }

  #track(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => this.#opening.delete(tracked));
    this.#opening.add(tracked);
    return tracked;
  }

  /**
   * Acquires the lease, requeues leased commands, and starts to read the open commands. Retries
   * until all of this succeeds or the partition is closed. If a member of a later generation holds
   * the lease, this method returns and the retry runs in the background: `assign` waits for this
   * method, and must not wait for the lease.
   */
  async #openUntilDone(queue: PartitionQueue): Promise<void> {
    while (!queue.closed && !this.#stopping.signal.aborted) {
      try {
        const lease = await this.#options.leases.acquire(
          this.#options.store.database,
          queue.partition,
          this.#generation,
        );
        if (lease === null) return this.#reopenLater(queue);
        await this.#requeueLeased(queue.partition, lease);
        await queue.open(lease);
        return;
      } catch (error) {
        this.#options.logger.warn({ err: error, partition: queue.partition }, "a partition could not be opened");
        await delay(REOPEN_DELAY_MS, this.#stopping.signal);
      }
    }
  }

  /** Requeues the commands that an earlier holder left as leased (decisions, 3.1). */
  async #requeueLeased(partition: number, lease: Lease): Promise<void> {
    await this.#options.store.transact(async (unit) => {
      const held = await this.#options.leases.lockHeld(unit, [lease]);
      if (!held.has(partition)) return;
      const rows = await unit.query(LOCK_LEASED, [partition]);
      unit.change(
        rows.map(({ message, status, version, attempts }) => ({
          command: { message: storedMessage(JSON.parse(message)), status, version, attempts },
          status: "queued",
          attempts,
          result: null,
          errorCode: null,
          errorMessage: null,
        })),
      );
    });
  }

  #close(partition: number): void {
    const queue = this.#queues.get(partition);
    if (queue === undefined) return;
    this.#queues.delete(partition);
    queue.closed = true;
    for (const entry of queue.entries()) this.#options.scheduler.drop(entry);
  }

  async #renew(): Promise<void> {
    const leases = [...this.#queues.values()].flatMap(({ lease }) => (lease === null ? [] : [lease]));
    try {
      const held = await this.#options.leases.renew(this.#options.store.database, leases);
      for (const lease of leases) if (!held.has(lease.partition)) this.handleLeaseLost(lease);
    } catch (error) {
      this.#options.logger.warn({ err: error }, "leases could not be renewed");
    }
  }
}
