/**
 * The open commands of one partition. Commands that do not fit in memory wait in the inbox and are
 * read in log order when there is room. Each server has a limit, and a minimum number of its
 * commands always fits, so that a busy or dead trading server cannot block the others.
 *
 * Invariant: all open commands of a server with an offset below `spilledFrom` are in memory. If
 * `spilledFrom` is null, all open commands of the server are in memory.
 */
import type { Database } from "@kapi/postgres";

import { column } from "./columns.ts";
import { type Incoming, isUnreadable, storedMessage } from "./decode.ts";
import { type Entry, type CommandPartition, INTERNAL, orderKeyOf } from "./entry.ts";
import type { Lease } from "./partition-leases.ts";
import { MAX_LOADED_PER_SERVER, MAX_LOADED_PER_PARTITION, MIN_LOADED_PER_SERVER, REOPEN_DELAY_MS } from "./limits.ts";
import { LOAD_OPEN, LOAD_OPEN_BY_ID, OPEN_SERVERS, type OpenRow } from "./statements.ts";

/** Below every offset: commands that moved here from another partition have negative offsets. */
const FIRST_OFFSET = Number.MIN_SAFE_INTEGER;

interface ServerCommands {
  readonly serverId: string;
  /** Number of commands in memory. */
  loaded: number;
  /** Commands from this offset on may be only in the inbox; null if all are in memory. */
  spilledFrom: number | null;
  /**
   * Rises with each command that is left in the inbox, so that a read notices commands that were
   * left there while it ran.
   */
  spills: number;
  reading: boolean;
}

/** The fields from which an `Entry` is made. */
type Loadable = Pick<Entry, "message" | "rejection" | "offset" | "attempts" | "maybeSent">;

/** What all partitions of a worker use: the database with the inbox, and the scheduler. */
interface PartitionQueueOptions {
  readonly database: Database;
  /** Passes a loaded command to the scheduler. */
  readonly schedule: (entry: Entry) => void;
  /** Called when spilled commands could not be read. They are read again after a pause. */
  readonly onReadError: (error: unknown) => void;
}

/** The open commands of one partition, in memory and in the inbox. */
export class PartitionQueue implements CommandPartition {
  readonly partition: number;
  /** Null until the lease is acquired and the servers with open commands are known. */
  lease: Lease | null = null;
  /**
   * Set when the partition is no longer assigned, or its lease was lost: nothing is loaded any
   * more.
   */
  closed = false;
  readonly #options: PartitionQueueOptions;
  readonly #servers = new Map<string, ServerCommands>();
  readonly #entries = new Map<string, Entry>();

  constructor(partition: number, options: PartitionQueueOptions) {
    this.partition = partition;
    this.#options = options;
  }

  /** The commands in memory. */
  entries(): Iterable<Entry> {
    return this.#entries.values();
  }

  /** A command in memory; undefined if it is not there. */
  get(commandId: string): Entry | undefined {
    return this.#entries.get(commandId);
  }

  /** Sets the lease, and starts to read the open commands from the inbox as far as they fit. */
  async open(lease: Lease): Promise<void> {
    await this.#spillAll();
    this.lease = lease;
    this.#refillAll();
  }

  /** Starts to read the open commands again. Commands in memory stay as they are. */
  async reload(): Promise<void> {
    await this.#spillAll();
    this.#refillAll();
  }

