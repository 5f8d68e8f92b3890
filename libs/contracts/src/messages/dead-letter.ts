/**
 * Headers of a record of `dead-letter`, as text: why a message could not be processed or published,
 * and its origin. The record has the message's key and value. The value is empty if it could hold a
 * sealed password, cannot be read, is too large, or is no longer known.
 */
export const DEAD_LETTER_HEADERS = {
  reason: "reason",
  topic: "topic",
  /** Like `offset`, absent for a message that could not be published. */
  partition: "partition",
  offset: "offset",
  /**
   * The consumer group that could not process the message, or the service that could not publish
   * the message.
   */
  group: "group",
} as const;
