/** The limits of the command worker. */

/** Maximum number of messages of one partition in one insert into the inbox. */
export const MAX_INBOX_BATCH = 1_000;
/** Maximum number of partitions whose batches share one insert into the inbox. */
export const MAX_PARTITIONS_PER_INSERT = 4;
/** Maximum number of commands in one executor call; the limit of the trading-server contract. */
export const MAX_BATCH_COMMANDS = 200;
/**
 * Maximum number of concurrent batches for one server. Batches that expire parked commands do not
 * count. A higher number only makes the batches smaller.
 */
export const MAX_BATCHES_PER_SERVER = 2;
/**
 * While at most this many commands of a server are running, a second batch starts at once: a quiet
 * server needs no batching.
 */
export const FEW_COMMANDS = 8;
/**
 * While more than {@link FEW_COMMANDS} commands are running, a second batch starts when commands of
 * this many accounts wait. If the maximum number of commands in a batch is lower, commands of that
 * many accounts are enough. Larger batches are cheaper. Measured with 64 deposits in flight:
 * batches were twice as large as with an immediate second batch, all processes together used a
 * sixth less processor time for each deposit, and deposits became final no later.
 */
export const MIN_SECOND_BATCH_COMMANDS = 100;
/**
 * A second batch also starts when the oldest running batch has lasted this long, so that one slow
 * batch does not delay the next batch.
 */
export const SLOW_BATCH_MS = 250;
/**
 * Minimum time between two fetches under load, so that more commands share an insert and a batch.
 */
export const BUSY_INTERVAL_MS = 10;
/** Maximum number of commands of one partition and server in memory; the rest wait in the inbox. */
export const MAX_LOADED_PER_SERVER = 4_000;
/** If a partition has this many commands in memory, each server may load only up to its minimum. */
export const MAX_LOADED_PER_PARTITION = 20_000;
/** The minimum: each server may always load this many, so that a busy server blocks no other. */
export const MIN_LOADED_PER_SERVER = 100;

/** Maximum number of inbox rows in one statement that moves commands to other partitions. */
export const MAX_MOVED_ROWS = 1_000;

/** How long a lease lasts without renewal (decisions, 3.2). */
export const LEASE_MS = 30_000;
/** How often the leases are renewed. */
export const LEASE_RENEWAL_MS = 10_000;
/**
 * Pause before a process tries again to acquire a lost or unavailable lease, or to read the inbox
 * after an error.
 */
export const REOPEN_DELAY_MS = 1_000;

/** A command whose attempt lasts longer gets the state `leased`. */
export const LEASED_EVENT_AFTER_MS = 250;
/** A command with the outcome `pending` is retried if it is not final within this time. */
export const PENDING_TIMEOUT_MS = 5_000;
/** How often the rows of pending commands are polled: another process may make them final. */
export const FINAL_STATE_POLL_INTERVAL_MS = 50;
/**
 * After this many attempts with an unexpected error, the command is settled. If its change was not
 * applied, the command fails with INTERNAL.
 */
export const MAX_UNEXPECTED_ERRORS = 3;
/** How often the parked commands behind an open breaker are checked for their deadline. */
export const EXPIRY_SWEEP_MS = 1_000;

/**
 * Pauses before the retries of a transaction after a transient error. The first retry is immediate,
 * for a conflict with another transaction; the later ones give a database time to start.
 */
export const TRANSACTION_PAUSES_MS: readonly number[] = [0, 50, 250];

/** How long a stopping worker waits for running batches. */
export const DRAIN_DEADLINE_MS = 10_000;
