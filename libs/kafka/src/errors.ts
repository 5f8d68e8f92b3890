/**
 * Thrown by `onBatch` when the same batch may succeed a little later: nothing is committed, it is
 * handed over again.
 */
export class RetryableError extends Error {
  override readonly name = "RetryableError";
}

/**
 * Why a message was not acknowledged. `not-sent`: it is certainly not in the log. `unknown`: it may
 * be, or may yet appear; sending it again is safe only because every consumer drops repeats by id.
 */
export class ProduceError extends Error {
  override readonly name = "ProduceError";
  readonly outcome: "not-sent" | "unknown";

  constructor(outcome: "not-sent" | "unknown", message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.outcome = outcome;
  }
}

/**
 * The message is larger than its topic takes: it is not in the log, and sending it again will never
 * help.
 */
export class MessageTooLarge extends ProduceError {
  constructor(bytes: number, maxBytes: number) {
    super("not-sent", `a message of ${bytes} bytes is larger than ${maxBytes}`);
  }
}

/**
 * A position is beyond the end of its partition: the topic was deleted and made again, or has lost
 * records. Neither its beginning nor its end is where the reader was; going on would repeat or skip
 * records without a word.
 */
export class PositionBeyondEnd extends Error {
  override readonly name = "PositionBeyondEnd";

  constructor(topic: string, partition: number, position: bigint, end: bigint) {
    super(
      `position ${position} is beyond the end (${end}) of partition ${partition} of ${topic}: the topic was deleted and made ` +
        "again, or has lost records; see to it that nothing is missing, then remove the stored position",
    );
  }
}

/**
 * A topic was deleted and created again. Stored offsets belong to the deleted topic, even where the
 * new topic has records at them.
 */
export class TopicRecreated extends Error {
  override readonly name = "TopicRecreated";

  /** @param remedy what to do once it is certain that nothing is missing. */
  constructor(topic: string, storedId: string, topicId: string, remedy: string) {
    super(
      `topic ${topic} was deleted and made again (its id was ${storedId} and is ${topicId}): see to it that nothing is missing, ` +
        `then ${remedy} (docs/operate.md, "A topic was deleted")`,
    );
  }
}

/** What was thrown, as an Error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

const AWAY_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
]);

/**
 * Whether a broker could not be reached: it is worth waiting for, unlike one that refuses a
 * certificate or a password.
 */
export function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ("code" in error && AWAY_CODES.has(String(error.code))) return true;
  if (error.name === "KafkaJSRequestTimeoutError" || error.message === "Connection timeout") return true;
  return error.name === "KafkaJSConnectionClosedError" || isAway(error.cause);
}

/**
 * Whether kafkajs marks its error as retriable: a leader that changes, a topic that not every
 * broker has yet. Checks the field, because an ES module cannot import the error classes by name.
 */
export function mayPass(error: unknown): boolean {
  return error instanceof Error && "retriable" in error && error.retriable === true;
}
