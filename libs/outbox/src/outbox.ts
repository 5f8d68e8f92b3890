/**
 * Publishes committed messages. The process that committed publishes at once, and deletes the rows
 * in bulk a little later. A poller publishes leftovers: rows of a process that died, or that Kafka
 * did not accept. So a message is published at least once after its commit, and never without the
 * commit.
 *
 * Invariant: a row is deleted only after Kafka has acknowledged its messages. A message above the
 * size limit of its topic can never be published. It goes to the dead letters and then counts as
 * acknowledged.
 */
import { DEAD_LETTER_HEADERS, MAX_COMMAND_EVENT_BYTES, TOPICS } from "@kapi/contracts";
import { countDeadLetters, MessageTooLarge, type Producer } from "@kapi/kafka";
import { repeat, type StartedRepetition } from "@kapi/kernel";
import type { Database, Transaction } from "@kapi/postgres";
import { counter, type Logger, type Started } from "@kapi/runtime";

import {
  DELETE_BATCH,
  DELETE_INTERVAL_MS,
  KEEP_ALIVE_INTERVAL_MS,
  LEFTOVER_AGE_MS,
  POLL_BATCH,
  POLL_INTERVAL_MS,
  POLL_MAX_BYTES,
} from "./limits.ts";
import { fromLines } from "./lines.ts";
import type { OutboxMessage } from "./message.ts";
import { DELETE_ROWS, KEEP_ALIVE, type OutboxRows } from "./rows.ts";

const unreadableRows = counter(
  "outbox.rows.unreadable",
  "Rows of the outbox that a process could not read and left in the table, by `service`; the log has each with its id",
  "{row}",
);

/** Options of {@link startOutbox}. */
export interface OutboxOptions {
  /** Name of the service, for the dead letters. */
  readonly service: string;
  /** The schema of the service, with its table `outbox`. */
  readonly database: Database;
  /** The row format of the table: `ROW_PER_TRANSACTION` or `ROW_PER_MESSAGE`. */
  readonly rows: OutboxRows;
  readonly producer: Pick<Producer, "send">;
  readonly logger: Logger;
}

/**
 * Starts the poller. `stop` waits for running sends and deletes published rows; leftovers stay for
 * the next process.
 */
export function startOutbox(options: OutboxOptions): Started<Outbox> {
  const outbox = new Outbox(options);
  return { value: outbox, stop: () => outbox.stop() };
}

