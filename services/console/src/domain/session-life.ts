/** A session ends after this time without a request. */
export const SESSION_IDLE_MS = 12 * 3_600_000;
/** A session ends at this age, even if it is in use. */
export const SESSION_ABSOLUTE_MS = 7 * 24 * 3_600_000;

/** Both limits of a session, in milliseconds. */
export const SESSION_LIFE = { idleMs: SESSION_IDLE_MS, absoluteMs: SESSION_ABSOLUTE_MS };
