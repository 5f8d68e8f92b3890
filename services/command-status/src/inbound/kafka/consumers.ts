import { CommandEvent, AnyCommandMessage, TOPICS, type TopicContract } from "@kapi/contracts";
import {
  type Batch,
  type Consumer,
  startConsumer,
  type DeadLetter,
  type KafkaConnection,
  type Message,
  RetryableError,
} from "@kapi/kafka";
import { batcher, type Urgency } from "@kapi/kernel";
import { isTransient, isUniqueViolation } from "@kapi/postgres";
import type { Logger, Started } from "@kapi/runtime";
import type { z } from "zod";

import { COMMAND_TOPICS } from "../../domain/command-topics.ts";
import type { AssignedTopic, TopicIdRepository, LogPosition } from "../../domain/ports.ts";
import { storeTopicIds } from "../../operations/check-topics.ts";
import type { CommandIngestion } from "../../operations/ingest-commands.ts";

/** Maximum number of records in one batch. */
const MAX_BATCH_MESSAGES = 1_000;
const MAX_PARTITIONS_PER_STATEMENT = 4;
/**
 * Minimum interval between batches while no caller waits for a command or for `caught-up`. States
 * appear later by up to this time, and batches and statements are fewer and larger.
 */
const UNHURRIED_INTERVAL_MS = 200;
/** Minimum interval between batches under load, also while a caller waits. */
const BUSY_INTERVAL_MS = 15;

interface ConsumerDependencies {
  readonly kafka: KafkaConnection;
  readonly ingestion: CommandIngestion;
  readonly topics: TopicIdRepository;
  /** While a caller waits, {@link UNHURRIED_INTERVAL_MS} does not apply. */
  readonly urgency: Urgency;
  readonly logger: Logger;
  readonly fatal: (error: Error) => void;
}

/** Starts the consumer that ingests the messages of `commands.*`. Resolves once it has joined. */
export function startMessageConsumer({ ingestion, ...options }: ConsumerDependencies): Promise<Started<Consumer>> {
  return startIngestionConsumer(options, {
    groupId: "command-status.commands",
    topics: COMMAND_TOPICS,
    schema: AnyCommandMessage,
    // The value may hold a sealed password.
    includeValue: false,
    ingest: ingestion.ingestMessages,
  });
}

/** Starts the consumer that ingests `command.events`. Resolves once it has joined. */
export function startEventConsumer({ ingestion, ...options }: ConsumerDependencies): Promise<Started<Consumer>> {
  return startIngestionConsumer(options, {
    groupId: "command-status.events",
    topics: [TOPICS.commandEvents],
    schema: CommandEvent,
    includeValue: true,
    ingest: ingestion.ingestEvents,
  });
}

interface IngestionOptions<T> {
  readonly groupId: string;
  readonly topics: readonly TopicContract[];
  readonly schema: z.ZodType<T>;
  /** Whether the dead letter of an invalid record includes its value. */
  readonly includeValue: boolean;
  readonly ingest: Ingest<T>;
}

type Ingest<T> = (values: readonly T[], positions: readonly LogPosition[]) => Promise<void>;

function startIngestionConsumer<T>(
  { kafka, topics: topicIds, urgency, ...options }: Omit<ConsumerDependencies, "ingestion">,
  { groupId, topics, schema, includeValue, ingest }: IngestionOptions<T>,
): Promise<Started<Consumer>> {
  const ingestBatched = batchPartitions(ingest);
  let storing: Promise<void> | null = null;
  let assigned: readonly AssignedTopic[] = [];
  /** Runs once per assignment. After a failure the next batch retries. */
  const storeIds = async (): Promise<void> => {
    storing ??= storeTopicIds(topicIds, assigned);
    const current = storing;
    try {
      await current;
    } catch (error) {
      if (storing === current) storing = null;
      throw error;
    }
  };
  return startConsumer(kafka, {
    ...options,
    groupId,
    topics,
    maxBatchMessages: MAX_BATCH_MESSAGES,
    busyIntervalMs: BUSY_INTERVAL_MS,
    unhurried: { intervalMs: UNHURRIED_INTERVAL_MS, urgency },
    onAssigned: (assignment) => {
      storing = null;
      assigned = assignment.flatMap(({ topic, topicId, partitions }) =>
        topicId === null ? [] : [{ topic: topic.name, topicId, partitions }],
      );
      return Promise.resolve();
    },
    onBatch: async (batch) => {
      await retried(storeIds);
      const { values, deadLetters } = valuesOf(batch, schema, includeValue);
      await retried(() => ingestBatched({ values, position: positionAfter(batch) }));
      return { deadLetters };
    },
  });
}

/** The valid records of a batch, and the position after the batch. */
interface PartitionBatch<T> {
  readonly values: readonly T[];
  readonly position: LogPosition;
}

/** Returns a function that ingests a batch. Concurrent calls share one statement. */
function batchPartitions<T>(ingest: Ingest<T>): (batch: PartitionBatch<T>) => Promise<void> {
  return batcher<PartitionBatch<T>, void>({
    load: async (batches) => {
      await ingest(
        batches.flatMap(({ values }) => values),
        batches.map(({ position }) => position),
      );
      return batches.map(() => undefined);
    },
    maxBatchSize: MAX_PARTITIONS_PER_STATEMENT,
    maxConcurrentBatches: 1,
  });
}

/** Parses the records of a batch. Invalid records become dead letters. */
function valuesOf<T>(
  batch: Batch,
  schema: z.ZodType<T>,
  includeValue: boolean,
): { values: T[]; deadLetters: DeadLetter[] } {
  const values: T[] = [];
  const deadLetters: DeadLetter[] = [];
  for (const message of batch.messages) {
    const parsed = schema.safeParse(jsonOf(message));
    if (parsed.success) values.push(parsed.data);
    else deadLetters.push({ message, reason: `not a valid record: ${parsed.error.message}`, includeValue });
  }
  return { values, deadLetters };
}

function positionAfter(batch: Batch): LogPosition {
  const nextOffset = (batch.messages.at(-1)?.offset ?? -1n) + 1n;
  return { topic: batch.topic.name, partition: batch.partition, nextOffset };
}

/** Runs `work`. @throws RetryableError for a temporary failure, so that the batch is retried. */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isTransient(error)) throw new RetryableError("PostgreSQL is unavailable", { cause: error });
    // The table `commands` of release 0.1.0 has two unique indexes. `on conflict` of this release
    // names one of them, `on conflict` of release 0.1.0 the other. A process of release 0.1.0 may
    // insert the same row at the same time. The retry finds that row.
    if (isUniqueViolation(error)) throw new RetryableError("another process stored the same row", { cause: error });
    throw error;
  }
}

/** The parsed value; undefined, which no schema accepts, if the value is not JSON. */
function jsonOf(message: Message): unknown {
  try {
    return JSON.parse(message.value.toString());
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
