/**
 * The commands of one partition that this process holds. What does not fit in memory waits in the
 * inbox and is read in log order when there is room; every server of the partition is a lane of its
 * own, so that one with a flood or with a dead trading server takes no room from the others.
 *
 * Invariant: of a lane either everything open is in memory, or everything below `spilledFrom` is
 * and nothing from there.
 */
import type { Database } from "@kapi/postgres";

import { column } from "./columns.ts";
import { type Incoming, isMarked, storedMessage } from "./decode.ts";
import { type Entry, type Home, INTERNAL, orderKeyOf } from "./entry.ts";
import type { Lease } from "./lease-book.ts";
import { MAX_LOADED_PER_LANE, MAX_LOADED_PER_PARTITION, MIN_LOADED_PER_LANE, REOPEN_DELAY_MS } from "./limits.ts";
import { LOAD_OPEN, LOAD_OPEN_BY_ID, OPEN_SERVERS, type OpenRow } from "./statements.ts";

interface Lane {
  readonly serverId: string;
  loaded: number;
  /** From this offset on commands are in the inbox only; null: all are in memory. */
  spilledFrom: number | null;
  /** Counts the commands left in the inbox, so that a read knows whether more came meanwhile. */
  skips: number;
  reading: boolean;
}

/** What a command in memory is made of. */
type Loadable = Pick<Entry, "message" | "refusal" | "offset" | "attempts" | "maybeSent">;

export interface PartitionQueueOptions {
  readonly database: Database;
  /** Hands a loaded command to the scheduler. */
  readonly schedule: (entry: Entry) => void;
  readonly onReadError: (error: unknown) => void;
}

export class PartitionQueue implements Home {
  readonly partition: number;
  /** Null until the fence is taken and what was open is known. */
  lease: Lease | null = null;
  closed = false;
  readonly #options: PartitionQueueOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #entries = new Map<string, Entry>();

  constructor(partition: number, options: PartitionQueueOptions) {
    this.partition = partition;
    this.#options = options;
  }

  entries(): Iterable<Entry> {
    return this.#entries.values();
  }

  get(commandId: string): Entry | undefined {
    return this.#entries.get(commandId);
  }

  /** Begins work under `lease`: everything open is read from the inbox. */
  async open(lease: Lease): Promise<void> {
    await this.#skipAll();
    this.lease = lease;
    this.#refillAll();
  }

  /** Reads all open commands once more. Commands that are held here stay as they are. */
  async reload(): Promise<void> {
    await this.#skipAll();
    this.#refillAll();
  }

  async #skipAll(): Promise<void> {
    const rows = await this.#options.database.query(OPEN_SERVERS, [this.partition]);
    for (const { server_id: serverId } of rows) this.#skip(this.#laneOf(serverId), 0);
  }

  #refillAll(): void {
    for (const lane of this.#lanes.values()) this.#refill(lane);
  }

  /** Takes in commands that were just written to the inbox, in log order. */
  add(messages: readonly Incoming[]): void {
    for (const { message, unreadable, offset } of messages) {
      this.#place({ message, refusal: unreadable === null ? null : INTERNAL, offset, attempts: 0, maybeSent: false });
    }
  }

  /**
   * Takes in repeats that are still open and that this process does not hold: rows that an earlier
   * holder of the partition wrote after this one had read the inbox.
   */
  async addRepeats(commandIds: readonly string[]): Promise<void> {
    const unknown = commandIds.filter((commandId) => !this.#entries.has(commandId));
    if (unknown.length === 0) return;
    const rows = await this.#options.database.query(LOAD_OPEN_BY_ID, [this.partition, column(unknown)]);
    for (const row of rows) this.#place(fromRow(row));
  }

  /** The command is final, or of no more interest. */
  remove(entry: Entry): void {
    if (!this.#entries.delete(entry.message.commandId)) return;
    const lane = this.#laneOf(entry.message.serverId);
    lane.loaded -= 1;
    this.#refill(lane);
    if (lane.loaded === 0 && lane.spilledFrom === null) this.#lanes.delete(lane.serverId);
  }

  #place(loadable: Loadable): void {
    const { message, offset } = loadable;
    if (this.#entries.has(message.commandId)) return;
    const lane = this.#laneOf(message.serverId);
    const behind = lane.spilledFrom !== null && offset >= lane.spilledFrom;
    if (this.lease === null || behind || this.#room(lane) <= 0) {
      this.#skip(lane, offset);
      if (this.lease !== null) this.#refill(lane);
      return;
    }
    this.#load(lane, loadable);
  }

  #load(lane: Lane, loadable: Loadable): void {
    const { message } = loadable;
    const entry: Entry = {
      ...loadable,
      traceparent: message.traceparent,
      orderKey: orderKeyOf(message),
      partition: this,
      deadlineMs: Date.parse(message.deadlineAt),
      broken: 0,
      gone: false,
    };
    this.#entries.set(message.commandId, entry);
    lane.loaded += 1;
    this.#options.schedule(entry);
  }

  #skip(lane: Lane, offset: number): void {
    lane.spilledFrom = Math.min(lane.spilledFrom ?? offset, offset);
    lane.skips += 1;
  }

  /** How many more commands the lane may hold. */
  #room(lane: Lane): number {
    const share = this.#entries.size < MAX_LOADED_PER_PARTITION ? MAX_LOADED_PER_LANE : MIN_LOADED_PER_LANE;
    return share - lane.loaded;
  }

  #refill(lane: Lane): void {
    if (lane.spilledFrom === null || lane.reading || this.closed || this.lease === null) return;
    const room = this.#room(lane);
    if (room < lane.loaded) return;
    lane.reading = true;
    this.#read(lane, lane.spilledFrom, room).then(
      () => {
        lane.reading = false;
        this.#refill(lane);
      },
      (error: unknown) => {
        this.#options.onReadError(error);
        setTimeout(() => {
          lane.reading = false;
          this.#refill(lane);
        }, REOPEN_DELAY_MS);
      },
    );
  }

  async #read(lane: Lane, from: number, limit: number): Promise<void> {
    const { skips } = lane;
    const rows = await this.#options.database.query(LOAD_OPEN, [this.partition, lane.serverId, from, limit]);
    if (this.closed) return;
    for (const row of rows) {
      if (!this.#entries.has(row.command_id)) this.#load(lane, fromRow(row));
    }
    // What was left in the inbox below the start of this read came after it began.
    if (lane.spilledFrom !== null && lane.spilledFrom < from) return;
    const complete = rows.length < limit && lane.skips === skips;
    const last = rows.at(-1);
    lane.spilledFrom = complete ? null : last === undefined ? from : last.log_offset + 1;
  }

  #laneOf(serverId: string): Lane {
    let lane = this.#lanes.get(serverId);
    if (lane === undefined) {
      lane = { serverId, loaded: 0, spilledFrom: null, skips: 0, reading: false };
      this.#lanes.set(serverId, lane);
    }
    return lane;
  }
}

/**
 * The inbox holds only messages that were checked when they came in. What is read back was perhaps
 * sent.
 */
function fromRow(row: OpenRow): Loadable {
  const sealed: unknown = row.sealed_password === null ? null : JSON.parse(row.sealed_password);
  const message = storedMessage({ ...(JSON.parse(row.message) as object), sealedPassword: sealed });
  const refusal = isMarked(message) ? INTERNAL : null;
  return { message, refusal, offset: row.log_offset, attempts: row.attempts, maybeSent: true };
}
