/**
 * Whether a service has booked all events of a day that were published before the end of a grace
 * time. After the grace time, the end of `trading.events` is noted, and the consumer group has to
 * reach it. After a restart a later end is noted.
 */
import { TOPICS } from "@kapi/contracts";
import { hasGroupReached, type KafkaConnection, type TopicEnd, topicEnd } from "@kapi/kafka";

/**
 * Keeps in memory the latest complete day, and the noted end of the topic for the day that was
 * checked last.
 */
export class DayCompleteness {
  readonly #kafka: KafkaConnection;
  readonly #groupId: string;
  #noted: { readonly day: string; readonly end: TopicEnd } | null = null;
  #complete = "";

  /** `groupId`: the group with which the service books trading events. */
  constructor(kafka: KafkaConnection, groupId: string) {
    this.#kafka = kafka;
    this.#groupId = groupId;
  }

  /**
   * Returns whether the events of `day` that were published in time are booked; if so, the events
   * of earlier days are booked too. Call this method only when the grace time after `day` is over.
   */
  async has(day: string): Promise<boolean> {
    if (day <= this.#complete) return true;
    if (this.#noted?.day !== day) this.#noted = { day, end: await topicEnd(this.#kafka, TOPICS.tradingEvents) };
    const reached = await hasGroupReached(this.#kafka, TOPICS.tradingEvents, this.#groupId, this.#noted.end);
    if (reached === "recreated") this.#noted = null;
    if (reached !== true) return false;
    this.#complete = day;
    return true;
  }
}
