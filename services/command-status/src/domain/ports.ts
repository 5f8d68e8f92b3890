import type { CommandEvent, AnyCommandMessage } from "@kapi/contracts";

import type { CommandListQuery } from "./command-list.ts";

/** Which command is asked for, and by whose caller. */
export interface CommandRead {
  readonly organizationId: string;
  readonly commandId: string;
}

/** A command whose message has arrived, as text and as what the look-up needs besides. */
export interface StoredCommand {
  readonly commandId: string;
  readonly organizationId: string;
  readonly fingerprint: string;
  /** The key of its generated passwords; null where it has none. */
  readonly derivationKeyId: string | null;
  /** It never changes again. */
  readonly isFinal: boolean;
  /** The command as the API shows it, as JSON text. */
  readonly json: string;
}

/** A command that is not final, with the credits that it still holds. */
export interface OpenCommand {
  readonly commandId: string;
  readonly organizationId: string;
  readonly reservedCredits: number;
}

/** The place in a log up to which a batch goes. */
export interface LogPosition {
  /** Name of the topic's contract. */
  readonly topic: string;
  readonly partition: number;
  /** Offset of the first record that the batch does not hold. */
  readonly nextOffset: bigint;
}

/** What a row is after a batch was taken in. */
export interface TakenIn {
  readonly commandId: string;
  readonly organizationId: string;
  readonly final: boolean;
  /** Whether the command's message has arrived, so that it can be read here. */
  readonly readable: boolean;
}

/** The commands that this service owns. */
export interface CommandStore {
  /** Takes messages in, one per command at most, and raises the positions, all or nothing. */
  takeInMessages(
    messages: readonly AnyCommandMessage[],
    positions: readonly LogPosition[],
  ): Promise<readonly TakenIn[]>;
  /** Takes events in, one per command at most, and raises the positions, all or nothing. */
  takeInEvents(events: readonly CommandEvent[], positions: readonly LogPosition[]): Promise<readonly TakenIn[]>;
  /**
   * One for each of `commandIds`, in order; null where it cannot be read (yet). What they hold
   * together is bounded: a command with a large result for which there is no room is `later`. The
   * first such one always has room, so whoever asks again for the rest comes to an end.
   */
  byIds(commandIds: readonly string[]): Promise<readonly (StoredCommand | "later" | null)[]>;
  /** The commands of the organizations that are not final. */
  openOf(organizationIds: readonly string[]): Promise<readonly OpenCommand[]>;
  /** How far each partition has been taken in. */
  positions(): Promise<readonly LogPosition[]>;
}

/**
 * How an attempt to drop a month ended: `open`: a command in it is not final; `used`: a statement
 * under way holds it.
 */
export type MonthDrop = "dropped" | "open" | "used";

/** The partitions of commands by month. A month is its first day (UTC), as YYYY-MM-DD. */
export interface MonthStore {
  /** Makes the partitions of the current month, by the database's clock, and of the next ones. */
  keep(): Promise<void>;
  /** Gives ids of the old table their rows; returns whether more are left. */
  fillIds(): Promise<boolean>;
  /**
   * The months that lie more than `kept` months before the current one, the oldest first. `isOpen`:
   * a command is not final.
   */
  past(kept: number): Promise<readonly { readonly month: string; readonly isOpen: boolean }[]>;
  /**
   * Keeps what is kept for good of a month, from this page on; returns the page to go on with, null
   * at the end.
   */
  keepOutcomes(month: string, firstPage: number): Promise<number | null>;
  /** Drops the details of a month. */
  drop(month: string): Promise<MonthDrop>;
}

/** A page of a server's commands. */
export interface CommandPage {
  /** How many there are in all. */
  readonly total: number;
  /** What the large results of the page have together, in bytes. */
  readonly largeBytes: number;
  /**
   * The commands as JSON texts, newest first (by `createdAt`, then id); a large result is read when
   * its turn comes.
   */
  readonly commands: AsyncIterable<string>;
}

/** Lists of the commands whose messages have arrived. */
export interface CommandLists {
  list(query: CommandListQuery): Promise<CommandPage>;
}

/** Which commands have ended, asked for many at once. */
export interface CommandEnds {
  /** The ids among `commandIds` that can be read and are final. */
  finalAmong(commandIds: readonly string[]): Promise<readonly string[]>;
}

/**
 * The idempotency records in Redis that stand in for a command until it can be read here
 * (decisions, 2.6 and 3.7).
 */
export interface IdempotencyRecords {
  /**
   * These are final and can be read here: the stored messages, with what was sealed in them, are
   * wiped; the records may expire. Where Redis does not answer, this is done later: the call never
   * rejects, and waits for no node for longer than a call may take.
   */
  forget(commands: readonly CommandRead[]): Promise<void>;
}

/** What has been published so far. */
export interface LogEnds {
  /** Of each partition that holds records: the offset after its last. */
  current(): Promise<readonly LogPosition[]>;
  /** The ids of the topics by the names of their contracts, without those that do not exist. */
  topicIds(): Promise<ReadonlyMap<string, string>>;
}

/** The topic that positions belong to: its contract's name, and the id that Kafka gave it. */
export interface StoredTopic {
  readonly topic: string;
  readonly topicId: string;
}

/** A topic of which this process takes partitions in. */
export interface AssignedTopic extends StoredTopic {
  readonly partitions: readonly number[];
}

/** The topics that the positions belong to. */
export interface KnownTopics {
  /**
   * Stores the ids beside the positions where none is stored; answers with those that are stored
   * then.
   */
  remember(assigned: readonly AssignedTopic[]): Promise<readonly StoredTopic[]>;
  stored(): Promise<readonly StoredTopic[]>;
}
