import { level, rising } from "../phases.ts";
import { type AlertCase, kapi } from "./case.ts";

/** Messages that are not read, processed or acknowledged. */
export const KAFKA: readonly AlertCase[] = [
  {
    alert: "KapiConsumerLag",
    when: "6,000 messages wait in each of two partitions",
    series: Object.fromEntries(
      ["0", "1"].map((partition) => [
        kapi("kafka_consumer_lag", { group: "finance", topic: "commands.finance", partition }),
        level(4_000, 6_000),
      ]),
    ),
    labels: { group: "finance", topic: "commands.finance" },
    severity: "warning",
    summary: "Group finance is behind in commands.finance",
  },
  {
    alert: "KapiConsumerRetries",
    when: "a batch is tried again every 5 s",
    series: {
      [kapi("kafka_consumer_retries_total", { group: "finance", topic: "trading.events" })]: rising(0, 0.2),
    },
    labels: { group: "finance", topic: "trading.events" },
    severity: "warning",
    summary: "Group finance cannot process messages of trading.events",
  },
  {
    alert: "KapiDirectoryLag",
    when: "a gateway does not read the newest records",
    series: {
      [kapi("kafka_reader_lag", { job: "gateway", topic: "organization.directory", partition: "0" })]: level(0, 4),
    },
    labels: { job: "gateway" },
    severity: "warning",
    summary: "Processes of gateway do not have the newest keys and servers",
  },
  {
    alert: "KapiProduceFails",
    when: "Kafka repeatedly does not acknowledge a message",
    series: {
      [kapi("kafka_produce_failures_total", { topic: "commands.finance", outcome: "unknown" })]: rising(0, 0.1),
    },
    labels: { topic: "commands.finance" },
    severity: "critical",
    summary: "Kafka does not acknowledge messages to commands.finance",
  },
  {
    alert: "KapiDeadLetters",
    when: "messages go to the dead letters for the first time",
    series: {
      [kapi("kafka_dead_letters_total", { group: "webhooks.facts", topic: "account.events" })]: rising(0, 0.01),
    },
    labels: { group: "webhooks.facts", topic: "account.events" },
    severity: "warning",
    summary: "Group webhooks.facts sent messages of account.events to the dead letters",
  },
];
