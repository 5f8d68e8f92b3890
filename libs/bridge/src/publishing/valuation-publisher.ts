/**
 * Valuations to `trading.valuations`. In order per account; if Kafka cannot keep up, the newest of
 * each account is kept and those between are let go, for a valuation is only worth something while
 * it is new.
 */
import { TOPICS } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import type { Producer } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

import type { OutgoingValuation } from "../journal/ports.ts";

/** Most valuations in one chunk. */
const CHUNK_VALUATIONS = 2_000;
/** Most valuations that wait one by one; beyond it only the newest of each account. */
const MAX_QUEUED_VALUATIONS = 20_000;
const RETRY_DELAY_MS = 250;
const STOP_DEADLINE_MS = 2_000;

export interface ValuationPublisherOptions {
  readonly producer: Producer;
  readonly logger: Logger;
}

export class ValuationPublisher {
  readonly #options: ValuationPublisherOptions;
  readonly #stop = new AbortController();
  #queue: OutgoingValuation[] = [];
  /** The newest of each account, of those that the queue had no room for. */
  #newest = new Map<string, OutgoingValuation>();
  #running: Promise<void> | null = null;

  constructor(options: ValuationPublisherOptions) {
    this.#options = options;
  }

  static start(options: ValuationPublisherOptions): Started<ValuationPublisher> {
    const publisher = new ValuationPublisher(options);
    return { value: publisher, stop: () => publisher.#end() };
  }

  /** Takes valuations, in order. */
  push(valuations: readonly OutgoingValuation[]): void {
    for (const valuation of valuations) {
      // Once one has no room, those after it wait behind it, so that an account's order is kept.
      if (this.#newest.size > 0 || this.#queue.length >= MAX_QUEUED_VALUATIONS) {
        this.#newest.set(valuation.key, valuation);
      } else {
        this.#queue.push(valuation);
      }
    }
    if (this.#running !== null || this.#stop.signal.aborted) return;
    this.#running = this.#run().finally(() => {
      this.#running = null;
    });
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted && this.#queue.length > 0) {
      const chunk = this.#queue.slice(0, CHUNK_VALUATIONS);
      const sends = chunk.map(({ key, value }) =>
        this.#options.producer.send(TOPICS.tradingValuations, { key, value }),
      );
      const results = await Promise.allSettled(sends);
      const failed = chunk.filter((_valuation, index) => results[index]?.status === "rejected");
      this.#queue = [...failed, ...this.#queue.slice(chunk.length)];
      const failure = results.find((result) => result.status === "rejected");
      if (failure !== undefined) {
        const fields = { err: failure.reason, valuations: failed.length };
        this.#options.logger.warn(fields, "valuations were not published, trying again");
        await delay(RETRY_DELAY_MS, this.#stop.signal);
      }
      if (this.#queue.length === 0 && this.#newest.size > 0) {
        this.#queue = [...this.#newest.values()];
        this.#newest = new Map();
      }
    }
  }

  async #end(): Promise<void> {
    await Promise.race([this.#running, delay(STOP_DEADLINE_MS)]);
    this.#stop.abort();
    await this.#running;
  }
}
