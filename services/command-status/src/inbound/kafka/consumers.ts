import { CommandEvent, CommandMessage, TOPICS } from "@kapi/contracts";
import {
  type Batch,
  type BatchOutcome,
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
import { ClaimsUnavailable } from "../../domain/errors.ts";
import type { ClaimKeeper, CommandStore, LogPosition } from "../../domain/ports.ts";
import { takeInCommandEvents } from "../../operations/take-in-command-events.ts";
import { takeInCommandMessages } from "../../operations/take-in-command-messages.ts";

/** Most rows of one statement. */
const MAX_BATCH_MESSAGES = 1_000;
const MAX_PARTITIONS_TOGETHER = 4;
/** Under load a state is shown this much later; the statements are several times as large, and as many times fewer. */
const BUSY_INTERVAL_MS = 40;

export interface ConsumerNeeds {
  readonly kafka: KafkaConnection;
  readonly store: CommandStore;
  readonly claims: ClaimKeeper;
  readonly logger: Logger;
  readonly fatal: (error: Error) => void;
}

/** Joins the group that takes `commands.*` in. */
export function createMessageConsumer(needs: ConsumerNeeds): Promise<Started<Consumer>> {
  const { kafka, logger, fatal } = needs;
  const take = together<CommandMessage>((messages, positions) => takeInCommandMessages(needs, messages, positions));
  return createConsumer(kafka, {
    groupId: "command-status.commands",
    topics: COMMAND_TOPICS,
    maxBatchMessages: MAX_BATCH_MESSAGES,
    busyIntervalMs: BUSY_INTERVAL_MS,
    logger,
    fatal,
    onBatch: (batch) =>
      // Never the value: it may hold a sealed password.
      takeIn(batch, CommandMessage, { includeValue: false }, take),
  });
}

/** Joins the group that takes `command.events` in. */
export function createEventConsumer(needs: ConsumerNeeds): Promise<Started<Consumer>> {
  const { kafka, logger, fatal } = needs;
  const take = together<CommandEvent>((events, positions) => takeInCommandEvents(needs, events, positions));
  return createConsumer(kafka, {
    groupId: "command-status.events",
    topics: [TOPICS.commandEvents],
    maxBatchMessages: MAX_BATCH_MESSAGES,
    busyIntervalMs: BUSY_INTERVAL_MS,
    logger,
    fatal,
    onBatch: (batch) => takeIn(batch, CommandEvent, { includeValue: true }, take),
  });
}

/** What came of one partition. */
interface Part<T> {
  readonly values: readonly T[];
  readonly position: LogPosition;
}

/**
 * Partitions that are handled at the same time share one statement. A command is in one partition only, so their parts
 * never meet in a row.
 */
function together<T>(
  work: (values: readonly T[], positions: readonly LogPosition[]) => Promise<void>,
): (part: Part<T>) => Promise<void> {
  return batcher<Part<T>, void>({
    load: async (parts) => {
      const positions = parts.map(({ position }) => position);
      await work(
        parts.flatMap(({ values }) => values),
        positions,
      );
      return parts.map(() => undefined);
    },
    maxBatchSize: MAX_PARTITIONS_TOGETHER,
    maxConcurrentBatches: 1,
  });
}

/** Reads the batch by its contract, hands it on, and gives what has another form to the dead letters. */
async function takeIn<S extends z.ZodType>(
  batch: Batch,
  schema: S,
  { includeValue }: { readonly includeValue: boolean },
  take: (part: Part<z.output<S>>) => Promise<void>,
): Promise<BatchOutcome> {
  const values: z.output<S>[] = [];
  const deadLetters: DeadLetter[] = [];
  for (const message of batch.messages) {
    const parsed = schema.safeParse(jsonOf(message));
    if (parsed.success) values.push(parsed.data);
    else deadLetters.push({ message, reason: `not a valid record: ${parsed.error.message}`, includeValue });
  }
  const nextOffset = (batch.messages.at(-1)?.offset ?? -1n) + 1n;
  try {
    await take({ values, position: { topic: batch.topic.name, partition: batch.partition, nextOffset } });
  } catch (error) {
    if (isTransient(error) || error instanceof ClaimsUnavailable) {
      throw new RetryableError("a store is not available", { cause: error });
    }
    throw error;
  }
  return { deadLetters };
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