/**
 * Publishes the rows of one table `outbox`. The caller inserts rows in its own transaction, and
 * calls `publish` after the commit.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  /**
   * Rows that this process publishes, or has published and not deleted yet. The poller skips them.
   */
  readonly #ownRows = new Set<number>();
  readonly #deletable: number[] = [];
  /** Rows that this process could not read: each is logged and counted once. */
  readonly #unreadable = new Set<number>();
  readonly #publishing = new Set<Promise<boolean>>();
  #deleteTimer: NodeJS.Timeout | null = null;
  readonly #polling: StartedRepetition;
  /** Why the poller left rows behind; null if it left none. */
  #waiting: string | null = null;
  /**
   * The next round reads only rows with a higher id, because Kafka accepted no row of the last
   * batch. 0: it reads from the oldest row.
   */
  #afterId = 0;
  #stopped = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#polling = repeat({
      name: "leftovers of the outbox",
      round: () => this.#publishLeftovers(),
      pauseMs: POLL_INTERVAL_MS,
      firstPauseMs: POLL_INTERVAL_MS,
      // Pauses do not grow, because consumers wait for the messages.
      backOff: { firstMs: POLL_INTERVAL_MS },
      logger: options.logger,
    });
  }

  /**
   * Publishes the messages of one committed transaction, stored in the rows `ids`. Resolves with
   * false if Kafka did not accept all of them: the poller publishes them later. Never rejects.
   */
  publish(ids: readonly number[], messages: readonly OutboxMessage[]): Promise<boolean> {
    for (const id of ids) this.#ownRows.add(id);
    const work = this.#publishRows(ids, messages).finally(() => this.#publishing.delete(work));
    this.#publishing.add(work);
    return work;
  }

  /** Resolves when every earlier `publish` has resolved. */
  async published(): Promise<void> {
    await Promise.all(this.#publishing);
  }

  /** Why leftovers cannot be published now; null if they can. */
  check(): string | null {
    return this.#polling.value.failing() ?? this.#waiting;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#polling.stop();
    await this.published();
    if (this.#deleteTimer !== null) clearTimeout(this.#deleteTimer);
    while (this.#deletable.length > 0) {
      if (!(await this.#deleteSome())) return;
    }
  }

  async #publishRows(ids: readonly number[], messages: readonly OutboxMessage[]): Promise<boolean> {
    if (!(await this.#sendAll(messages))) {
      for (const id of ids) this.#ownRows.delete(id);
      return false;
    }
    this.#deletable.push(...ids);
    this.#deleteTimer ??= setTimeout(() => void this.#deleteLater(), DELETE_INTERVAL_MS);
    return true;
  }

  /** Sends the messages of one transaction or row; false if Kafka did not accept all of them. */
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
      await this.#sendToDeadLetters(message, error);
    }
  }

  /** Sends the message to the dead letters. A value that is too large there too becomes empty. */
  async #sendToDeadLetters({ topic, key, value, traceparent }: OutboxMessage, error: MessageTooLarge): Promise<void> {
    const { producer, service, logger } = this.#options;
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
        [DEAD_LETTER_HEADERS.group]: service,
      },
      traceparent,
    });
    countDeadLetters(service, topic.name, 1);
  }

  async #deleteLater(): Promise<void> {
    const ok = await this.#deleteSome();
    this.#deleteTimer = null;
    if (this.#deletable.length === 0 || this.#stopped) return;
    const delayMs = ok ? DELETE_INTERVAL_MS : POLL_INTERVAL_MS;
    this.#deleteTimer = setTimeout(() => void this.#deleteLater(), delayMs);
  }

  /** Deletes one batch of published rows; false if the database failed. */
  async #deleteSome(): Promise<boolean> {
    const ids = this.#deletable.splice(0, DELETE_BATCH);
    try {
      await this.#options.database.query(DELETE_ROWS, [ids]);
      for (const id of ids) this.#ownRows.delete(id);
      return true;
    } catch (error) {
      this.#options.logger.warn({ err: error, rows: ids.length }, "published rows could not be deleted yet");
      this.#deletable.push(...ids);
      return false;
    }
  }

  /**
   * Publishes one batch, each row on its own, so that a failed row does not cause other rows to be
   * published again. Row locks keep two pollers from publishing a row twice. Resolves with true if
   * the next round begins at once: Kafka accepted the whole batch, or no row is left after an
   * `#afterId` above 0.
   *
   * Rows that cannot be published must not hold up newer rows of other partitions. So after a batch
   * of which Kafka accepted no row, the next batch has newer rows. As soon as Kafka accepts a row,
   * the next batch has the oldest rows again, so that after an outage few rows are published before
   * older rows of their key. Rows that cannot be read hold up no rows either, also not of their own
   * keys.
   */
  #publishLeftovers(): Promise<boolean> {
    const { database, rows, logger } = this.#options;
    const afterId = this.#afterId;
    return database.transaction(async (transaction) => {
      const batch = await transaction.query(rows.leftovers, [LEFTOVER_AGE_MS, POLL_BATCH, POLL_MAX_BYTES, afterId]);
      const found = batch.filter(({ id }) => !this.#ownRows.has(id)).flatMap((row) => this.#read(row));
      const sends = found.map(({ messages }) => this.#sendAll(messages));
      const sent = await keptAlive(transaction, Promise.all(sends));
      const published = found.filter((_row, index) => sent[index] === true).map(({ id }) => id);
      const kept = found.length - published.length;
      if (kept > 0) this.#waiting = `${kept} of ${found.length} rows wait for Kafka`;
      else if (afterId === 0) this.#waiting = null;
      this.#afterId = published.length > 0 ? 0 : (batch.at(-1)?.id ?? 0);
      // No rows are left after this id: the next round reads the oldest rows, without a pause.
      if (batch.length === 0) return afterId > 0;
      if (published.length === 0) return false;
      await transaction.query(DELETE_ROWS, [published]);
      logger.info({ rows: published.length }, "published leftovers of the outbox");
      return kept === 0;
    });
  }

  /**
   * A row with its messages; nothing if this release cannot read it. Such a row stays in the table,
   * for a process that can read it.
   */
  #read({ id, messages }: { id: number; messages: string }): { id: number; messages: OutboxMessage[] }[] {
    try {
      return [{ id, messages: fromLines(messages) }];
    } catch (error) {
      if (this.#unreadable.has(id)) return [];
      this.#unreadable.add(id);
      const { logger, service } = this.#options;
      unreadableRows.add(1, { service });
      logger.error({ err: error, row: id }, "a row cannot be read and stays in the outbox");
      return [];
    }
  }
}

/**
 * Runs a statement at an interval until `work` ends, and returns the result of `work`. Without
 * these statements, PostgreSQL could end the session, because its transaction is idle for too long.
 * Then the delete would fail, and every accepted row of the batch would be published again.
 */
async function keptAlive<T>(transaction: Transaction, work: Promise<T>): Promise<T> {
  const timer = setInterval(() => transaction.execute(KEEP_ALIVE, []), KEEP_ALIVE_INTERVAL_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}
