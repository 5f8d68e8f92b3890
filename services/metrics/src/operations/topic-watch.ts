import { delay } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { TopicGenerationStore } from "../domain/ports.ts";
import { firstPosition, type TopicPositions } from "../domain/topic-position.ts";

/** How often a process asks whether the topics are still the same. */
export const TOPIC_CHECK_INTERVAL_MS = 2_000;
/** How long a new generation is not read: by then every process has noticed it, and has left its checkpoints. */
const SETTLE_MS = 10_000;

/** The topics whose offsets the live stream compares. */
const WATCHED_TOPICS = ["valuations", "samples", "latest"] as const;
export type WatchedTopic = (typeof WATCHED_TOPICS)[number];

export interface TopicWatchOptions {
  readonly store: TopicGenerationStore;
  /** The ids of the topics, by name; null for one that does not exist now. */
  readonly ids: () => Promise<Readonly<Record<WatchedTopic, string | null>>>;
  readonly names: Readonly<Record<WatchedTopic, string>>;
  /** Called once, with the reason, when a topic was deleted and made again: the process must end. */
  readonly changed: (topics: readonly WatchedTopic[], error: Error) => void;
  readonly logger: Logger;
}

/**
 * Knows the ids of the topics from the start on, and notices when one of them is another. A process that goes on after
 * that would compare offsets that began again with those of before; so it ends, and begins anew in the next generation.
 */
export class TopicWatch {
  readonly #options: TopicWatchOptions;
  readonly #ids: Readonly<Record<WatchedTopic, string>>;
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
  }

  /** Registers the topics as they are now. Where one was made again lately, waits for the processes that knew the old one. */
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
   * @throws the reason, where one of them was made again.
   */
  async check(): Promise<void> {
    if (this.#changed !== null) throw this.#changed;
    const now = await this.#options.ids();
    const topics = WATCHED_TOPICS.filter((topic) => now[topic] !== null && now[topic] !== this.#ids[topic]);
    if (topics.length === 0) return;
    const names = topics.map((topic) => this.#options.names[topic]).join(", ");
    this.#changed ??= new Error(
      `Kafka topic ${names} was deleted and made again: this process ends, and its next start goes on with the new topic`,
    );
    this.#options.changed(topics, this.#changed);
    throw this.#changed;
  }
}
