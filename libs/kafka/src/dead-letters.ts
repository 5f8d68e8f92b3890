import { DEAD_LETTER_HEADERS } from "@kapi/contracts";
import { counter, type Started } from "@kapi/runtime";

import type { Batch, BatchOutcome, DeadLetter } from "./batch.ts";
import type { KafkaConnection } from "./connection.ts";
import { type FetchedRecord, fromWire, isReadable } from "./message.ts";
import { startProducer, type OutgoingMessage, type Producer } from "./producer.ts";

const MAX_REASON_LENGTH = 1_000;

const deadLetters = counter(
  "kafka.dead_letters",
  "Messages that became dead letters, by `group` (the consumer group, or the service that could not send the message) and `topic`",
  "{message}",
);

/**
 * Adds to the counter of dead letters. `messages` is a number of messages of `topic` that were
 * written to the topic `dead-letter`, because `group` could not process or send them.
 */
export function countDeadLetters(group: string, topic: string, messages: number): void {
  if (messages > 0) deadLetters.add(messages, { group, topic });
}

/** The dead letter of a message: its origin, the reason and its trace are headers. */
export function deadLetterMessage(batch: Batch, letter: DeadLetter, groupId: string): OutgoingMessage {
  const { message, reason, includeValue = false } = letter;
  return {
    key: message.key,
    value: includeValue ? message.value : "",
    traceparent: message.traceparent,
    headers: {
      [DEAD_LETTER_HEADERS.reason]: reason.slice(0, MAX_REASON_LENGTH),
      [DEAD_LETTER_HEADERS.topic]: batch.topic.name,
      [DEAD_LETTER_HEADERS.partition]: String(batch.partition),
      [DEAD_LETTER_HEADERS.offset]: message.offset.toString(),
      [DEAD_LETTER_HEADERS.group]: groupId,
    },
  };
}

/**
 * The dead letter of a record that stands for an unreadable batch of Kafka: the offsets of that
 * batch and the reason, without a value. Null for a readable record.
 */
export function unreadableLetter(record: FetchedRecord): DeadLetter | null {
  if (record.unreadable === undefined) return null;
  const { firstOffset, reason } = record.unreadable;
  return {
    message: fromWire(record),
    reason: `offsets ${firstOffset} to ${record.bigOffset} cannot be read: ${reason}`,
  };
}

/**
 * The handler does not get unreadable records. If a batch ends with such records, a `commitOffset`
 * after its last readable record becomes the offset after the whole batch.
 */
export function commitOffsetPastUnreadable(
  { messages }: Batch,
  records: readonly FetchedRecord[],
  { commitOffset }: BatchOutcome,
): Pick<BatchOutcome, "commitOffset"> {
  const [last, given] = [records.at(-1), messages.at(-1)];
  if (commitOffset === undefined || last === undefined || given === undefined || isReadable(last)) return {};
  const pastUnreadable = (offset: bigint): bigint => (offset > given.offset ? last.bigOffset + 1n : offset);
  return { commitOffset: () => pastUnreadable(typeof commitOffset === "function" ? commitOffset() : commitOffset) };
}

/** Starts a producer when the first dead letter is sent; most consumers never send one. */
export class LazyProducer {
  readonly #kafka: KafkaConnection;
  #started: Promise<Started<Producer>> | null = null;

  constructor(kafka: KafkaConnection) {
    this.#kafka = kafka;
  }

  /** Returns the producer, and starts it at the first call. Rejects if it cannot be started. */
  async get(): Promise<Producer> {
    this.#started ??= startProducer(this.#kafka);
    try {
      return (await this.#started).value;
    } catch (error) {
      this.#started = null;
      throw error;
    }
  }

  async stop(): Promise<void> {
    if (this.#started === null) return;
    await (await this.#started).stop();
  }
}
