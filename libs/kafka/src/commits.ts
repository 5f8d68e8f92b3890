import { type Deferred, deferred } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";
import type { Offsets } from "kafkajs";

import { asError } from "./errors.ts";

/**
 * Time between two commits. A commit costs the broker a few ms; after a crash, messages since the
 * last commit are handled again.
 */
const COMMIT_INTERVAL_MS = 1_000;
const RETRY_DELAY_MS = 1_000;

/** One offset to commit, in one generation of the consumer group. */
export interface Commit {
  readonly topic: string;
  readonly partition: number;
  /** The offset that may be committed now; called again at each commit while it is below `end`. */
  readonly offset: () => bigint;
  /** The offset after the last message of the batch. If `offset()` is constant: that offset. */
  readonly end: bigint;
  /** The id of the topic that the offset belongs to; null: not known. */
  readonly topicId: string | null;
  /** Whether this commit may be sent. If not, it is dropped, as after the end of its generation. */
  readonly isCurrent: () => boolean;
  readonly send: (offsets: Offsets) => Promise<void>;
}

/**
 * Commits in the background: all partitions in one request, one request at a time. If each fetch
 * waited for a commit, the commit would delay every message. An offset is never committed after the
 * end of its generation: another process may then have the partition.
 */
export class Commits {
  readonly #logger: Logger;
  readonly #pending = new Map<string, Commit>();
  /** The last committed offset of each partition whose batch is not completely durable yet. */
  readonly #partlyCommitted = new Map<string, bigint>();
  #timer: NodeJS.Timeout | null = null;
  #sending: Deferred<void> | null = null;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Adds a commit. It replaces an earlier commit of the same partition that still waits. */
  add(commit: Commit): void {
    this.#pending.set(keyOf(commit), commit);
    this.#sendAfter(COMMIT_INTERVAL_MS);
  }

  /** Sends the waiting commits; resolves when they are accepted or rejected. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (this.#sending !== null) await this.#sending.promise;
    await this.#send();
  }

  /** Drops the waiting commits. The next owner of a partition handles their messages again. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#pending.clear();
    this.#partlyCommitted.clear();
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
    const changed = due.filter(({ commit, offset }) => this.#partlyCommitted.get(keyOf(commit)) !== offset);
    let nextDelayMs = COMMIT_INTERVAL_MS;
    const [first] = changed;
    if (first !== undefined) {
      this.#sending = deferred<void>();
      try {
        await first.commit.send({ topics: byTopic(changed) });
        for (const { commit, offset } of changed) this.#partlyCommitted.set(keyOf(commit), offset);
      } catch (error) {
        this.#logger.info({ error: asError(error).message }, "offsets were not committed; trying again");
        nextDelayMs = RETRY_DELAY_MS;
        for (const { commit } of changed) this.#requeue(commit);
      }
      this.#sending.resolve();
      this.#sending = null;
    }
    for (const { commit, offset } of due) {
      if (offset < commit.end) this.#requeue(commit);
      else if (!this.#pending.has(keyOf(commit))) this.#partlyCommitted.delete(keyOf(commit));
    }
    if (this.#pending.size > 0) this.#sendAfter(nextDelayMs);
  }

  /** Schedules a commit again, unless a newer one of its partition waits. */
  #requeue(commit: Commit): void {
    if (commit.isCurrent() && !this.#pending.has(keyOf(commit))) this.#pending.set(keyOf(commit), commit);
  }
}

interface Due {
  readonly commit: Commit;
  readonly offset: bigint;
}

function keyOf({ topic, partition }: Commit): string {
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
