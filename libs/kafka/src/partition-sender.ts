import type { Logger } from "@kapi/runtime";
import type { Cluster } from "kafkajs";

import { asError, isRetriable } from "./errors.ts";
import { acknowledge, reject, type PendingMessage } from "./pending-message.ts";

/** The leader's id in the metadata while all brokers of a partition are unavailable. */
const NO_LEADER = -1;
const ACKS_ALL = -1;
const NO_ERROR = 0;
/**
 * Errors that prove that no message is in the log, if the answer has no offset. A leader that loses
 * its role while it waits for its replicas gives one of the first two errors with the offset of the
 * stored messages: the next leader may have them too.
 */
const NOT_STORED = new Set([
  "NOT_LEADER_FOR_PARTITION",
  "UNKNOWN_TOPIC_OR_PARTITION",
  "LEADER_NOT_AVAILABLE",
  "NOT_ENOUGH_REPLICAS",
  "MESSAGE_TOO_LARGE",
  "RECORD_LIST_TOO_LARGE",
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
  "INVALID_TOPIC_EXCEPTION",
]);

/**
 * A broker's answer for the partitions of a request. The patched kafkajs also adds it to the error
 * of a request.
 */
interface ProducedTopic {
  readonly topicName: string;
  readonly partitions: readonly {
    readonly partition: number;
    readonly errorCode: number;
    readonly baseOffset: string;
  }[];
}

/** One partition's messages of a request, in order. */
interface Part {
  readonly topic: string;
  readonly partition: number;
  readonly messages: readonly PendingMessage[];
}

/** Sends messages to the leaders of their partitions. */
export class PartitionSender {
  readonly #cluster: Cluster;
  readonly #logger: Logger;
  readonly #ackTimeoutMs: number;

  /** A broker whose replicas need longer than `ackTimeoutMs` answers with an error. */
  constructor(cluster: Cluster, logger: Logger, ackTimeoutMs: number) {
    this.#cluster = cluster;
    this.#logger = logger;
    this.#ackTimeoutMs = ackTimeoutMs;
  }

  /** The broker that leads a partition; null if there is no leader, or none is known yet. */
  leaderOf(topic: string, partition: number): number | null {
    try {
      const found = this.#cluster
        .findTopicPartitionMetadata(topic)
        .find(({ partitionId }) => partitionId === partition);
      return found === undefined || found.leader === NO_LEADER ? null : found.leader;
    } catch {
      return null;
    }
  }

  /**
   * Sends one request to each leader. Resolves when no request with any of the messages is under
   * way: only then may the next messages of their partitions follow, to keep the order. The caller
   * may send unsettled messages again.
   */
  async send(batch: readonly PendingMessage[]): Promise<void> {
    const leaders = new Map<number, Part[]>();
    for (const part of partsOf(batch)) {
      const leader = await this.#locate(part);
      if (leader === null) continue;
      const parts = leaders.get(leader);
      if (parts === undefined) leaders.set(leader, [part]);
      else parts.push(part);
    }
    await Promise.all(Array.from(leaders, ([leader, parts]) => this.#request(leader, parts)));
  }

  async #locate({ topic, partition }: Part): Promise<number | null> {
    const leader = this.leaderOf(topic, partition);
    if (leader !== null) return leader;
    try {
      await this.#cluster.addMultipleTargetTopics([topic]);
    } catch (error) {
      this.#logFailure(error);
    }
    return this.leaderOf(topic, partition);
  }

  async #request(leader: number, given: readonly Part[]): Promise<void> {
    let parts: readonly Part[] = given;
    const storedBefore = new Set<PendingMessage>();
    try {
      const broker = await this.#cluster.findBroker({ nodeId: String(leader) });
      // Messages that expired while the connection was made must not be sent.
      parts = unsettled(parts);
      if (parts.length === 0) return;
      for (const { messages } of parts) {
        for (const pending of messages) {
          if (pending.maybeStored) storedBefore.add(pending);
          pending.maybeStored = true;
        }
      }
      const answer = (await broker.produce({
        acks: ACKS_ALL,
        timeout: this.#ackTimeoutMs,
        topicData: topicDataOf(parts),
      })) as { topics: ProducedTopic[] };
      this.#settle(parts, answer.topics, storedBefore, null);
    } catch (error) {
      this.#logFailure(error);
      const { topics = [] } = error as { topics?: ProducedTopic[] };
      this.#settle(parts, topics, storedBefore, error);
    }
  }

