/** Every limit of the outbox, with its unit and reason. */

/** Published rows are deleted together after this time. */
export const DELETE_INTERVAL_MS = 100;
/** Maximum number of rows in one delete. */
export const DELETE_BATCH = 5_000;
/** A row this old was left by a process that died, or could not be published. */
export const LEFTOVER_AGE_MS = 5_000;
export const POLL_INTERVAL_MS = 1_000;
/** Rows of leftovers published together, and their bytes together; a row that has more is published alone. */
export const POLL_BATCH = 20;
export const POLL_MAX_BYTES = 16 * 1024 * 1024;
