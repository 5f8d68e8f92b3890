import { TOPICS } from "@kapi/contracts";
import { createKafka, startProducer } from "@kapi/kafka";
import type { TestStack } from "@kapi/local/test-stack";
import { createLogger } from "@kapi/runtime";

/** Publishes messages on topics of a stack, in order, as a service of the stack would do it. */
export async function publish(
  { environment: { kafkaBrokers, topicPrefix } }: TestStack,
  messages: readonly { topic: keyof typeof TOPICS; key: string; value: string }[],
): Promise<void> {
  const logger = createLogger({ service: "test", level: "error" });
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
  const producer = await startProducer(kafka);
  for (const { topic, key, value } of messages) await producer.value.send(TOPICS[topic], { key, value });
  await producer.stop();
}
