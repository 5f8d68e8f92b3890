import type { CommandEvent, AnyCommandMessage, Pagination } from "@kapi/contracts";

import type { CommandListQuery } from "./command-list.ts";

/**
 * A command id with an organization. In a read, `organizationId` is the organization of the caller.
 * In {@link IdempotencyRecords.forget}, it is the organization of the command.
 */
export interface CommandRead {
  readonly organizationId: string;
  readonly commandId: string;
}

/** A command whose message has arrived: its JSON text, and the fields that a look-up returns. */
export interface StoredCommand {
  readonly commandId: string;
  readonly organizationId: string;
  readonly fingerprint: string;
  /** Id of the derivation key; null for a command without a generated password. */
  readonly derivationKeyId: string | null;
  /** Whether the command never changes again. */
  readonly isFinal: boolean;
  /** The command as the API shows it, as JSON text. */
  readonly json: string;
}

/** A command that is not final, with the credits that are reserved for it. */
export interface OpenCommand {
  readonly commandId: string;
  readonly organizationId: string;
  readonly reservedCredits: number;
}

/** An offset in a partition: the position of this service, or the end offset. */
export interface LogPosition {
  /** Name of the topic in `TOPICS`, without the prefix of the installation. */
  readonly topic: string;
  readonly partition: number;
  /** Offset of the first record that is not ingested, or of the next record to be published. */
  readonly nextOffset: bigint;
}

/** The state of a row after its batch was ingested. */
export interface IngestedCommand {
  readonly commandId: string;
  readonly organizationId: string;
  readonly final: boolean;
  /** Whether the command's message has arrived, so that the command can be read. */
  readonly readable: boolean;
}

/** The stored commands. */
export interface CommandRepository {
  /** Stores messages, at most one per command, and raises the positions, in one statement. */
  ingestMessages(
    messages: readonly AnyCommandMessage[],
    positions: readonly LogPosition[],
  ): Promise<readonly IngestedCommand[]>;
  /** Stores events, at most one per command, and raises the positions, in one statement. */
  ingestEvents(events: readonly CommandEvent[], positions: readonly LogPosition[]): Promise<readonly IngestedCommand[]>;
  /**
   * Returns one entry per id, in order; null for a command that cannot be read (yet). The total
   * size of large results is limited: `later` replaces each command whose large result is over the
   * limit. The first large result always fits, so a caller that requests the rest makes progress.
   */
  byIds(commandIds: readonly string[]): Promise<readonly (StoredCommand | "later" | null)[]>;
  /** The commands of `organizationIds` that are not final. */
  openOf(organizationIds: readonly string[]): Promise<readonly OpenCommand[]>;
  /** How far each partition is ingested. */
  positions(): Promise<readonly LogPosition[]>;
}

/**
 * The outcome of an attempt to drop a month. `open`: a command in it is not final. `used`: a
 * running statement locks it.
 */
export type MonthDrop = "dropped" | "open" | "used";

/** The partitions of commands by month. A month is its first day (UTC), as YYYY-MM-DD. */
export interface MonthRepository {
  /** Creates the partitions of the current month (by the database's clock) and of later months. */
  createPartitions(): Promise<void>;
  /**
   * Copies some ids of the table `commands` of release 0.1.0 into `command_ids`. Returns whether
   * more can be copied now.
   */
  backfillIds(): Promise<boolean>;
  /**
   * The months more than `kept` months before the current one, oldest first. The table of release
   * 0.1.0 is included if its ids are backfilled and `command_placement.monthly_from` is more than
   * `kept` months before the current month. `isOpen`: a command in the month is not final.
   */
  findExpired(kept: number): Promise<readonly { readonly month: string; readonly isOpen: boolean }[]>;
  /**
   * Copies the outcomes, which are kept after the month is dropped, from some pages of the month's
   * table into `command_ids`, beginning with page `firstPage`. Returns the page to continue with;
   * null at the end.
   */
  archiveOutcomes(month: string, firstPage: number): Promise<number | null>;
  /** Drops the details and the counts of a month. */
  drop(month: string): Promise<MonthDrop>;
}

/** More than `PREFIX_MATCHES` keys of the server begin with `idempotencyKeyPrefix`. */
export class TooManyMatches extends Error {
  override readonly name = "TooManyMatches";
}

/** A page of a server's commands. */
export interface CommandPage {
  readonly pagination: Pagination;
  /** Total size of the page's large results, in bytes. */
  readonly largeBytes: number;
  /**
   * The commands as JSON texts, newest first (by `createdAt`, then id). A large result is read only
   * when its command is iterated.
   */
  readonly commands: AsyncIterable<string>;
}

/** Lists of the commands whose messages have arrived. */
export interface CommandLists {
  /**
   * The page that `query` asks for, and the total number of matches.
   * @throws TooManyMatches
   */
  list(query: CommandListQuery): Promise<CommandPage>;
}

/** Finds the commands that are final. */
export interface FinalCommandRepository {
  /** The ids among `commandIds` that can be read and are final. */
  findFinal(commandIds: readonly string[]): Promise<readonly string[]>;
}

/**
 * The idempotency records in Redis. The gateway answers from them until this service can read a
 * command (decisions, 2.6 and 3.7).
 */
export interface IdempotencyRecords {
  /**
   * Deletes the stored messages of `commands`, with the passwords sealed in them, and lets the
   * records expire. All commands must be final and readable. Never rejects: commands whose
   * Redis node does not answer are queued, up to a maximum, and retried.
   */
  forget(commands: readonly CommandRead[]): Promise<void>;
}

/** The end offsets of the topics. */
export interface LogEndOffsets {
  /** The offset after the last record, for each partition with records. */
  current(): Promise<readonly LogPosition[]>;
  /** The id in Kafka of each existing topic, by the topic's name in `TOPICS`. */
  topicIds(): Promise<ReadonlyMap<string, string>>;
}

/** A topic that positions belong to: its name in `TOPICS`, and its id in Kafka. */
export interface StoredTopicId {
  readonly topic: string;
  readonly topicId: string;
}

/** A topic with the partitions that are assigned to this process. */
export interface AssignedTopic extends StoredTopicId {
  readonly partitions: readonly number[];
}

/** The topic ids that are stored with the positions. */
export interface TopicIdRepository {
  /**
   * Stores the topic id with each assigned partition that has none; returns the ids that are stored
   * afterwards.
   */
  storeIfMissing(assigned: readonly AssignedTopic[]): Promise<readonly StoredTopicId[]>;
  /** The stored topic ids of all partitions. */
  findAll(): Promise<readonly StoredTopicId[]>;
}

/** The commands of one server that have no final state. */
export interface WaitingCommands {
  readonly serverId: string;
  readonly waiting: number;
  /** Earliest `createdAt` of the commands whose message has arrived; null if none has arrived. */
  readonly oldestCreatedAt: string | null;
}
