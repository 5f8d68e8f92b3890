import { isNetworkError } from "@kapi/kernel";

/**
 * Thrown by `onBatch` if the same batch may succeed later: nothing is committed, and `onBatch` gets
 * the batch again.
 */
export class RetryableError extends Error {
  override readonly name = "RetryableError";
}

/**
 * Runs `work`, and returns its result.
 * @throws RetryableError with the message `what` and the error of `work` as its cause.
 */
export async function retryable<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new RetryableError(what, { cause: error });
  }
}

/**
 * Why a message was not acknowledged. `not-sent`: the message is certainly not in the log.
 * `unknown`: the message may be in the log, or appear there later. It may be sent again only
 * because every consumer drops duplicates.
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
 * The message is larger than `maxBatchBytes` of the producer, and larger than `maxMessageBytes` of
 * its topic. The message is not in the log, and a retry always fails.
 */
export class MessageTooLarge extends ProduceError {
  constructor(bytes: number, maxBytes: number) {
    super("not-sent", `a message of ${bytes} bytes is larger than ${maxBytes}`);
  }
}

/**
 * A position is beyond the end of its partition: the topic was deleted and created again, or has
 * lost records. The reader cannot continue at the beginning or the end: it would repeat or skip
 * records unnoticed.
 */
export class PositionBeyondEnd extends Error {
  override readonly name = "PositionBeyondEnd";

  constructor(topic: string, partition: number, position: bigint, end: bigint) {
    super(
      `position ${position} is beyond the end (${end}) of partition ${partition} of ${topic}: the topic was deleted and ` +
        "created again, or has lost records; check that no record is missing, then remove the stored position",
    );
  }
}

/**
 * A topic was deleted and created again. Stored offsets belong to the deleted topic, even if the
 * new topic has records at these offsets.
 */
export class TopicRecreated extends Error {
  override readonly name = "TopicRecreated";

  /** @param remedy how to make the consumer read the new topic, in the imperative. */
  constructor(topic: string, storedId: string, topicId: string, remedy: string) {
    super(
      `topic ${topic} was deleted and created again (its id was ${storedId} and is ${topicId}), so unread messages are lost: ` +
        `${remedy}, then check the ledger (docs/operate.md, "A topic was deleted")`,
    );
  }
}

/** Converts a thrown value to an Error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/**
 * Whether a broker could not be reached. The start of a client waits for such a broker, but not
 * after a rejected certificate or password.
 */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (isNetworkError(error)) return true;
  if (error.name === "KafkaJSRequestTimeoutError" || error.message === "Connection timeout") return true;
  return error.name === "KafkaJSConnectionClosedError" || isUnreachable(error.cause);
}

/**
 * Whether kafkajs marks its error as retriable, for example while a leader changes, or before every
 * broker knows a new topic. Checks the field, because an ES module cannot import the error classes
 * by name.
 */
export function isRetriable(error: unknown): boolean {
  return error instanceof Error && "retriable" in error && error.retriable === true;
}
