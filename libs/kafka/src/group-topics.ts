import { retry } from "@kapi/kernel";
import type { Broker, Cluster } from "kafkajs";

import type { KafkaConnection } from "./connection.ts";
import type { ConsumerOptions } from "./consumer-options.ts";
import { asError, TopicRecreated } from "./errors.ts";
import type { PartitionAssignment } from "./generations.ts";
import { topicIdFrom } from "./topic-ids.ts";

const BACK_OFF = { firstMs: 100, maxMs: 2_000 };

interface CommittedTopic {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number; readonly metadata?: string | null }[];
}

/**
 * The topics that the offsets of a consumer group belong to. Each commit carries the id of its
 * topic as metadata, except with `restartBeyondEnd`. A topic that was deleted and created again has
 * another id. Offsets of the deleted topic are useless for the new one, even if the new one has as
 * many records.
 */
export class GroupTopics {
  readonly #kafka: KafkaConnection;
  readonly #cluster: Cluster;
  readonly #options: Pick<ConsumerOptions, "groupId" | "restartBeyondEnd" | "logger">;
  readonly #groupId: string;
  /** Topic ids, as last found at a join, by the name of the topic in the cluster. */
  readonly #ids = new Map<string, string>();

  constructor(
    kafka: KafkaConnection,
    cluster: Cluster,
    options: Pick<ConsumerOptions, "groupId" | "restartBeyondEnd" | "logger">,
  ) {
    this.#kafka = kafka;
    this.#cluster = cluster;
    this.#options = options;
    this.#groupId = kafka.topicPrefix + options.groupId;
  }

  /** The metadata of a commit for `topic`, which is the topic's name in the cluster. */
  idOf(topic: string): string | null {
    return this.#ids.get(topic) ?? null;
  }

  /**
   * The assignment with the ids of its topics. Compares these ids with the ids that this consumer
   * knew, and with the committed ids of the group. Waits for an unavailable coordinator;
   * `Consumer.check` reports the wait. Returns early if another generation has begun.
   * With `restartBeyondEnd`, returns the assignment unchanged.
   * @throws TopicRecreated if a topic was deleted and created again.
   */
  async check(
    assignment: readonly PartitionAssignment[],
    isCurrent: () => boolean,
  ): Promise<readonly PartitionAssignment[]> {
    if (this.#options.restartBeyondEnd === true) return assignment;
    const attempt = async (): Promise<void> => {
      if (isCurrent()) await this.#checkOnce(assignment);
    };
    await retry(attempt, {
      backOff: BACK_OFF,
      isRetryable: (error) => !(error instanceof TopicRecreated),
      onFailure: (error) => {
        const fields = { group: this.#options.groupId, error: asError(error).message };
        this.#options.logger.warn(fields, "the ids of the topics are not known yet; trying again");
      },
    });
    return assignment.map((one) => ({ ...one, topicId: this.idOf(this.#kafka.topicName(one.topic)) }));
  }

  async #checkOnce(assignment: readonly PartitionAssignment[]): Promise<void> {
    const coordinator = await this.#cluster.findGroupCoordinator({ groupId: this.#groupId });
    for (const { topic } of assignment) {
      const name = this.#kafka.topicName(topic);
      const id = await topicIdFrom(coordinator, name);
      // The topic is being deleted. If it is created again, the check after a later join compares
      // its new id.
      if (id === null) continue;
      this.#compare(name, this.#ids.get(name), id);
      this.#ids.set(name, id);
    }
    const topics = assignment
      .filter(({ partitions }) => partitions.length > 0)
      .map(({ topic, partitions }) => ({ topic: this.#kafka.topicName(topic), partitions }));
    if (topics.length === 0) return;
    for (const { topic, partitions } of await committed(coordinator, this.#groupId, topics)) {
      for (const { metadata } of partitions) this.#compare(topic, metadata, this.#ids.get(topic));
    }
  }

  /** Commits of earlier releases, and with `restartBeyondEnd`, have no id. */
  #compare(topic: string, before: string | null | undefined, now: string | undefined): void {
    if (before === null || before === undefined || before === "" || now === undefined || before === now) return;
    throw new TopicRecreated(topic, before, now, `reset the offsets of group ${this.#groupId}`);
  }
}

async function committed(
  coordinator: Broker,
  groupId: string,
  topics: readonly { readonly topic: string; readonly partitions: readonly number[] }[],
): Promise<readonly CommittedTopic[]> {
  const asked = topics.map(({ topic, partitions }) => ({
    topic,
    // kafkajs requires an offset for each partition, but the request does not contain it.
    partitions: partitions.map((partition) => ({ partition, offset: "" })),
  }));
  const { responses } = await coordinator.offsetFetch({ groupId, topics: asked });
  return responses;
}
