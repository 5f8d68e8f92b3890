/**
 * Publishing of committed messages. What: the process that committed publishes at once, and deletes the rows in bulk a
 * little later; a poller publishes what a dead process, or a Kafka that was away, left behind. Why: a message is
 * published at least once after its commit, and never without it. Invariant: a row holds the messages of one unit, and is
 * deleted only after Kafka has acknowledged every one of them. A message that is larger than its topic takes can never be
 * published: it is told of in the dead letters, and counts as acknowledged then.
 */
import { DEAD_LETTER_HEADERS, MAX_COMMAND_EVENT_BYTES, TOPICS } from "@kapi/contracts";
import { countDeadLetters, MessageTooLarge, type Producer } from "@kapi/kafka";
import { repeat, type StartedRepetition } from "@kapi/kernel";
import type { Database } from "@kapi/postgres";
import { faultPoint, type Logger } from "@kapi/runtime";

import { column } from "./columns.ts";
import {
  OUTBOX_DELETE_BATCH,
  OUTBOX_DELETE_INTERVAL_MS,
  OUTBOX_LEFTOVER_AGE_MS,
  OUTBOX_POLL_BATCH,
  OUTBOX_POLL_INTERVAL_MS,
  OUTBOX_POLL_MAX_BYTES,
} from "./limits.ts";
import { fromLines } from "./outbox-lines.ts";
import { DELETE_OUTBOX, LEFTOVERS } from "./statements.ts";
import type { OutboxMessage } from "./work.ts";

export interface OutboxOptions {
  readonly worker: string;
  readonly database: Database;
  readonly producer: Producer;
  readonly logger: Logger;
}

export class Outbox {
  readonly #options: OutboxOptions;
  /** Rows that this process is publishing, or has published and not yet deleted; the poller leaves them alone. */
  readonly #mine = new Set<number>();
  readonly #deletable: number[] = [];
  readonly #publishing = new Set<Promise<void>>();
  #deleteTimer: NodeJS.Timeout | null = null;
  readonly #polling: StartedRepetition;
  #stopped = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#polling = repeat({
      name: "leftovers of the outbox",
      round: () => this.#publishLeftovers(),
      pauseMs: OUTBOX_POLL_INTERVAL_MS,
      firstPauseMs: OUTBOX_POLL_INTERVAL_MS,
      // Callers wait for the messages.
      backOff: { firstMs: OUTBOX_POLL_INTERVAL_MS },
      logger: options.logger,
    });
  }

  /** Publishes the messages of one committed unit, whose row is `id`. Failures are left to the poller. */
  publish(id: number, messages: readonly OutboxMessage[], endsCommands: boolean): void {
    this.#mine.add(id);
    const work = this.#publishUnit(id, messages, endsCommands).finally(() => this.#publishing.delete(work));
    this.#publishing.add(work);
  }

  /** Ends publishing and deletes what was published; what is left over stays for the next process. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#polling.stop();
    await Promise.all(this.#publishing);
    if (this.#deleteTimer !== null) clearTimeout(this.#deleteTimer);
    while (this.#deletable.length > 0) {
      if (!(await this.#deleteSome())) return;
    }
  }

  async #publishUnit(id: number, messages: readonly OutboxMessage[], endsCommands: boolean): Promise<void> {
    const { worker } = this.#options;
    if (!(await this.#sendAll(messages))) {
      this.#mine.delete(id);
      return;
    }
    if (endsCommands) faultPoint(`${worker}.after-publish`);
    this.#deletable.push(id);
    this.#deleteTimer ??= setTimeout(() => void this.#deleteLater(), OUTBOX_DELETE_INTERVAL_MS);
  }

  /** Whether every message of a unit is where it belongs now. */
  async #sendAll(messages: readonly OutboxMessage[]): Promise<boolean> {
    const sent = await Promise.allSettled(messages.map((message) => this.#send(message)));
    const failure = sent.find((result) => result.status === "rejected");
    if (failure === undefined) return true;
    const { logger } = this.#options;
    logger.warn({ err: failure.reason, messages: messages.length }, "messages stay in the outbox for now");
    return false;
  }

  async #send(message: OutboxMessage): Promise<void> {
    const { topic, key, value, traceparent } = message;
    try {
      await this.#options.producer.send(topic, { key, value, traceparent });
    } catch (error) {
      if (!(error instanceof MessageTooLarge)) throw error;
      await this.#bury(message, error);
    }
  }

  /** To the dead letters, with the value where they take it: else the message would be tried for ever. */
  async #bury({ topic, key, value, traceparent }: OutboxMessage, error: MessageTooLarge): Promise<void> {
    const { producer, worker, logger } = this.#options;
    logger.error(
      { err: error, topic: topic.name, key },
      "a message can never be published and goes to the dead letters",
    );
    await producer.send(TOPICS.deadLetter, {
      key,
      value: Buffer.byteLength(value) <= MAX_COMMAND_EVENT_BYTES ? value : "",
      headers: {
        [DEAD_LETTER_HEADERS.reason]: error.message,
        [DEAD_LETTER_HEADERS.topic]: topic.name,
        [DEAD_LETTER_HEADERS.group]: worker,
      },
      traceparent,
    });
    countDeadLetters(worker, topic.name, 1);
  }

  async #deleteLater(): Promise<void> {
    const ok = await this.#deleteSome();
    this.#deleteTimer = null;
    if (this.#deletable.length === 0 || this.#stopped) return;
    const delayMs = ok ? OUTBOX_DELETE_INTERVAL_MS : OUTBOX_POLL_INTERVAL_MS;
    this.#deleteTimer = setTimeout(() => void this.#deleteLater(), delayMs);
  }

  /** Deletes one batch of published rows; false where the database did not let it. */
  async #deleteSome(): Promise<boolean> {
    const ids = this.#deletable.splice(0, OUTBOX_DELETE_BATCH);
    try {
      await this.#options.database.query(DELETE_OUTBOX, [column(ids)]);
      for (const id of ids) this.#mine.delete(id);
      return true;
    } catch (error) {
      this.#options.logger.warn({ err: error, rows: ids.length }, "published rows could not be deleted yet");
      this.#deletable.push(...ids);
      return false;
    }
  }

  /**
   * One batch, each unit by itself, so that one that stays does not make the others repeat; the row locks keep two pollers from
   * doing it twice. True where there may be more.
   */
  #publishLeftovers(): Promise<boolean> {
    const { database, logger } = this.#options;
    return database.transaction(async (transaction) => {
      const values = [OUTBOX_LEFTOVER_AGE_MS, OUTBOX_POLL_BATCH, OUTBOX_POLL_MAX_BYTES];
      const rows = (await transaction.query(LEFTOVERS, values)).filter(({ id }) => !this.#mine.has(id));
      const sent = await Promise.all(rows.map(({ messages }) => this.#sendAll(fromLines(messages))));
      const published = rows.filter((_row, index) => sent[index] === true).map(({ id }) => id);
      if (published.length === 0) return false;
      await transaction.query(DELETE_OUTBOX, [column(published)]);
      logger.info({ units: published.length }, "published leftovers of the outbox");
      return published.length === rows.length;
    });
  }
}
