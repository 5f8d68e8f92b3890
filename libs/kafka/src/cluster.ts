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
 * A client that is no member of a group: what `connect` and `disconnect` are called on, and its way
 * to the brokers.
 */
export interface ClusterClient {
  readonly client: Pick<Consumer, "connect" | "disconnect">;
  readonly cluster: Cluster;
}

/**
 * A kafkajs consumer and its way to the brokers, which kafkajs hands to partition assigners and to
 * nobody else.
 */
export function consumerWithCluster(
  kafka: Kafka,
  config: ConsumerConfig,
  assigner: PartitionAssigner,
): { client: Consumer; cluster: Cluster } {
  const found: Cluster[] = [];
  const client = kafka.consumer({
    ...config,
    allowAutoTopicCreation: false,
    partitionAssigners: [
      (given) => {
        found.push(given.cluster);
        return assigner(given);
      },
    ],
  });
  return { client, cluster: assertDefined(found[0], "the cluster of kafkajs") };
}

/** A client that joins no group. */
export function clusterClient(kafka: KafkaConnection, tuning: ClientTuning): ClusterClient {
  return consumerWithCluster(kafka.client(tuning), { groupId: "never-joined" }, () => ({
    name: "none",
    version: 0,
    assign: () => Promise.resolve([]),
    protocol: ({ topics }) => ({
      name: "none",
      metadata: AssignerProtocol.MemberMetadata.encode({ version: 0, topics, userData: Buffer.alloc(0) }),
    }),
  }));
}

/**
 * Connects a consumer, by way of a client whose tries end: a certificate that is not trusted is
 * reported, and not tried for as long as a consumer tries.
 */
export async function connectWaiting(kafka: KafkaConnection, consumer: Pick<Consumer, "connect">): Promise<void> {
  const { client } = clusterClient(kafka, {});
  await kafka.connectWaiting(client);
  await client.disconnect();
  await kafka.connect(consumer);
}
