import type { TopicContract } from "@kapi/contracts";
import kafkajs from "kafkajs";

import type { KafkaConnection } from "../src/connection.ts";

/** Taken from the default export: Node finds no such named exports in kafkajs. */
const { ConfigResourceTypes, ConfigSource } = kafkajs;

/** Changes settings of an existing topic, by name ("retention.ms"); its other settings stay. */
export async function alterTopic(
  kafka: KafkaConnection,
  topic: TopicContract,
  configs: Readonly<Record<string, string>>,
): Promise<void> {
  const resource = { type: ConfigResourceTypes.TOPIC, name: kafka.topicName(topic) };
  const admin = kafka.client().admin();
  await kafka.connect(admin);
  try {
    const { resources } = await admin.describeConfigs({ resources: [resource], includeSynonyms: false });
    const own = (resources[0]?.configEntries ?? []).filter(
      ({ configSource }) => configSource === ConfigSource.TOPIC_CONFIG,
    );
    // Kafka resets settings that the request does not contain.
    const all = {
      ...Object.fromEntries(own.map(({ configName, configValue }) => [configName, configValue])),
      ...configs,
    };
    const configEntries = Object.entries(all).map(([name, value]) => ({ name, value }));
    await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] });
  } finally {
    await admin.disconnect();
  }
}
