import { batcher, delay, retry } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { TopicGenerationStore } from "../domain/ports.ts";
import { firstPosition, type TopicPositions } from "../domain/topic-position.ts";

/** How often a process checks the ids of the topics. */
export const TOPIC_CHECK_INTERVAL_MS = 2_000;
/**
 * A start waits this long if the id of a recreated topic was registered less than this time ago.
 * After this time every process has noticed the recreation and written its last checkpoints.
 */
const SETTLE_MS = 10_000;
/** Interval of the checks while a stopping process waits for the recreation of a topic. */
const RECREATED_POLL_MS = 200;
/** Maximum number of calls that share one request to Kafka. It is never reached. */
const MAX_CALLS_PER_CHECK = 10_000;

/** The topics whose offsets the live stream compares. */
const WATCHED_TOPICS = ["valuations", "samples", "latest"] as const;
/** A watched topic, by its use. */
export type WatchedTopic = (typeof WATCHED_TOPICS)[number];

/** The dependencies of {@link TopicWatch}. */
export interface TopicWatchOptions {
  readonly store: TopicGenerationStore;
  /** Reads the ids of the topics; null for one that does not exist now. */
  readonly ids: () => Promise<Readonly<Record<WatchedTopic, string | null>>>;
  /** The names of the topics, for messages. */
  readonly names: Readonly<Record<WatchedTopic, string>>;
  /** Called at most once, with the reason, if a topic was recreated: the process must end. */
  readonly changed: (error: Error) => void;
  readonly logger: Logger;
}

/**
 * Detects recreated topics by their ids. A process that continued would compare offsets of the
 * recreated topic with offsets of the deleted topic. So the process ends, and restarts in the next
 * generation.
 */
export class TopicWatch {
  readonly #options: TopicWatchOptions;
  readonly #ids: Readonly<Record<WatchedTopic, string>>;
  /**
   * Sends one request at a time. A call during a running request gets the answer of the next
   * request.
   */
  readonly #ask: (asked: null) => Promise<readonly WatchedTopic[]>;
  #changed: Error | null = null;
  /** The position of offset 0 of each topic. */
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
   * Registers the ids of the current topics. If the id of a recreated topic was first registered
   * less than 10 s ago, waits 10 s, so that the processes that used the deleted topic write their
   * last checkpoints.
   * @throws if a topic does not exist.
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
      options.logger.warn({ topic: name, topicId, generation }, "the topic was deleted and recreated");
      settleMs = SETTLE_MS;
    }
    await delay(settleMs);
    return new TopicWatch(options, ids, positions);
  }

  /**
   * Checks that no topic was recreated since the start.
   * @throws the error that `changed` gets, if a topic was recreated; another error if it is unknown
   * whether a topic was recreated.
   */
  async check(): Promise<void> {
    if (this.#changed !== null) throw this.#changed;
    const recreated = await this.#ask(null);
    if (recreated.length === 0) return;
    throw this.#change(recreated);
  }

  /**
   * Called before the process ends. Returns the topics that were recreated. Waits for a deleted
   * topic to be recreated, because nothing can be written to a deleted topic. Repeats a check that
   * fails. Returns an empty list after `timeoutMs`.
   */
  async recreated(timeoutMs: number): Promise<readonly WatchedTopic[]> {
    const over = new AbortController();
    const late = delay(timeoutMs, over.signal).then((): readonly WatchedTopic[] => []);
    try {
      const answer = retry(() => this.#ask(null), {
        backOff: { firstMs: RECREATED_POLL_MS },
        signal: over.signal,
        onFailure: (error) =>
          this.#options.logger.warn(
            { err: error },
            "it is not known yet whether a topic was recreated; checking again",
          ),
      });
      return await Promise.race([answer, late]);
    } finally {
      over.abort();
    }
  }

  /**
   * Handles a reader's fatal error. If a topic was recreated, `changed` ends the process. If none
   * was recreated, calls `fatal` with the error. A check that fails is repeated.
   */
  async fail(error: Error, fatal: (error: Error) => void): Promise<void> {
    this.#options.logger.warn({ err: error }, "a reader has stopped");
    while (this.#changed === null) {
      try {
        await this.check();
        return fatal(error);
      } catch (failure) {
        this.#options.logger.info({ err: failure }, "a topic was recreated, or the topics could not be checked");
        await delay(TOPIC_CHECK_INTERVAL_MS);
      }
    }
  }

  /**
   * Returns the topics whose id has changed.
   * @throws if a topic does not exist now: it may be recreated soon.
   */
  async #recreated(): Promise<readonly WatchedTopic[]> {
    const now = await this.#options.ids();
    const missing = WATCHED_TOPICS.filter((topic) => now[topic] === null);
    if (missing.length > 0) throw new Error(`Kafka topic ${this.#namesOf(missing)} does not exist: create the topics`);
    return WATCHED_TOPICS.filter((topic) => now[topic] !== this.#ids[topic]);
  }

  #change(topics: readonly WatchedTopic[]): Error {
    if (this.#changed !== null) return this.#changed;
    this.#changed = new Error(
      `Kafka topic ${this.#namesOf(topics)} was deleted and recreated: this process ends; restart it to continue ` +
        "with the new topic",
    );
    this.#options.changed(this.#changed);
    return this.#changed;
  }

  #namesOf(topics: readonly WatchedTopic[]): string {
    return topics.map((topic) => this.#options.names[topic]).join(", ");
  }
}