  /**
   * Acknowledges stored messages, and rejects messages after an error that no retry can remove. The
   * other messages stay unsettled, to be sent again.
   */
  #settle(
    parts: readonly Part[],
    topics: readonly ProducedTopic[],
    storedBefore: ReadonlySet<PendingMessage>,
    error: unknown,
  ): void {
    for (const { topic, partition, messages } of parts) {
      const produced = topics
        .find(({ topicName }) => topicName === topic)
        ?.partitions.find((answer) => answer.partition === partition);
      if (produced?.errorCode === NO_ERROR) {
        acknowledge(messages, produced.baseOffset);
        continue;
      }
      // The error of the request is the error of the first failed partition. Another partition may
      // have another error.
      const isOwn = produced === undefined || produced.errorCode === codeOf(error);
      if (isOwn && produced !== undefined && hasNoOffset(produced) && NOT_STORED.has(typeOf(error))) {
        for (const pending of messages) pending.maybeStored = storedBefore.has(pending);
      }
      if (!isOwn || isRetriable(error) || isTransport(error)) continue;
      reject(messages, `not acknowledged: ${asError(error).message}`, error);
    }
  }

  /** Reads the metadata again: a broker that did not answer may no longer lead its partitions. */
  async refresh(): Promise<void> {
    try {
      await this.#cluster.connect();
      await this.#cluster.refreshMetadata();
    } catch (error) {
      this.#logFailure(error);
    }
  }

  #logFailure(error: unknown): void {
    this.#logger.info({ error: asError(error).message }, "a request of the producer failed");
  }
}

function partsOf(batch: readonly PendingMessage[]): Part[] {
  const parts = new Map<string, { topic: string; partition: number; messages: PendingMessage[] }>();
  for (const pending of batch) {
    const { topic, partition } = pending;
    const key = `${topic}/${partition}`;
    const part = parts.get(key);
    if (part === undefined) parts.set(key, { topic, partition, messages: [pending] });
    else part.messages.push(pending);
  }
  return [...parts.values()];
}

function unsettled(parts: readonly Part[]): Part[] {
  return parts
    .map((part) => ({ ...part, messages: part.messages.filter(({ settled }) => !settled) }))
    .filter(({ messages }) => messages.length > 0);
}

type TopicData = Parameters<Awaited<ReturnType<Cluster["findBroker"]>>["produce"]>[0]["topicData"];

function topicDataOf(parts: readonly Part[]): TopicData {
  const topics = new Map<string, TopicData[number]>();
  for (const { topic, partition, messages } of parts) {
    const data = { partition, firstSequence: 0, messages: messages.map(({ wire }) => wire) };
    const found = topics.get(topic);
    if (found === undefined) topics.set(topic, { topic, partitions: [data] });
    else found.partitions.push(data);
  }
  return [...topics.values()];
}

/** Whether the answer has no offset for the records. */
function hasNoOffset({ baseOffset }: ProducedTopic["partitions"][number]): boolean {
  return BigInt(baseOffset) < 0n;
}

/** Whether the error is not an answer of a broker. */
function isTransport(error: unknown): boolean {
  return typeOf(error) === "" && asError(error).name.startsWith("KafkaJS");
}

function typeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "type" in error ? String(error.type) : "";
}

function codeOf(error: unknown): number | null {
  return typeof error === "object" && error !== null && "code" in error ? Number(error.code) : null;
}