  async #spillAll(): Promise<void> {
    const rows = await this.#options.database.query(OPEN_SERVERS, [this.partition]);
    for (const { server_id: serverId } of rows) this.#spill(this.#serverOf(serverId), FIRST_OFFSET);
  }

  #refillAll(): void {
    for (const server of this.#servers.values()) this.#refill(server);
  }

  /** Adds commands that were just written to the inbox, in log order. */
  add(messages: readonly Incoming[]): void {
    for (const { message, unreadable, offset } of messages) {
      this.#loadOrSpill({
        message,
        rejection: unreadable === null ? null : INTERNAL,
        offset,
        attempts: 0,
        maybeSent: false,
      });
    }
  }

  /**
   * Adds repeated commands that are open but not in memory: rows that an earlier holder of the
   * partition wrote after this process had read the inbox.
   */
  async addRepeats(commandIds: readonly string[]): Promise<void> {
    const unknown = commandIds.filter((commandId) => !this.#entries.has(commandId));
    if (unknown.length === 0) return;
    const rows = await this.#options.database.query(LOAD_OPEN_BY_ID, [this.partition, column(unknown)]);
    for (const row of rows) this.#loadOrSpill(fromRow(row));
  }

  /** Removes a final command from memory. */
  remove(entry: Entry): void {
    if (!this.#entries.delete(entry.message.commandId)) return;
    const server = this.#serverOf(entry.message.serverId);
    server.loaded -= 1;
    this.#refill(server);
    if (server.loaded === 0 && server.spilledFrom === null) this.#servers.delete(server.serverId);
  }

  /**
   * Loads a command if the lease is held, there is room, and all earlier open commands of the
   * server are known to be in memory. Otherwise the command stays only in the inbox.
   */
  #loadOrSpill(loadable: Loadable): void {
    const { message, offset } = loadable;
    if (this.#entries.has(message.commandId)) return;
    const server = this.#serverOf(message.serverId);
    const isSpilled = server.spilledFrom !== null && offset >= server.spilledFrom;
    if (this.lease === null || isSpilled || this.#capacityLeft(server) <= 0) {
      this.#spill(server, offset);
      if (this.lease !== null) this.#refill(server);
      return;
    }
    this.#load(server, loadable);
  }

  #load(server: ServerCommands, loadable: Loadable): void {
    const { message } = loadable;
    const entry: Entry = {
      ...loadable,
      traceparent: message.traceparent,
      orderKey: orderKeyOf(message),
      partition: this,
      deadlineMs: Date.parse(message.deadlineAt),
      unexpectedErrors: 0,
      dropped: false,
    };
    this.#entries.set(message.commandId, entry);
    server.loaded += 1;
    this.#options.schedule(entry);
  }

  /** Notes that the commands of the server from `offset` on may be only in the inbox. */
  #spill(server: ServerCommands, offset: number): void {
    server.spilledFrom = Math.min(server.spilledFrom ?? offset, offset);
    server.spills += 1;
  }

  /** How many more commands of the server fit in memory. */
  #capacityLeft(server: ServerCommands): number {
    const share = this.#entries.size < MAX_LOADED_PER_PARTITION ? MAX_LOADED_PER_SERVER : MIN_LOADED_PER_SERVER;
    return share - server.loaded;
  }

  /**
   * Reads spilled commands when at most half of the server's limit is in memory, so that a read
   * returns many rows.
   */
  #refill(server: ServerCommands): void {
    if (server.spilledFrom === null || server.reading || this.closed || this.lease === null) return;
    const room = this.#capacityLeft(server);
    if (room < server.loaded) return;
    server.reading = true;
    this.#read(server, server.spilledFrom, room).then(
      () => {
        server.reading = false;
        this.#refill(server);
      },
      (error: unknown) => {
        this.#options.onReadError(error);
        setTimeout(() => {
          server.reading = false;
          this.#refill(server);
        }, REOPEN_DELAY_MS);
      },
    );
  }

  async #read(server: ServerCommands, from: number, limit: number): Promise<void> {
    const { spills } = server;
    const rows = await this.#options.database.query(LOAD_OPEN, [this.partition, server.serverId, from, limit]);
    if (this.closed) return;
    for (const row of rows) {
      if (!this.#entries.has(row.command_id)) this.#load(server, fromRow(row));
    }
    // Commands with lower offsets were spilled after this read had started.
    if (server.spilledFrom !== null && server.spilledFrom < from) return;
    const complete = rows.length < limit && server.spills === spills;
    const last = rows.at(-1);
    server.spilledFrom = complete ? null : last === undefined ? from : last.log_offset + 1;
  }

  #serverOf(serverId: string): ServerCommands {
    let server = this.#servers.get(serverId);
    if (server === undefined) {
      server = { serverId, loaded: 0, spilledFrom: null, spills: 0, reading: false };
      this.#servers.set(serverId, server);
    }
    return server;
  }
}

/**
 * A command that is read back may have been sent. A command with an unreadable message is settled:
 * it fails INTERNAL unless the trading server has recorded an outcome.
 */
function fromRow(row: OpenRow): Loadable {
  const sealed: unknown = row.sealed_password === null ? null : JSON.parse(row.sealed_password);
  const message = storedMessage({ ...(JSON.parse(row.message) as object), sealedPassword: sealed });
  const rejection = isUnreadable(message) ? INTERNAL : null;
  return { message, rejection, offset: row.log_offset, attempts: row.attempts, maybeSent: true };
}
