import { LoggedRequests, TOPICS } from "@kapi/contracts";
import { type Consumer, type DeadLetter, type KafkaConnection, RetryableError, startConsumer } from "@kapi/kafka";
import { isTransient } from "@kapi/postgres";
import type { Logger, Started } from "@kapi/runtime";

/** Kafka stores the offsets of the group under this name, so it must not change. */
const GROUP = "console.requests";
/** Maximum number of records in one transaction: up to 20,000 requests. */
const MAX_BATCH_RECORDS = 100;
/**
 * Minimum time from the start of a batch to the next fetch: fewer and larger batches. Each process
 * that answers requests of callers publishes its logged requests every 500 ms.
 */
const MIN_INTERVAL_MS = 200;

interface RequestConsumerDependencies {
  readonly kafka: KafkaConnection;
  readonly store: (records: readonly LoggedRequests[]) => Promise<void>;
  readonly logger: Logger;
  readonly fatal: (error: Error) => void;
}

/** Stores the requests of `api.requests`. An offset is committed after its requests are stored. */
export function startRequestConsumer({
  kafka,
  store,
  logger,
  fatal,
}: RequestConsumerDependencies): Promise<Started<Consumer>> {
  return startConsumer(kafka, {
    groupId: GROUP,
    topics: [TOPICS.apiRequests],
    maxBatchMessages: MAX_BATCH_RECORDS,
    // One batch at a time: this process also answers requests of browsers, which have priority.
    concurrentPartitions: 1,
    minIntervalMs: MIN_INTERVAL_MS,
    // The request log may have gaps: if the topic was recreated, the consumer continues with the
    // new topic.
    restartBeyondEnd: true,
    logger,
    fatal,
    onBatch: async ({ messages }) => {
      const deadLetters: DeadLetter[] = [];
      const records: LoggedRequests[] = [];
      for (const message of messages) {
        const record = recordFrom(message.value);
        if (record === null) deadLetters.push({ message, reason: "malformed requests" });
        else records.push(record);
      }
      try {
        await store(records);
      } catch (error) {
        throw isTransient(error) ? new RetryableError("requests cannot be stored", { cause: error }) : error;
      }
      return { deadLetters };
    },
  });
}

/** Null: malformed. */
function recordFrom(value: Buffer): LoggedRequests | null {
  try {
    return LoggedRequests.parse(JSON.parse(value.toString("utf8")));
  } catch {
    return null;
  }
}
