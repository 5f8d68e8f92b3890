import type { TopicContract } from "@kapi/contracts";
import { backOffMs } from "@kapi/kernel";
import { counter } from "@kapi/runtime";
import type { EachBatchPayload } from "kafkajs";

import type { ConsumerOptions } from "./consumer-options.ts";
import type { RetryableError } from "./errors.ts";

const BACK_OFF = { firstMs: 100, maxMs: 5_000 };

const retries = counter(
  "kafka.consumer.retries",
  "Batches that are handled again later, by `group` and `topic`",
  "{batch}",
);

/** Batches to handle again later: their partitions pause, other partitions continue. */
export class Retries {
  readonly #options: Pick<ConsumerOptions, "groupId" | "logger">;
  /** The number of failed attempts of a partition's next batch, by topic and partition. */
  readonly #tries = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #isStopped = false;

  constructor(options: Pick<ConsumerOptions, "groupId" | "logger">) {
    this.#options = options;
  }

  /** Pauses the partition. When it is resumed, kafkajs fetches from the same message again. */
  later(topic: TopicContract, error: RetryableError, payload: EachBatchPayload): void {
    retries.add(1, { group: this.#options.groupId, topic: topic.name });
    const { partition } = payload.batch;
    const key = keyOf(topic, partition);
    const tries = (this.#tries.get(key) ?? 0) + 1;
    this.#tries.set(key, tries);
    const delayMs = backOffMs(tries, Math.random, BACK_OFF);
    const fields = { topic: topic.name, partition, tries, delayMs, reason: error.message };
    this.#options.logger.warn(fields, "a batch will be tried again");
    const resume = payload.pause();
    if (this.#isStopped) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      resume();
    }, delayMs);
    this.#timers.add(timer);
  }

  /** A batch of the partition was handled. */
  succeeded(topic: TopicContract, partition: number): void {
    this.#tries.delete(keyOf(topic, partition));
  }

  /** A new generation begins: its batches have no failed attempts. */
  forget(): void {
    this.#tries.clear();
  }

  /** Cancels the waits: partitions that are paused now or later are not resumed. */
  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }
}

function keyOf(topic: TopicContract, partition: number): string {
  return `${topic.name}/${partition}`;
}
