/**
 * Headers of a record of `dead-letter`, text: why a message could not be processed and where it
 * came from. The key is the message's own; the value is the message's, or empty where it could hold
 * a sealed password.
 */
export const DEAD_LETTER_HEADERS = {
  reason: "reason",
  topic: "topic",
  partition: "partition",
  offset: "offset",
  /** The consumer group that could not process it. */
  group: "group",
} as const;
