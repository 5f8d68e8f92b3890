/** Every limit of the machinery, with its unit and reason. */

/** Most messages of one partition in one insert into the inbox. */
export const MAX_INBOX_BATCH = 1_000;
/** Partitions whose batches share one insert into the inbox. */
export const MAX_PARTITIONS_TOGETHER = 4;
/** Most commands in one call of an executor; the trading-server contract takes no more. */
export const MAX_BATCH_COMMANDS = 200;
/** Batches under way at once for one server. More only makes the batches smaller. */
export const MAX_BATCHES_PER_SERVER = 2;
/**
 * A second batch beside one under way starts at once where no more commands than this are under
 * way: nobody waits for another while there are few.
 */
export const FEW_COMMANDS = 8;
/**
 * Else it starts when this many wait. What comes before shares the next batch: at 64 deposits in
 * flight a deposit costs all processes together a sixth less than in batches half as large, and
 * ends no later.
 */
export const WORTH_A_BATCH_COMMANDS = 100;
/**
 * Or when the oldest under way has lasted this long: a server that is slow to answer one batch
 * holds up no other.
 */
export const SLOW_BATCH_MS = 250;
/**
 * Least time between two fetches while commands come in numbers: what comes meanwhile shares an
 * insert and a batch.
 */
export const BUSY_INTERVAL_MS = 10;
/** Commands of one partition and server kept in memory; the others wait in the inbox. */
export const MAX_LOADED_PER_LANE = 4_000;
/** Commands of one partition kept in memory, before every lane has its minimum. */
export const MAX_LOADED_PER_PARTITION = 20_000;
/** What a lane may always hold, so that one server's flood stops no other server. */
export const MIN_LOADED_PER_LANE = 100;

/** How long a fence holds without renewal (decisions, 3.2). */
export const LEASE_MS = 30_000;
export const LEASE_RENEWAL_MS = 10_000;
/** Pause before a lost or unobtainable lease is taken again. */
export const REOPEN_DELAY_MS = 1_000;

/** An attempt that lasts longer is shown as `leased`. */
export const LEASED_EVENT_AFTER_MS = 250;
/** A command that applied is asked for again when its fact has not come by then. */
export const PENDING_TIMEOUT_MS = 5_000;
/**
 * How often the rows of such commands are looked at meanwhile: another process may have booked the
 * fact.
 */
export const END_WATCH_INTERVAL_MS = 50;
/**
 * Attempts that ended in an error nobody expected, before the command is settled and fails
 * INTERNAL.
 */
export const MAX_BROKEN_ATTEMPTS = 3;
/** How often the heads behind an open breaker are looked at for their deadline. */
export const EXPIRY_SWEEP_MS = 1_000;

/**
 * Pauses before the tries of one transaction after the first, where the database says that only the
 * moment was bad: at once for what another transaction was faster with, and then long enough for a
 * database that is starting.
 */
export const TRANSACTION_PAUSES_MS: readonly number[] = [0, 50, 250];

/** How long a stopping worker waits for the batches under way. */
export const DRAIN_DEADLINE_MS = 10_000;
