/** Limits of the outbox. */

/** Published rows are deleted in bulk after this time. */
export const DELETE_INTERVAL_MS = 100;
/** Maximum number of rows in one delete. */
export const DELETE_BATCH = 5_000;
/** The poller publishes rows older than this: their process died, or Kafka did not accept them. */
export const LEFTOVER_AGE_MS = 5_000;
export const POLL_INTERVAL_MS = 1_000;
/** Maximum number of leftover rows per round of the poller. */
export const POLL_BATCH = 20;
/** Maximum size of all rows of a round together. A single larger row is published alone. */
export const POLL_MAX_BYTES = 16 * 1024 * 1024;
/**
 * While a round waits for Kafka, its transaction runs a statement this often. PostgreSQL ends a
 * session that is idle in a transaction for 8 s, and a producer waits 10 s.
 */
export const KEEP_ALIVE_INTERVAL_MS = 2_000;
