import { type Deferred, deferred } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";
import type { Offsets } from "kafkajs";

import { asError } from "./errors.ts";

/** Time between two commits: one costs the broker a few ms, and a crash repeats what was handled since the last. */
const COMMIT_INTERVAL_MS = 250;
const RETRY_DELAY_MS = 1_000;

/** One offset to commit, in the generation it belongs to. */
export interface Commit {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly isCurrent: () => boolean;
  readonly send: (offsets: Offsets) => Promise<void>;
}

/**
 * Commits in the background, all partitions in one request, one request at a time. Waiting for each commit before the
 * next fetch would put it on the path of every message. An offset is never committed outside its generation: the
 * partition may be another process's by then.
 */
export class Commits {
  readonly #logger: Logger;
  readonly #pending = new Map<string, Commit>();
  #timer: NodeJS.Timeout | null = null;
  #sending: Deferred<void> | null = null;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Takes the place of an earlier commit of the same partition that still waits. */
  add(commit: Commit): void {
    this.#pending.set(placeOf(commit), commit);
    this.#sendAfter(COMMIT_INTERVAL_MS);
  }

  /** Sends what waits; resolves when it is committed, or was refused. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (this.#sending !== null) await this.#sending.promise;
    await this.#send();
  }

  /** Ends the timer; what still waits is read again by whoever has the partition next. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#pending.clear();
  }

  #sendAfter(delayMs: number): void {
    if (this.#timer !== null || this.#sending !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#send();
    }, delayMs);
  }

  async #send(): Promise<void> {
    const commits = Array.from(this.#pending.values()).filter(({ isCurrent }) => isCurrent());
    this.#pending.clear();
    const [first] = commits;
    if (first === undefined) return;
    this.#sending = deferred<void>();
    let nextDelayMs = COMMIT_INTERVAL_MS;
    try {
      await first.send({ topics: byTopic(commits) });
    } catch (error) {
      this.#logger.info({ error: asError(error).message }, "offsets were not committed; trying again");
      nextDelayMs = RETRY_DELAY_MS;
      for (const commit of commits) {
        if (commit.isCurrent() && !this.#pending.has(placeOf(commit))) this.#pending.set(placeOf(commit), commit);
      }
    }
    this.#sending.resolve();
    this.#sending = null;
    if (this.#pending.size > 0) this.#sendAfter(nextDelayMs);
  }
}

function placeOf({ topic, partition }: Commit): string {
  return `${topic}/${partition}`;
}

function byTopic(commits: readonly Commit[]): Offsets["topics"] {
  const topics = new Map<string, { partition: number; offset: string }[]>();
  for (const { topic, partition, offset } of commits) {
    const partitions = topics.get(topic) ?? [];
    partitions.push({ partition, offset });
    topics.set(topic, partitions);
  }
  return Array.from(topics, ([topic, partitions]) => ({ topic, partitions }));
}
