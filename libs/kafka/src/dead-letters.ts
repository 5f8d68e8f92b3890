import { DEAD_LETTER_HEADERS } from "@kapi/contracts";
import type { Started } from "@kapi/runtime";

import type { Batch, DeadLetter } from "./batch.ts";
import type { KafkaConnection } from "./connection.ts";
import { createProducer, type OutgoingMessage, type Producer } from "./producer.ts";

const MAX_REASON_LENGTH = 1_000;

/** The record that tells about a message that could not be processed: its origin and the reason, in headers. */
export function deadLetterMessage(batch: Batch, letter: DeadLetter, groupId: string): OutgoingMessage {
  const { message, reason, includeValue = false } = letter;
  return {
    key: message.key,
    value: includeValue ? message.value : "",
    headers: {
      [DEAD_LETTER_HEADERS.reason]: reason.slice(0, MAX_REASON_LENGTH),
      [DEAD_LETTER_HEADERS.topic]: batch.topic.name,
      [DEAD_LETTER_HEADERS.partition]: String(batch.partition),
      [DEAD_LETTER_HEADERS.offset]: message.offset.toString(),
      [DEAD_LETTER_HEADERS.group]: groupId,
    },
  };
}

/** A producer that is started when it is first needed; most consumers never have a dead letter. */
export class LazyProducer {
  readonly #kafka: KafkaConnection;
  #started: Promise<Started<Producer>> | null = null;

  constructor(kafka: KafkaConnection) {
    this.#kafka = kafka;
  }

  async get(): Promise<Producer> {
    this.#started ??= createProducer(this.#kafka);
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
