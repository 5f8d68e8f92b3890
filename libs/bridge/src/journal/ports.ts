/** What the journal is made of, and what the rest of a bridge needs of its store. */

/**
 * One entry of the journal: an event of an account, or the outcome of a reference that made none.
 */
export interface JournalRow {
  /**
   * Global, rising; also what fences off a second process: two writers meet at the same position.
   */
  readonly position: number;
  readonly serverId: string;
  readonly accountNumber: string | null;
  /** Of an event. */
  readonly sequence: number | null;
  readonly reference: string | null;
  /** The event as JSON text, exactly as it is answered and published. */
  readonly event: string | null;
  /** The outcome as JSON text, where there is no event. */
  readonly outcome: string | null;
  /** The span of the change that made the event, if it belongs to a trace. Not stored. */
  readonly traceparent?: string | undefined;
}

/** An account or server as the platform's side keeps it: the bridge never looks into `state`. */
export interface StoredAccount {
  readonly serverId: string;
  readonly accountNumber: string;
  /** Every journal row up to this position is in `state`. */
  readonly position: number;
  readonly state: string;
}
export interface StoredServer {
  readonly serverId: string;
  readonly state: string;
}

/** What one transaction stores. */
export interface CommitBatch {
  readonly rows: readonly JournalRow[];
  readonly accounts: readonly StoredAccount[];
  readonly servers: readonly StoredServer[];
}

/** How far the stored accounts and the publishing are. */
export interface Progress {
  /** Every journal row up to here is in the stored accounts. */
  readonly checkpoint: number;
  /** Every event up to here is on `trading.events`. */
  readonly published: number;
}

/** An event that is to be published. */
export interface PublishableEvent {
  readonly position: number;
  /** Record key. */
  readonly key: string;
  /** JSON text. */
  readonly value: string;
  /**
   * The span of the change that made it, if it belongs to a trace; not known of what the journal is
   * asked for.
   */
  readonly traceparent?: string | undefined;
}

export interface Journal {
  /**
   * Stores all of the batch or nothing; resolves when it is durable. Rejects where another process
   * writes too.
   */
  write(batch: CommitBatch): Promise<void>;
  /** Outcomes (JSON text) of those of `references` that have one, by reference. */
  outcomesOf(serverId: string, references: readonly string[]): Promise<Map<string, string>>;
  /** Events (JSON text) of an account with a sequence above `since`, in order, at most `limit`. */
  history(serverId: string, accountNumber: string, since: number, limit: number): Promise<string[]>;
  /** Events after a position, in order, at most `limit`. */
  eventsAfter(position: number, limit: number): Promise<PublishableEvent[]>;
  saveProgress(progress: Progress): Promise<void>;
}

/** Takes what was committed to the topics, in order per account. Neither call waits. */
export interface Publisher {
  events(events: readonly PublishableEvent[]): void;
  valuations(valuations: readonly OutgoingValuation[]): void;
}

export interface OutgoingValuation {
  readonly key: string;
  readonly value: string;
}

/** An event in the journal, as a restart reads it. */
export interface JournalTail {
  readonly position: number;
  readonly serverId: string;
  readonly accountNumber: string;
  /** JSON text. */
  readonly event: string;
}

/** What the last process left. */
export interface StoredState {
  /** Resolves once the last process writes no more: its statement may still wait for a standby. */
  settled(): Promise<void>;
  progress(): Promise<Progress>;
  /** Position of the last journal row; 0 where there is none. */
  lastPosition(): Promise<number>;
  servers(): Promise<StoredServer[]>;
  accounts(): AsyncIterable<StoredAccount[]>;
  eventsAfter(position: number): AsyncIterable<JournalTail[]>;
  accountsWithEventsAfter(position: number): Promise<{ serverId: string; accountNumber: string }[]>;
}
