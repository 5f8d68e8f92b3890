/**
 * Publishes events to `trading.events`, in order and at least once. Committed events wait in a
 * short queue. Events that do not fit (Kafka is slow or unavailable) are read from the journal. At
 * the start, the events after the stored position `published` are read from the journal too. One
 * chunk is sent at a time. If an event is not acknowledged, the whole chunk is sent again. So
 * events of an account keep their order.
 */
import { TOPICS } from "@kapi/contracts";
import { delay } from "@kapi/kernel";
import type { Producer } from "@kapi/kafka";
import type { Logger, Started } from "@kapi/runtime";

import type { Journal, PublishableEvent } from "../journal/ports.ts";

/** Maximum number of events per chunk. */
const CHUNK_EVENTS = 2_000;
/** Maximum number of events in memory; above it the journal is read. */
const MAX_QUEUED_EVENTS = 20_000;
const RETRY_DELAY_MS = 250;
/**
 * How long {@link EventPublisher.settled} waits at most. A stop waits this long too, and then for
 * the chunk that is being sent.
 */
const STOP_DEADLINE_MS = 5_000;

/**
 * The Kafka producer, and the journal with its positions at the start. Events after `published`, up
 * to `committed`, are published first.
 */
interface EventPublisherOptions {
  readonly producer: Producer;
  readonly journal: Pick<Journal, "eventsAfter">;
  /** Position up to which everything is published. */
  readonly published: number;
  /** Position up to which everything is committed. */
  readonly committed: number;
  readonly logger: Logger;
}

/** Publishes the events of one journal. */
export class EventPublisher {
  readonly #options: EventPublisherOptions;
  readonly #stop = new AbortController();
  #queue: PublishableEvent[] = [];
  #published: number;
  #committed: number;
  /** True: the events after `published` are read from the journal; the queue stays empty. */
  #isBehind: boolean;
  #running: Promise<void> | null = null;
  #failures = 0;

  constructor(options: EventPublisherOptions) {
    this.#options = options;
    this.#published = options.published;
    this.#committed = options.committed;
    this.#isBehind = options.committed > options.published;
  }

  /**
   * `stop` sends the waiting events. It begins no chunk after 5 s, and none if the last attempt
   * failed.
   */
  static start(options: EventPublisherOptions): Started<EventPublisher> {
    const publisher = new EventPublisher(options);
    publisher.#wake();
    return { value: publisher, stop: () => publisher.#end() };
  }

  /** Position up to which all events are on the topic. */
  get published(): number {
    return this.#published;
  }

  /**
   * Number of journal rows after the last published position, up to the last committed one. Rows
   * without an event count too, so the topic may lack fewer events than this number.
   */
  get unpublished(): number {
    return this.#committed - this.#published;
  }

  /**
   * Returns a text if the last attempt to publish failed, else null. Null does not mean that all
   * events are published.
   */
  check(): string | null {
    return this.#failures === 0 ? null : `publishing events failed ${this.#failures} times in a row`;
  }

  /** Adds committed events, in order of position. */
  push(events: readonly PublishableEvent[]): void {
    this.#committed = events.at(-1)?.position ?? this.#committed;
    if (this.#queue.length + events.length > MAX_QUEUED_EVENTS) {
      this.#isBehind = true;
      this.#queue = [];
    }
    if (!this.#isBehind) for (const event of events) this.#queue.push(event);
    this.#wake();
  }

  /** Whether there are events to publish, and the publisher is not stopped. */
  get #hasWork(): boolean {
    return !this.#stop.signal.aborted && (this.#isBehind || this.#queue.length > 0);
  }

  #wake(): void {
    if (this.#running === null && this.#hasWork) this.#running = this.#run();
  }

  /**
   * Publishes until nothing is left. `#running` becomes null in the turn of the event loop in which
   * nothing was found, so no event stays behind.
   */
  async #run(): Promise<void> {
    while (this.#hasWork) {
      try {
        await this.#publishNext();
        this.#failures = 0;
      } catch (error) {
        this.#failures += 1;
        this.#options.logger.warn(
          { err: error, failures: this.#failures },
          "events were not published; they are sent again",
        );
        await delay(RETRY_DELAY_MS, this.#stop.signal);
      }
    }
    this.#running = null;
  }

  async #publishNext(): Promise<void> {
    if (!this.#isBehind) {
      const chunk = this.#queue.slice(0, CHUNK_EVENTS);
      await this.#send(chunk);
      // `push` may have emptied the queue meanwhile: then the journal is read.
      if (!this.#isBehind) this.#queue = this.#queue.slice(chunk.length);
      return;
    }
    const committed = this.#committed;
    const chunk = await this.#options.journal.eventsAfter(this.#published, CHUNK_EVENTS);
    if (chunk.length > 0) await this.#send(chunk);
    else this.#published = Math.max(this.#published, committed);
    this.#isBehind = this.#published < this.#committed;
  }

  async #send(chunk: readonly PublishableEvent[]): Promise<void> {
    const sends = chunk.map(({ key, value, traceparent }) =>
      this.#options.producer.send(TOPICS.tradingEvents, { key, value, traceparent }),
    );
    const results = await Promise.allSettled(sends);
    for (const result of results) if (result.status === "rejected") throw result.reason;
    this.#published = chunk.at(-1)?.position ?? this.#published;
  }

  /**
   * Resolves when all committed events are published, and after 5 s in any case. Resolves at once
   * if the last attempt to publish before this call failed.
   */
  async settled(): Promise<void> {
    const published = (async () => {
      while (this.#running !== null && this.#failures === 0) await this.#running;
    })();
    await Promise.race([published, delay(STOP_DEADLINE_MS)]);
  }

  async #end(): Promise<void> {
    await this.settled();
    this.#stop.abort();
    await this.#running;
  }
}
