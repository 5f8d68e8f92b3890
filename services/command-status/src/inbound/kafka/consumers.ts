import { CommandEvent, CommandMessage, TOPICS } from "@kapi/contracts";
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
import { isTransient } from "@kapi/postgres";
import type { Logger, Started } from "@kapi/runtime";
import type { z } from "zod";

import { COMMAND_TOPICS } from "../../domain/command-topics.ts";
import type { LogPosition } from "../../domain/ports.ts";
import { type CommandIntake, TooManyHeld } from "../../operations/take-in-commands.ts";
import type { EventPartitions } from "./event-partitions.ts";

/** Most records of one batch. */
const MAX_BATCH_MESSAGES = 1_000;
const MAX_PARTITIONS_TOGETHER = 4;
/** Under load a state is shown this much later; the statements are several times as large, and as many times fewer. */
const BUSY_INTERVAL_MS = 40;

export interface ConsumerNeeds {
  readonly kafka: KafkaConnection;
  readonly intake: CommandIntake;
  readonly eventPartitions: EventPartitions;
  readonly logger: Logger;
  readonly fatal: (error: Error) => void;
}

/** Joins the group that takes `commands.*` in. */
export function createMessageConsumer({ kafka, intake, logger, fatal }: ConsumerNeeds): Promise<Started<Consumer>> {
  return createConsumer(kafka, {
    groupId: "command-status.commands",
    topics: COMMAND_TOPICS,
    maxBatchMessages: MAX_BATCH_MESSAGES,
    busyIntervalMs: BUSY_INTERVAL_MS,
    logger,
    fatal,
    onAssigned: () => intake.forget(),
    onBatch: async (batch) => {
      // Never the value: it may hold a sealed password.
      const { records, deadLetters } = recordsOf(batch, CommandMessage, { includeValue: false });
      const messages = records.map(({ value, offset }) => ({ message: value, offset }));
      const commitOffset = await retried(() => intake.takeMessages(positionAfter(batch), messages));
      return { deadLetters, commitOffset };
    },
    beforeLastCommit: () => intake.writeAll(),
  });
}

/** Joins the group that takes `command.events` in. */
export function createEventConsumer({
  kafka,
  intake,
  eventPartitions,
  logger,
  fatal,
}: ConsumerNeeds): Promise<Started<Consumer>> {
  const take = together((events, positions) => intake.takeEvents(events, positions));
  return createConsumer(kafka, {
    groupId: "command-status.events",
    topics: [TOPICS.commandEvents],
    maxBatchMessages: MAX_BATCH_MESSAGES,
    busyIntervalMs: BUSY_INTERVAL_MS,
    logger,
    fatal,
    onAssigned: async (assignment) => {
      eventPartitions.assigned(assignment.flatMap(({ partitions }) => partitions));
    },
    onBatch: async (batch) => {
      const { records, deadLetters } = recordsOf(batch, CommandEvent, { includeValue: true });
      const events = records.map(({ value }) => value);
      await retried(() => take({ events, position: positionAfter(batch) }));
      return { deadLetters };
    },
  });
}

/** What came of one partition. */
interface Part {
  readonly events: readonly CommandEvent[];
  readonly position: LogPosition;
}

/**
 * Partitions that are handled at the same time share one statement. A command is in one partition only, so their parts
 * never meet in a row.
 */
function together(work: CommandIntake["takeEvents"]): (part: Part) => Promise<void> {
  return batcher<Part, void>({
    load: async (parts) => {
      await work(
        parts.flatMap(({ events }) => events),
        parts.map(({ position }) => position),
      );
      return parts.map(() => undefined);
    },
    maxBatchSize: MAX_PARTITIONS_TOGETHER,
    maxConcurrentBatches: 1,
  });
}

/** Reads the batch by its contract; what has another form goes to the dead letters. */
function recordsOf<S extends z.ZodType>(
  batch: Batch,
  schema: S,
  { includeValue }: { readonly includeValue: boolean },
): { records: { value: z.output<S>; offset: bigint }[]; deadLetters: DeadLetter[] } {
  const records: { value: z.output<S>; offset: bigint }[] = [];
  const deadLetters: DeadLetter[] = [];
  for (const message of batch.messages) {
    const parsed = schema.safeParse(jsonOf(message));
    if (parsed.success) records.push({ value: parsed.data, offset: message.offset });
    else deadLetters.push({ message, reason: `not a valid record: ${parsed.error.message}`, includeValue });
  }
  return { records, deadLetters };
}

function positionAfter(batch: Batch): LogPosition {
  const nextOffset = (batch.messages.at(-1)?.offset ?? -1n) + 1n;
  return { topic: batch.topic.name, partition: batch.partition, nextOffset };
}

/** Whether the same may succeed later. */
export function isPassing(error: unknown): boolean {
  return isTransient(error);
}

async function retried<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TooManyHeld) throw new RetryableError(error.message, { cause: error });
    if (isPassing(error)) throw new RetryableError("a store is not available", { cause: error });
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
