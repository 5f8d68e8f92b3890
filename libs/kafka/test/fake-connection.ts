import { createLogger } from "@kapi/runtime";
import type { Admin, Cluster, ConsumerConfig, Kafka } from "kafkajs";

import { createKafka, type KafkaConnection } from "../src/connection.ts";

/**
 * A connection whose clients have the given parts of a cluster and of an admin client. For tests of
 * states that a real cluster has only for moments.
 */
export function fakeConnection(cluster: object, admin: Partial<Admin> = {}): KafkaConnection {
  const connected = { connect: () => Promise.resolve(), disconnect: () => Promise.resolve() };
  const client = {
    admin: () => ({ ...connected, ...admin }),
    consumer: ({ partitionAssigners = [] }: ConsumerConfig) => {
      const given = { cluster: cluster as Cluster, groupId: "", logger: null as never };
      for (const assigner of partitionAssigners) assigner(given);
      return connected;
    },
  } as unknown as Kafka;
  const logger = createLogger({ service: "test", level: "silent" });
  return { ...createKafka({ brokers: [], clientId: "test", topicPrefix: "", logger }), client: () => client };
}
