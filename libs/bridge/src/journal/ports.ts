/** Ports of the journal, the stored state and the publishers. */

/** A journal row: an event, or the outcome of a change that made no event. */
export interface JournalRow {
  /** Ascending over all accounts. The primary key. */
  readonly position: number;
  readonly serverId: string;
  readonly accountNumber: string | null;
  /** Null: no event. */
  readonly sequence: number | null;
  readonly reference: string | null;
  /** The event as JSON text, exactly as answered and published. */
  readonly event: string | null;
  /** The outcome as JSON text, if there is no event. */
  readonly outcome: string | null;
  /** Span of the change, if traced. Not stored. */
  readonly traceparent?: string | undefined;
}

/** The stored state of an account. Only the platform reads the text `state`. */
export interface StoredAccount {
  readonly serverId: string;
  readonly accountNumber: string;
  /** `state` has all journal rows up to this position. */
  readonly position: number;
  readonly state: string;
}

/** The stored state of a trading server. Only the platform reads the text `state`. */
export interface StoredServer {
  readonly serverId: string;
  readonly state: string;
}

/**
 * The content of one transaction: new rows, and the states that are stored with them. Each list may
 * be empty.
 */
export interface CommitBatch {
  /** In order of position, after all rows of earlier batches. */
  readonly rows: readonly JournalRow[];
  readonly accounts: readonly StoredAccount[];
  readonly servers: readonly StoredServer[];
}

/**
 * Journal positions that shorten a restart. The new process applies only events after `checkpoint`
 * to the accounts, and publishes only events after `published`.
 */
export interface Progress {
  /** Stored accounts have all journal rows up to this position. */
  readonly checkpoint: number;
  /** `trading.events` has all events up to this position. */
  readonly published: number;
}

/** A committed event, as a record for `trading.events`. */
export interface PublishableEvent {
  /** Its position in the journal. */
  readonly position: number;
  /** Record key: `<serverId>/<accountNumber>`. */
  readonly key: string;
  /** JSON text. */
  readonly value: string;
  /** Span of the change, if traced; unknown for events read from the journal. */
  readonly traceparent?: string | undefined;
}

/**
 * All stored events, and the outcomes of changes without an event, kept for good. Only the process
 * that last called {@link StoredState.claim} can write.
 */
export interface Journal {
  /**
   * Stores the batch atomically and durably. Rejects after another process has claimed the journal.
   */
  write(batch: CommitBatch): Promise<void>;
  /** Known outcomes (JSON text) by reference. */
  outcomesOf(serverId: string, references: readonly string[]): Promise<Map<string, string>>;
  /** At most `limit` events (JSON text) of an account after the sequence `since`, in order. */
  history(serverId: string, accountNumber: string, since: number, limit: number): Promise<string[]>;
  /** At most `limit` events after a position, in order. */
  eventsAfter(position: number, limit: number): Promise<PublishableEvent[]>;
  /** Rejects after another process has claimed the journal. */
  saveProgress(progress: Progress): Promise<void>;
}

/**
 * Publishes committed events in order per account, and valuations. A valuation that is sent again
 * can follow a newer one. Returns without waiting.
 */
export interface Publisher {
  events(events: readonly PublishableEvent[]): void;
  valuations(valuations: readonly OutgoingValuation[]): void;
}

/** A valuation as a record for `trading.valuations`: the key of its account, and JSON text. */
export interface OutgoingValuation {
  readonly key: string;
  readonly value: string;
}

/** An event after the checkpoint, read by a restart. */
export interface JournalTail {
  readonly position: number;
  readonly serverId: string;
  readonly accountNumber: string;
  /** JSON text. */
  readonly event: string;
}

/** State that the previous process stored. */
export interface StoredState {
  /**
   * Makes this process the only writer, and returns its writer number, for `createJournal`. Waits
   * for running writes of earlier processes, which may wait for a standby. Later writes of these
   * processes are rejected. Call it before the state is read.
   */
  claim(): Promise<number>;
  progress(): Promise<Progress>;
  /** Position of the last journal row; 0 if the journal is empty. */
  lastPosition(): Promise<number>;
  servers(): Promise<StoredServer[]>;
  accounts(): AsyncIterable<StoredAccount[]>;
  eventsAfter(position: number): AsyncIterable<JournalTail[]>;
  accountsWithEventsAfter(position: number): Promise<{ serverId: string; accountNumber: string }[]>;
}
