/**
 * Headers of a record of `dead-letter`, as text: why a message could not be processed, and its
 * origin. The record has the message's key and value. The value is empty if it could hold a sealed
 * password, or if it is too large.
 */
export const DEAD_LETTER_HEADERS = {
  reason: "reason",
  topic: "topic",
  partition: "partition",
  offset: "offset",
  /** The consumer group that could not process the message. */
  group: "group",
} as const;
