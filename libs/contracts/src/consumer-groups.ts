import { TOPICS, type TopicContract } from "./topics.ts";

/** Kafka stores the offsets of the group under this name, so it must not change. */
export const WEBHOOKS_GROUP = "webhooks.facts";

const NOT_DRAINED: readonly TopicContract[] = [];

/**
 * Every consumer group, and the topics that it must have read to their ends before the topics grow
 * (decisions, 28). Other topics may have unread records: their consumers accept the records of a
 * key in any order.
 */
export const CONSUMER_GROUPS: Readonly<Record<string, readonly TopicContract[]>> = {
  account: [TOPICS.commandsAccount],
  finance: [TOPICS.commandsFinance],
  export: [TOPICS.commandsExport],
  risk: [TOPICS.commandsRisk],
  "account.trading-events": [TOPICS.tradingEvents],
  "finance.trading-events": [TOPICS.tradingEvents],
  "metrics-sequencer": [TOPICS.tradingValuations],
  "metrics-snapshots": [TOPICS.metricsSamples],
  "risk-evaluator": [TOPICS.tradingValuations],
  "command-status.commands": NOT_DRAINED,
  "command-status.events": NOT_DRAINED,
  "console.requests": NOT_DRAINED,
  "metrics-account-statuses": NOT_DRAINED,
  organization: NOT_DRAINED,
  "risk.accounts": NOT_DRAINED,
  [WEBHOOKS_GROUP]: NOT_DRAINED,
};
