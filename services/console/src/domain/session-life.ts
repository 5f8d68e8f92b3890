/** A console session nobody used for so long ends. */
export const SESSION_IDLE_MS = 12 * 3_600_000;
/** No session lives longer, however much it is used. */
export const SESSION_ABSOLUTE_MS = 7 * 24 * 3_600_000;

/** How long sessions live. */
export const SESSION_LIFE = { idleMs: SESSION_IDLE_MS, absoluteMs: SESSION_ABSOLUTE_MS };
