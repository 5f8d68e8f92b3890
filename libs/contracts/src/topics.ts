/** One Kafka topic. It keeps records for a time, or the newest record of each key. */
export interface TopicContract {
  readonly name: string;
  readonly cleanup: "delete" | "compact";
  /** Only for `delete`. */
  readonly retentionMs?: number;
  /** The meaning of the record key, for readers of this table. */
  readonly key: string;
  /** The topic with the same number of partitions and the same partition for each key, if any. */
  readonly partitionsAs?: string;
  /** Only for a topic whose number of partitions never changes. */
  readonly partitions?: number;
  /**
   * Maximum size of a record, in bytes of key, value and headers. Only for a topic whose maximum is
   * above the default of all topics.
   */
  readonly maxMessageBytes?: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/**
 * Maximum size of a record of `command.events`, in bytes. The largest events are those of exports:
 * the export service limits the exported records of one result to 4,000,000 bytes in total.
 */
export const MAX_COMMAND_EVENT_BYTES = 4 * 1024 * 1024;
/** Maximum size of the headers that a dead letter adds to the original record, in bytes. */
const DEAD_LETTER_HEADER_BYTES = 16 * 1024;
const ACCOUNT_KEY = "serverId/accountNumber";

/** Every topic, declared once (architecture, 2). The topics job creates exactly these. */
export const TOPICS = {
  commandsAccount: {
    name: "commands.account",
    cleanup: "delete",
    retentionMs: 7 * DAY_MS,
    key: `${ACCOUNT_KEY}; a creation: managedAccountId`,
  },
  commandsFinance: { name: "commands.finance", cleanup: "delete", retentionMs: 7 * DAY_MS, key: ACCOUNT_KEY },
  commandsExport: { name: "commands.export", cleanup: "delete", retentionMs: 7 * DAY_MS, key: ACCOUNT_KEY },
  commandsRisk: {
    name: "commands.risk",
    cleanup: "delete",
    retentionMs: 7 * DAY_MS,
    key: `${ACCOUNT_KEY}; a template: serverId`,
  },
  commandEvents: {
    name: "command.events",
    cleanup: "delete",
    retentionMs: 7 * DAY_MS,
    key: "commandId",
    maxMessageBytes: MAX_COMMAND_EVENT_BYTES,
  },
  tradingEvents: { name: "trading.events", cleanup: "delete", retentionMs: 7 * DAY_MS, key: ACCOUNT_KEY },
  tradingValuations: { name: "trading.valuations", cleanup: "delete", retentionMs: HOUR_MS, key: ACCOUNT_KEY },
  metricsSamples: {
    name: "metrics.samples",
    cleanup: "delete",
    retentionMs: DAY_MS,
    key: ACCOUNT_KEY,
    partitionsAs: "trading.valuations",
  },
  metricsLatest: {
    name: "metrics.latest",
    cleanup: "compact",
    key: `${ACCOUNT_KEY}; a marker: partition/<number>`,
    partitionsAs: "trading.valuations",
  },
  organizationDirectory: {
    name: "organization.directory",
    cleanup: "compact",
    key: "key/<keyId>, server/<serverId> or prices",
  },
  accountEvents: { name: "account.events", cleanup: "delete", retentionMs: 7 * DAY_MS, key: ACCOUNT_KEY },
  financeEvents: { name: "finance.events", cleanup: "delete", retentionMs: 7 * DAY_MS, key: ACCOUNT_KEY },
  riskEvents: { name: "risk.events", cleanup: "delete", retentionMs: 7 * DAY_MS, key: ACCOUNT_KEY },
  creditsEvents: { name: "credits.events", cleanup: "delete", retentionMs: 7 * DAY_MS, key: "organizationId" },
  apiRequests: { name: "api.requests", cleanup: "delete", retentionMs: DAY_MS, key: "organizationId" },
  partitionGrowth: { name: "partition.growth", cleanup: "compact", key: "the word growth", partitions: 1 },
  deadLetter: {
    name: "dead-letter",
    cleanup: "delete",
    retentionMs: 30 * DAY_MS,
    key: "the original key",
    maxMessageBytes: MAX_COMMAND_EVENT_BYTES + DEAD_LETTER_HEADER_BYTES,
  },
} as const satisfies Record<string, TopicContract>;

/**
 * The topics whose partitions grow together (decisions, 28): all but two. `organization.directory`
 * has few records, and every process reads all of them. `partition.growth` has the state of the
 * growth itself.
 */
export const GROWING_TOPICS: readonly TopicContract[] = Object.values(TOPICS).filter(
  (topic: TopicContract) => topic.cleanup === "delete" || topic.partitionsAs !== undefined,
);

/** The record key of everything that concerns one account. */
export function accountKey(serverId: string, accountNumber: string): string {
  return `${serverId}/${accountNumber}`;
}
