import { assertDefined } from "@kapi/kernel";
import {
  AssignerProtocol,
  type Cluster,
  type Consumer,
  type ConsumerConfig,
  type Kafka,
  type PartitionAssigner,
} from "kafkajs";

import type { ClientTuning, KafkaConnection } from "./connection.ts";

/**
 * A client that is not a member of a group: `client` connects and disconnects, `cluster` reaches
 * the brokers.
 */
export interface ClusterClient {
  readonly client: Pick<Consumer, "connect" | "disconnect">;
  readonly cluster: Cluster;
}

/**
 * Creates a kafkajs consumer and returns its cluster as well. kafkajs gives the cluster only to
 * partition assigners.
 */
export function consumerWithCluster(
  kafka: Kafka,
  config: ConsumerConfig,
  assigners: readonly PartitionAssigner[],
): { client: Consumer; cluster: Cluster } {
  const found: Cluster[] = [];
  const client = kafka.consumer({
    ...config,
    allowAutoTopicCreation: false,
    partitionAssigners: assigners.map((assigner) => (given) => {
      found.push(given.cluster);
      return assigner(given);
    }),
  });
  return { client, cluster: assertDefined(found[0], "the cluster of kafkajs") };
}

/** A client that joins no group. */
export function clusterClient(kafka: KafkaConnection, tuning: ClientTuning): ClusterClient {
  return consumerWithCluster(kafka.client(tuning), { groupId: "never-joined" }, [
    () => ({
      name: "none",
      version: 0,
      assign: () => Promise.resolve([]),
      protocol: ({ topics }) => ({
        name: "none",
        metadata: AssignerProtocol.MemberMetadata.encode({ version: 0, topics, userData: Buffer.alloc(0) }),
      }),
    }),
  ]);
}

/** The first offsets of partitions, or without `fromBeginning` the offsets after their ends. */
export async function listOffsets(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
  fromBeginning: boolean,
): Promise<Map<number, bigint>> {
  const wanted = { topic, partitions: partitions.map((partition) => ({ partition })), fromBeginning };
  const [found] = await cluster.fetchTopicsOffset([wanted]);
  return new Map((found?.partitions ?? []).map(({ partition, offset }) => [partition, BigInt(offset)]));
}

/**
 * Connects a consumer. A client with few retries connects first, so that an untrusted certificate
 * is reported soon: the consumer itself would retry for minutes.
 */
export async function connectWaiting(kafka: KafkaConnection, consumer: Pick<Consumer, "connect">): Promise<void> {
  const { client } = clusterClient(kafka, {});
  await kafka.connectWaiting(client);
  await client.disconnect();
  await kafka.connect(consumer);
}
