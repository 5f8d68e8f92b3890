import { Kafka, logLevel } from "kafkajs";

const REQUEST_TIMEOUT_MS = 15_000;

/** Deletes every topic whose name starts with `prefix`, which must not be empty. */
export async function deleteTopics(kafkaBrokers: string, prefix: string): Promise<void> {
  if (prefix === "") throw new Error("an empty prefix would delete every topic");
  const kafka = new Kafka({
    brokers: kafkaBrokers.split(","),
    clientId: "kapi-local",
    requestTimeout: REQUEST_TIMEOUT_MS,
    logLevel: logLevel.NOTHING,
  });
  const admin = kafka.admin();
  await admin.connect();
  try {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(prefix));
    if (topics.length > 0) await admin.deleteTopics({ topics, timeout: REQUEST_TIMEOUT_MS });
  } finally {
    await admin.disconnect();
  }
}
