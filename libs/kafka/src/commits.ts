import { type Deferred, deferred } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";
import type { Offsets } from "kafkajs";

import { asError } from "./errors.ts";

/**
 * Time between two commits: one costs the broker a few ms, and a crash repeats what was handled
 * since the last.
 */
const COMMIT_INTERVAL_MS = 250;
const RETRY_DELAY_MS = 1_000;

/** One offset to commit, in the generation it belongs to. */
export interface Commit {
  readonly topic: string;
  readonly partition: number;
  /** What may be committed by now; asked again, as long as it is below `end`. */
  readonly offset: () => bigint;
  readonly end: bigint;
  /** The id of the topic, which tells whose offset it is. */
  readonly topicId: string | null;
  readonly isCurrent: () => boolean;
  readonly send: (offsets: Offsets) => Promise<void>;
}

/**
 * Commits in the background, all partitions in one request, one request at a time. Waiting for each
 * commit before the next fetch would put it on the path of every message. An offset is never
 * committed outside its generation: the partition may be another process's by then.
 */
export class Commits {
  readonly #logger: Logger;
  readonly #pending = new Map<string, Commit>();
  /** What was committed last of a partition of which more is to come. */
  readonly #partly = new Map<string, bigint>();
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
    this.#partly.clear();
  }

  #sendAfter(delayMs: number): void {
    if (this.#timer !== null || this.#sending !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#send();
    }, delayMs);
  }

  async #send(): Promise<void> {
    const current = Array.from(this.#pending.values()).filter(({ isCurrent }) => isCurrent());
    this.#pending.clear();
    const due = current.map((commit) => ({ commit, offset: commit.offset() }));
    const news = due.filter(({ commit, offset }) => this.#partly.get(placeOf(commit)) !== offset);
    let nextDelayMs = COMMIT_INTERVAL_MS;
    const [first] = news;
    if (first !== undefined) {
      this.#sending = deferred<void>();
      try {
        await first.commit.send({ topics: byTopic(news) });
        for (const { commit, offset } of news) this.#partly.set(placeOf(commit), offset);
      } catch (error) {
        this.#logger.info({ error: asError(error).message }, "offsets were not committed; trying again");
        nextDelayMs = RETRY_DELAY_MS;
        for (const { commit } of news) this.#waits(commit);
      }
      this.#sending.resolve();
      this.#sending = null;
    }
    for (const { commit, offset } of due) {
      if (offset < commit.end) this.#waits(commit);
      else if (!this.#pending.has(placeOf(commit))) this.#partly.delete(placeOf(commit));
    }
    if (this.#pending.size > 0) this.#sendAfter(nextDelayMs);
  }

  /** It is committed later, unless a newer one has taken its place. */
  #waits(commit: Commit): void {
    if (commit.isCurrent() && !this.#pending.has(placeOf(commit))) this.#pending.set(placeOf(commit), commit);
  }
}

interface Due {
  readonly commit: Commit;
  readonly offset: bigint;
}

function placeOf({ topic, partition }: Commit): string {
  return `${topic}/${partition}`;
}

function byTopic(due: readonly Due[]): Offsets["topics"] {
  const topics = new Map<string, { partition: number; offset: string; metadata: string | null }[]>();
  for (const { commit, offset } of due) {
    const { topic, partition, topicId: metadata } = commit;
    const partitions = topics.get(topic) ?? [];
    partitions.push({ partition, offset: offset.toString(), metadata });
    topics.set(topic, partitions);
  }
  return Array.from(topics, ([topic, partitions]) => ({ topic, partitions }));
}
