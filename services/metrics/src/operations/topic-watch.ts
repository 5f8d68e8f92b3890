import { batcher, delay, retry } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { TopicGenerationStore } from "../domain/ports.ts";
import { firstPosition, type TopicPositions } from "../domain/topic-position.ts";

/** How often a process asks whether the topics are still the same. */
export const TOPIC_CHECK_INTERVAL_MS = 2_000;
/**
 * How long a new generation is not read: by then every process has noticed it, and has left its
 * checkpoints.
 */
const SETTLE_MS = 10_000;
/**
 * How often a topic that is deleted at this moment is looked for, while the process waits for it to
 * end.
 */
const RECREATED_POLL_MS = 200;
/** Calls of `check` that one question answers: more than a process has partitions and readers. */
const MAX_CALLS_PER_CHECK = 10_000;

/** The topics whose offsets the live stream compares. */
const WATCHED_TOPICS = ["valuations", "samples", "latest"] as const;
export type WatchedTopic = (typeof WATCHED_TOPICS)[number];

export interface TopicWatchOptions {
  readonly store: TopicGenerationStore;
  /** The ids of the topics, by name; null for one that does not exist now. */
  readonly ids: () => Promise<Readonly<Record<WatchedTopic, string | null>>>;
  readonly names: Readonly<Record<WatchedTopic, string>>;
  /**
   * Called once, with the reason, when a topic was deleted and made again: the process must end.
   */
  readonly changed: (error: Error) => void;
  readonly logger: Logger;
}

/**
 * Knows the ids of the topics from the start on, and notices when one of them is another. A process
 * that goes on after that would compare offsets that began again with those of before; so it ends,
 * and begins anew in the next generation.
 */
export class TopicWatch {
  readonly #options: TopicWatchOptions;
  readonly #ids: Readonly<Record<WatchedTopic, string>>;
  /**
   * One question at a time. A call that comes while one is under way gets the answer of the next.
   */
  readonly #ask: (asked: null) => Promise<readonly WatchedTopic[]>;
  #changed: Error | null = null;
  /** Where the topics begin. */
  readonly positions: TopicPositions;

  private constructor(
    options: TopicWatchOptions,
    ids: Readonly<Record<WatchedTopic, string>>,
    positions: TopicPositions,
  ) {
    this.#options = options;
    this.#ids = ids;
    this.positions = positions;
    this.#ask = batcher({
      load: async (calls) => {
        const recreated = await this.#recreated();
        return calls.map(() => recreated);
      },
      maxBatchSize: MAX_CALLS_PER_CHECK,
      maxConcurrentBatches: 1,
    });
  }

  /**
   * Registers the topics as they are now. Where one was made again lately, waits for the processes
   * that knew the old one.
   */
  static async start(options: TopicWatchOptions): Promise<TopicWatch> {
    const found = await options.ids();
    const ids: Record<WatchedTopic, string> = { valuations: "", samples: "", latest: "" };
    const positions: Record<WatchedTopic, number> = { valuations: 0, samples: 0, latest: 0 };
    let settleMs = 0;
    for (const topic of WATCHED_TOPICS) {
      const name = options.names[topic];
      const topicId = found[topic];
      if (topicId === null) throw new Error(`Kafka topic ${name} does not exist: create the topics first`);
      const { generation, ageMs } = await options.store.register(name, topicId);
      ids[topic] = topicId;
      positions[topic] = firstPosition(generation);
      if (generation === 0 || ageMs >= SETTLE_MS) continue;
      options.logger.warn({ topic: name, topicId, generation }, "the topic was deleted and made again");
      settleMs = SETTLE_MS;
    }
    await delay(settleMs);
    return new TopicWatch(options, ids, positions);
  }

  /**
   * Asks whether the topics are still those of the start.
   * @throws the reason, where one of them was made again; another error where that cannot be told.
   */
  async check(): Promise<void> {
    if (this.#changed !== null) throw this.#changed;
    const recreated = await this.#ask(null);
    if (recreated.length === 0) return;
    throw this.#change(recreated);
  }

  /**
   * The topics that were made again by now, before the process ends. One that is deleted at this
   * moment is waited for, since nothing can be written to it. None where that cannot be told within
   * `timeoutMs`.
   */
  async recreated(timeoutMs: number): Promise<readonly WatchedTopic[]> {
    const over = new AbortController();
    const late = delay(timeoutMs, over.signal).then((): readonly WatchedTopic[] => []);
    try {
      const answer = retry(() => this.#ask(null), {
        backOff: { firstMs: RECREATED_POLL_MS },
        signal: over.signal,
        onFailure: (error) =>
          this.#options.logger.warn({ err: error }, "it is not known yet whether a topic was made again"),
      });
      return await Promise.race([answer, late]);
    } finally {
      over.abort();
    }
  }

  /**
   * For a reader that cannot go on. Where that is because of a topic that was made again, the
   * process ends as after {@link check}: not before its checkpoints can be written. Otherwise calls
   * `fatal` with the error.
   */
  async fail(error: Error, fatal: (error: Error) => void): Promise<void> {
    this.#options.logger.warn({ err: error }, "a reader has stopped");
    while (this.#changed === null) {
      try {
        await this.check();
        return fatal(error);
      } catch (failure) {
        this.#options.logger.info({ err: failure }, "it is not known yet whether a topic was made again");
        await delay(TOPIC_CHECK_INTERVAL_MS);
      }
    }
  }

  /** @throws where a topic does not exist now: it may be one that is being made again. */
  async #recreated(): Promise<readonly WatchedTopic[]> {
    const now = await this.#options.ids();
    const missing = WATCHED_TOPICS.filter((topic) => now[topic] === null);
    if (missing.length > 0) throw new Error(`Kafka topic ${this.#namesOf(missing)} does not exist: create the topics`);
    return WATCHED_TOPICS.filter((topic) => now[topic] !== this.#ids[topic]);
  }

  #change(topics: readonly WatchedTopic[]): Error {
    if (this.#changed !== null) return this.#changed;
    this.#changed = new Error(
      `Kafka topic ${this.#namesOf(topics)} was deleted and made again: this process ends, and its next start goes on ` +
        "with the new topic",
    );
    this.#options.changed(this.#changed);
    return this.#changed;
  }

  #namesOf(topics: readonly WatchedTopic[]): string {
    return topics.map((topic) => this.#options.names[topic]).join(", ");
  }
}
