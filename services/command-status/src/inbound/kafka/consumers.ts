import { CommandEvent, AnyCommandMessage, TOPICS, type TopicContract } from "@kapi/contracts";
import {
  type Batch,
  type Consumer,
  createConsumer,
  type DeadLetter,
  type KafkaConnection,
  type Message,
  RetryableError,
} from "@kapi/kafka";
import { batcher } from "@kapi/kernel";
import { isTransient, isUniqueViolation } from "@kapi/postgres";
import type { Logger, Started } from "@kapi/runtime";
import type { z } from "zod";

import { COMMAND_TOPICS } from "../../domain/command-topics.ts";
import type { AssignedTopic, KnownTopics, LogPosition } from "../../domain/ports.ts";
import { rememberTopics } from "../../operations/check-topics.ts";
import type { CommandIntake } from "../../operations/take-in-commands.ts";

/** Most records of one batch. */
const MAX_BATCH_MESSAGES = 1_000;
const MAX_PARTITIONS_TOGETHER = 4;
/**
 * Under load a state is shown this much later; the statements are several times as large, and as
 * many times fewer.
 */
const BUSY_INTERVAL_MS = 40;

export interface ConsumerNeeds {
  readonly kafka: KafkaConnection;
  readonly intake: CommandIntake;
  readonly topics: KnownTopics;
  readonly logger: Logger;
  readonly fatal: (error: Error) => void;
}

/** Joins the group that takes `commands.*` in. */
export function createMessageConsumer({ intake, ...options }: ConsumerNeeds): Promise<Started<Consumer>> {
  return createIntakeConsumer(options, {
    groupId: "command-status.commands",
    topics: COMMAND_TOPICS,
    schema: AnyCommandMessage,
    // It may hold a sealed password.
    includeValue: false,
    take: intake.takeMessages,
  });
}

/** Joins the group that takes `command.events` in. */
export function createEventConsumer({ intake, ...options }: ConsumerNeeds): Promise<Started<Consumer>> {
  return createIntakeConsumer(options, {
    groupId: "command-status.events",
    topics: [TOPICS.commandEvents],
    schema: CommandEvent,
    includeValue: true,
    take: intake.takeEvents,
  });
}

interface Intake<T> {
  readonly groupId: string;
  readonly topics: readonly TopicContract[];
  readonly schema: z.ZodType<T>;
  /** Whether the dead letter of a record that is none has its value. */
  readonly includeValue: boolean;
  readonly take: Take<T>;
}

type Take<T> = (values: readonly T[], positions: readonly LogPosition[]) => Promise<void>;

function createIntakeConsumer<T>(
  { kafka, topics: known, ...options }: Omit<ConsumerNeeds, "intake">,
  { groupId, topics, schema, includeValue, take }: Intake<T>,
): Promise<Started<Consumer>> {
  const takeTogether = together(take);
  let remembered: Promise<void> | null = null;
  let assigned: readonly AssignedTopic[] = [];
  /** Once for each assignment; where the database is away, the next batch tries again. */
  const remember = async (): Promise<void> => {
    remembered ??= rememberTopics(known, assigned);
    const current = remembered;
    try {
      await current;
    } catch (error) {
      if (remembered === current) remembered = null;
      throw error;
    }
  };
  return createConsumer(kafka, {
    ...options,
    groupId,
    topics,
    maxBatchMessages: MAX_BATCH_MESSAGES,
    busyIntervalMs: BUSY_INTERVAL_MS,
    onAssigned: (assignment) => {
      remembered = null;
      assigned = assignment.flatMap(({ topic, topicId, partitions }) =>
        topicId === null ? [] : [{ topic: topic.name, topicId, partitions }],
      );
      return Promise.resolve();
    },
    onBatch: async (batch) => {
      await retried(remember);
      const { values, deadLetters } = valuesOf(batch, schema, includeValue);
      await retried(() => takeTogether({ values, position: positionAfter(batch) }));
      return { deadLetters };
    },
  });
}

/** What came of one partition. */
interface Part<T> {
  readonly values: readonly T[];
  readonly position: LogPosition;
}

/** Partitions that are handled at the same time share one statement. */
function together<T>(take: Take<T>): (part: Part<T>) => Promise<void> {
  return batcher<Part<T>, void>({
    load: async (parts) => {
      await take(
        parts.flatMap(({ values }) => values),
        parts.map(({ position }) => position),
      );
      return parts.map(() => undefined);
    },
    maxBatchSize: MAX_PARTITIONS_TOGETHER,
    maxConcurrentBatches: 1,
  });
}

/** Reads the batch by its contract; what has another form goes to the dead letters. */
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

/** Runs `work`; what may succeed a little later comes again with its batch. */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isTransient(error)) throw new RetryableError("a store is not available", { cause: error });
    // The old table has two unique indexes, and `on conflict` names one: a statement of the release
    // before, which names the other, may insert the same row at the same moment. The next try finds
    // that row.
    if (isUniqueViolation(error)) throw new RetryableError("another process stored the same row", { cause: error });
    throw error;
  }
}

/** The value as JSON, or undefined, which no contract accepts. */
function jsonOf(message: Message): unknown {
  try {
    return JSON.parse(message.value.toString());
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
