import type { TopicContract } from "@kapi/contracts";
import kafkajs from "kafkajs";

import type { KafkaConnection } from "../src/connection.ts";

/** Not imported by name, since Node does not find these in kafkajs. */
const { ConfigResourceTypes, ConfigSource } = kafkajs;

/**
 * Gives an existing topic these settings of Kafka's, by name ("retention.ms"), beside those that it
 * has of its own.
 */
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
    // What is left out would go back to the broker's default.
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
