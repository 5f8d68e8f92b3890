/**
 * Publishes valuations to `trading.valuations`, in order per account. The exception: a valuation
 * whose first send failed can follow a newer valuation of its account. While the queue is full,
 * only the newest of an account's further valuations is kept: older ones have no use.
 */
import { TOPICS } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import type { Producer } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

import type { OutgoingValuation } from "../journal/ports.ts";

/** Maximum number of valuations per chunk. */
const CHUNK_VALUATIONS = 2_000;
/** From this queue length on, only the newest further valuation of each account is kept. */
const MAX_QUEUED_VALUATIONS = 20_000;
const RETRY_DELAY_MS = 250;
const STOP_DEADLINE_MS = 2_000;

interface ValuationPublisherOptions {
  /** May also be the producer of the event publisher. */
  readonly producer: Producer;
  readonly logger: Logger;
}

/**
 * Publishes valuations. They are only in memory: a killed process loses those that were not sent.
 */
export class ValuationPublisher {
  readonly #options: ValuationPublisherOptions;
  readonly #stop = new AbortController();
  #queue: OutgoingValuation[] = [];
  /** The newest valuation of each account that did not fit into the queue. */
  #newest = new Map<string, OutgoingValuation>();
  #running: Promise<void> | null = null;

  constructor(options: ValuationPublisherOptions) {
    this.#options = options;
  }

  /** `stop` sends queued valuations, and begins no chunk after 2 s. The rest is dropped. */
  static start(options: ValuationPublisherOptions): Started<ValuationPublisher> {
    const publisher = new ValuationPublisher(options);
    return { value: publisher, stop: () => publisher.#end() };
  }

  /** Adds valuations, in order. */
  push(valuations: readonly OutgoingValuation[]): void {
    for (const valuation of valuations) {
      // After a valuation that does not fit, all later ones wait too: this keeps the order.
      if (this.#newest.size > 0 || this.#queue.length >= MAX_QUEUED_VALUATIONS) {
        this.#newest.set(valuation.key, valuation);
      } else {
        this.#queue.push(valuation);
      }
    }
    if (this.#running === null && this.#hasWork) this.#running = this.#run();
  }

  /** Whether there are valuations to publish, and the publisher is not stopped. */
  get #hasWork(): boolean {
    return !this.#stop.signal.aborted && this.#queue.length > 0;
  }

  /**
   * Publishes until the queue is empty. `#running` becomes null in the turn of the event loop in
   * which the queue was found empty, so no valuation stays behind.
   */
  async #run(): Promise<void> {
    while (this.#hasWork) {
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
        this.#options.logger.warn(fields, "valuations were not published; they are sent again");
        await delay(RETRY_DELAY_MS, this.#stop.signal);
      }
      if (this.#queue.length === 0 && this.#newest.size > 0) {
        this.#queue = [...this.#newest.values()];
        this.#newest = new Map();
      }
    }
    this.#running = null;
  }

  async #end(): Promise<void> {
    await Promise.race([this.#running, delay(STOP_DEADLINE_MS)]);
    this.#stop.abort();
    await this.#running;
  }
}
