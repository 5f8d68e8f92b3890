import { AssignerProtocol, type Cluster, type Consumer } from "kafkajs";

import type { ClientTuning, KafkaConnection } from "./connection.ts";

/** A client that is no member of a group: what `connect` and `disconnect` are called on, and its way to the brokers. */
export interface ClusterClient {
  readonly client: Pick<Consumer, "connect" | "disconnect">;
  readonly cluster: Cluster;
}

/** kafkajs hands its cluster (connections, metadata, requests) to partition assigners; this one only keeps hold of it. */
export function clusterClient(kafka: KafkaConnection, tuning: ClientTuning): ClusterClient {
  let cluster: Cluster | null = null;
  const client = kafka.client(tuning).consumer({
    groupId: "never-joined",
    allowAutoTopicCreation: false,
    partitionAssigners: [
      (config) => {
        cluster = config.cluster;
        return {
          name: "none",
          version: 0,
          assign: () => Promise.resolve([]),
          protocol: ({ topics }) => ({
            name: "none",
            metadata: AssignerProtocol.MemberMetadata.encode({ version: 0, topics, userData: Buffer.alloc(0) }),
          }),
        };
      },
    ],
  });
  if (cluster === null) throw new TypeError("kafkajs did not hand over its cluster");
  return { client, cluster };
}

/**
 * Connects a consumer, by way of a client whose tries end: a certificate that is not trusted is reported, and not tried for
 * as long as a consumer tries.
 */
export async function connectWaiting(kafka: KafkaConnection, consumer: Pick<Consumer, "connect">): Promise<void> {
  const { client } = clusterClient(kafka, {});
  await kafka.connectWaiting(client);
  await client.disconnect();
  await kafka.connect(consumer);
}
