/**
 * The partitions that Kafka's group gave to this process, their fences and their commands. A fence
 * that expired while the partition is still ours (a long database outage) is taken again after a
 * pause; references make it safe to run a command twice. If the group has assigned the partition to
 * another process and this process does not know yet, the other process keeps the fence, because
 * its generation is higher.
 */
import { delay } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import { type Incoming, storedMessage } from "./decode.ts";
import type { Entry } from "./entry.ts";
import type { Lease, LeaseBook } from "./lease-book.ts";
import { LEASE_RENEWAL_MS, REOPEN_DELAY_MS } from "./limits.ts";
import { PartitionQueue } from "./partition-queue.ts";
import type { Scheduler } from "./scheduler.ts";
import { LOCK_LEASED } from "./statements.ts";
import type { CommandStore } from "./store.ts";

export interface PartitionsOptions {
  readonly store: CommandStore;
  readonly leases: LeaseBook;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
}

export class Partitions {
  readonly #options: PartitionsOptions;
  readonly #queues = new Map<number, PartitionQueue>();
  readonly #renewal: NodeJS.Timeout;
  readonly #stopping = new AbortController();
  readonly #opening = new Set<Promise<void>>();
  #assigned = false;
  /** The group's generation that the last assignment came with. */
  #generation = 0;
  #wasOpen = false;

  constructor(options: PartitionsOptions) {
    this.#options = options;
    this.#renewal = setInterval(() => void this.#renew(), LEASE_RENEWAL_MS);
  }

  /**
   * null, or why no commands run yet. Only until they do for the first time: partitions also come
   * when another process ends, and who only asks this one must not be turned away for that.
   */
  check(): string | null {
    if (this.#wasOpen) return null;
    if (!this.#assigned) return "the consumer group has not given partitions yet";
    const waiting = [...this.#queues.values()].filter(({ lease }) => lease === null);
    this.#wasOpen = waiting.length === 0;
    return this.#wasOpen ? null : `${waiting.length} partitions are not open yet`;
  }

  loaded(): number {
    let count = 0;
    for (const queue of this.#queues.values()) count += [...queue.entries()].length;
    return count;
  }

  /**
   * When the oldest command that is held here was accepted, in milliseconds since the epoch; null
   * where none is.
   */
  oldestMs(): number | null {
    let oldest: Entry | null = null;
    for (const queue of this.#queues.values()) {
      // All commands of a worker have the same time until their deadline.
      for (const entry of queue.entries()) if (oldest === null || entry.deadlineMs < oldest.deadlineMs) oldest = entry;
    }
    return oldest === null ? null : Date.parse(oldest.message.createdAt);
  }

  /**
   * Takes over a new assignment of the group: the partitions in it are ours, all others are not. A
   * partition that was ours and is again may have been another process's in between, also where the
   * fence is still ours: a process that was paused takes its fence back before it joins the group
   * again. What that other process wrote to the inbox is read now: its offsets are committed, so
   * the topic does not bring it again.
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
      this.#options.logger.warn({ err: error, partition: queue.partition }, "the inbox could not be read; again later");
      this.#close(queue.partition);
      await this.#open(queue.partition);
    }
  }

  /** Hands on commands that were just written to the inbox. */
  add(partition: number, messages: readonly Incoming[]): void {
    this.#queues.get(partition)?.add(messages);
  }

  /** Hands on repeats of commands, which may be open and unknown here. */
  async addRepeats(partition: number, commandIds: readonly string[]): Promise<void> {
    await this.#queues.get(partition)?.addRepeats(commandIds);
  }

  /** The command is final. */
  end(entry: Entry): void {
    this.#options.scheduler.drop(entry);
    entry.partition.remove(entry);
  }

  /** A command that is held here. */
  find(commandId: string): Entry | undefined {
    for (const queue of this.#queues.values()) {
      const entry = queue.get(commandId);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /** Commands are final by whatever path; those held here are let go. */
  endAll(commandIds: readonly string[]): void {
    for (const commandId of commandIds) {
      const entry = this.find(commandId);
      if (entry !== undefined) this.end(entry);
    }
  }

  /**
   * The fence is another's: drops the partition's commands, and takes it again if it is still ours
   * to take.
   */
  lose({ partition, token }: Lease): void {
    if (this.#queues.get(partition)?.lease?.token !== token) return;
    this.#options.logger.warn({ partition }, "the fence of a partition was lost");
    this.#close(partition);
    const queue = this.#makeQueue(partition);
    this.#openLater(queue);
  }

  #openLater(queue: PartitionQueue): void {
    void this.#track(delay(REOPEN_DELAY_MS, this.#stopping.signal).then(() => this.#openUntilDone(queue)));
  }

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
      onReadError: (error) => logger.warn({ err: error, partition }, "the inbox could not be read; again later"),
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
   * Takes the fence and reads the open commands; retries until both succeed or the partition is
   * gone. If a member of a later generation has the fence, it returns and retries in the
   * background: the next assignment waits until this one has been handled.
   */
  async #openUntilDone(queue: PartitionQueue): Promise<void> {
    while (!queue.closed && !this.#stopping.signal.aborted) {
      try {
        const lease = await this.#options.leases.take(this.#options.store.database, queue.partition, this.#generation);
        if (lease === null) return this.#openLater(queue);
        await this.#requeueLeased(queue.partition, lease);
        await queue.open(lease);
        return;
      } catch (error) {
        this.#options.logger.warn({ err: error, partition: queue.partition }, "a partition could not be opened");
        await delay(REOPEN_DELAY_MS, this.#stopping.signal);
      }
    }
  }

  /** What an earlier holder had under way goes back to the queue (decisions, 3.1). */
  async #requeueLeased(partition: number, lease: Lease): Promise<void> {
    await this.#options.store.transact(async (unit) => {
      const held = await this.#options.leases.check(unit, [lease]);
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
      for (const lease of leases) if (!held.has(lease.partition)) this.lose(lease);
    } catch (error) {
      this.#options.logger.warn({ err: error }, "fences could not be renewed");
    }
  }
}
