/**
 * The worker of one command topic: Kafka → inbox → memory → executor → final state.
 *
 * It joins the consumer group, acquires the lease of each assigned partition and reads the open
 * commands from the inbox. It writes every new message to the inbox before it commits the offset,
 * and runs commands until the partition is revoked.
 *
 * Invariants: a command is in the inbox before it is sent anywhere. Only three things change the
 * state of a command: the holder of the lease of its partition, the booking of its event, and the
 * activation of its risk rules. The last two need no lease. Every command in memory is also in the
 * inbox, so a crash loses nothing.
 */
import { hostname } from "node:os";

import type { TopicContract } from "@kapi/contracts";
import { assertDefined, batcher, type Clock, delay } from "@kapi/kernel";
import {
  type Batch,
  type BatchOutcome,
  type Consumer,
  startConsumer,
  type DeadLetter,
  type KafkaConnection,
  type Message,
  partitionCounts,
  partitionOfKey,
  RetryableError,
} from "@kapi/kafka";
import { isTransient } from "@kapi/postgres";
import { faultPoint, type Health, type Logger, type Started } from "@kapi/runtime";

import { column, jsonLines } from "./columns.ts";
import { decode, type Incoming } from "./decode.ts";
import type { CommandExecutor } from "./executor.ts";
import { BUSY_INTERVAL_MS, DRAIN_DEADLINE_MS, MAX_INBOX_BATCH, MAX_PARTITIONS_PER_INSERT } from "./limits.ts";
import { Partitions } from "./partitions.ts";
import { Runner } from "./runner.ts";
import { PartitionLeases } from "./partition-leases.ts";
import { measureWorker } from "./measures.ts";
import { moveOpenCommands } from "./move-open-commands.ts";
import { Scheduler } from "./scheduler.ts";
import { INSERT_INBOX } from "./statements.ts";
import type { CommandStore } from "./store.ts";

/** What a service chooses about its worker: the topic, the executor, and the sizes of batches. */
export interface CommandWorkerOptions<Effect> {
  /** Name of the service; also its consumer group, and the prefix of its fault points. */
  readonly worker: string;
  readonly topic: TopicContract;
  readonly store: CommandStore;
  readonly kafka: KafkaConnection;
  readonly executor: CommandExecutor<Effect>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly health: Health;
  /** Called once when the worker cannot continue. The process should end. */
  readonly fatal: (error: Error) => void;
  /** Maximum number of commands in one executor call; lower for large results. Default 200. */
  readonly maxBatchCommands?: number;
  /**
   * Maximum number of commands of one account in one executor call, in log order. Only for an
   * executor whose trading server applies them in this order. Default 1.
   */
  readonly maxAccountCommands?: number;
  /** For jitter. Default Math.random. */
  readonly random?: () => number;
}

/** A running worker of one command topic. */
export interface CommandWorker {
  /** Number of commands in memory. */
  loaded(): number;
}

/**
 * Starts the worker. `stop` waits for running batches, up to a deadline.
 * @throws if the topic does not exist, if its number of partitions was changed by another tool than
 * `kapi admin partitions grow`, or if Kafka or PostgreSQL cannot be used.
 */
export async function startCommandWorker<Effect>(
  options: CommandWorkerOptions<Effect>,
): Promise<Started<CommandWorker>> {
  const { worker, topic, store, clock, logger, health } = options;
  const random = options.random ?? Math.random;
  const counts = await partitionCounts(options.kafka);
  const count = assertDefined(counts.get(options.kafka.topicName(topic)), `topic ${topic.name}`);
  await moveOpenCommands({ ...store, ...options }, topic, count);
  const leases = new PartitionLeases(topic, `${hostname()}/${process.pid}`);
  const scheduler = new Scheduler({
    clock,
    random,
    ...(options.maxBatchCommands === undefined ? {} : { maxBatchCommands: options.maxBatchCommands }),
    ...(options.maxAccountCommands === undefined ? {} : { maxAccountCommands: options.maxAccountCommands }),
    run: (serverId, mode, batch) => runner.run(serverId, mode, batch),
    onBreaker: (serverId, open) =>
      logger.warn(
        { serverId },
        open ? "trading server unreachable: its commands are parked" : "trading server reachable again",
      ),
  });
  const insert = inboxWriter(store);
  const partitions = new Partitions({ store, leases, scheduler, logger });
  const runner = new Runner({
    ...options,
    leases,
    random,
    onFinal: (entry) => partitions.remove(entry),
    onRetry: (entry, delayMs) => scheduler.retry(entry, delayMs),
    onLeaseLost: (lease) => partitions.handleLeaseLost(lease),
  });
  store.attach({
    messageOf: (commandId) => partitions.find(commandId)?.message,
    onFinal: (commandIds) => partitions.removeAll(commandIds),
  });

  let consumer: Started<Consumer> | null = null;
  health.liveness(`${worker} commands`, () => consumer?.value.check() ?? null);
  health.readiness(`${worker} commands`, () => partitions.check());
  try {
    consumer = await startConsumer(options.kafka, {
      groupId: worker,
      topics: [topic],
      onBatch: async (batch) => {
        const messages = await forwardMisplaced(options, batch, count);
        return storeBatch(options, partitions, insert, { ...batch, messages });
      },
      onAssigned: async (assignment, generation) => {
        const mine = assignment.filter((assigned) => assigned.topic.name === topic.name);
        const given = mine.flatMap((assigned) => assigned.partitions);
        await partitions.assign(given, generation);
      },
      maxBatchMessages: MAX_INBOX_BATCH,
      busyIntervalMs: BUSY_INTERVAL_MS,
      logger,
      fatal: options.fatal,
    });
  } catch (error) {
    runner.stop();
    await Promise.all([partitions.stop(), scheduler.stop()]);
    throw error;
  }
  const running = consumer;
  const stopMeasuring = measureWorker(worker, { partitions, scheduler, clock });
  return {
    value: { loaded: () => partitions.loaded() },
    stop: async () => {
      stopMeasuring();
      await running.stop();
      await Promise.race([scheduler.stop(), delay(DRAIN_DEADLINE_MS)]);
      runner.stop();
      await partitions.stop();
    },
  };
}

/**
 * Returns a function that writes rows to the inbox and resolves to the ids of the new commands.
 * Batches of several partitions that arrive at the same time share one statement.
 */
function inboxWriter({ database }: CommandStore): (rows: readonly Incoming[]) => Promise<ReadonlySet<string>> {
  return batcher({
    load: async (parts) => {
      const inserted = await database.query(INSERT_INBOX, columns(parts.flat()));
      const fresh = new Set(inserted.map(({ command_id: commandId }) => commandId));
      return parts.map(() => fresh);
    },
    maxBatchSize: MAX_PARTITIONS_PER_INSERT,
    maxConcurrentBatches: 1,
  });
}

/**
 * Sends messages that are on a wrong partition to the partitions of their keys; returns the rest. A
 * producer that was frozen while the topic grew may send such a message after the growth. Its
 * request was never answered 202, so the command need not run before other commands of the account.
 */
async function forwardMisplaced(
  { worker, topic, store, logger }: Pick<CommandWorkerOptions<never>, "worker" | "topic" | "store" | "logger">,
  { partition, messages }: Batch,
  partitions: number,
): Promise<readonly Message[]> {
  const isMisplaced = ({ key }: Message): boolean => partitionOfKey(key, partitions) !== partition;
  const misplaced = messages.filter(isMisplaced);
  if (misplaced.length === 0) return messages;
  logger.warn(
    { worker, partition, messages: misplaced.length },
    "commands are on a wrong partition: they are sent to the partitions of their keys",
  );
  try {
    await Promise.all(misplaced.map(({ key, value, headers }) => store.producer.send(topic, { key, value, headers })));
  } catch (error) {
    throw new RetryableError("commands on a wrong partition were not sent to the partitions of their keys", {
      cause: error,
    });
  }
  return messages.filter((message) => !isMisplaced(message));
}

/**
 * Writes a batch of messages to the inbox. Adds the new commands to their partition, and repeated
 * commands that are open but not in memory.
 */
async function storeBatch(
  { worker, logger }: Pick<CommandWorkerOptions<never>, "worker" | "logger">,
  partitions: Partitions,
  insert: (rows: readonly Incoming[]) => Promise<ReadonlySet<string>>,
  batch: Batch,
): Promise<BatchOutcome> {
  const deadLetters: DeadLetter[] = [];
  const incoming = new Map<string, Incoming>();
  for (const message of batch.messages) {
    const decoded = decode(message, batch.partition);
    if (typeof decoded === "string") deadLetters.push({ message, reason: decoded });
    else if (!incoming.has(decoded.message.commandId)) incoming.set(decoded.message.commandId, decoded);
  }
  if (deadLetters.length > 0)
    logger.error({ messages: deadLetters.length }, "messages name no command: they go to the dead letters");
  for (const { message, unreadable: reason } of incoming.values()) {
    if (reason === null) continue;
    logger.error({ commandId: message.commandId, reason }, "a command's message cannot be read: the command fails");
  }
  if (incoming.size === 0) return { deadLetters };
  try {
    const rows = [...incoming.values()];
    const fresh = await insert(rows);
    faultPoint(`${worker}.after-inbox`);
    partitions.add(
      batch.partition,
      rows.filter(({ message }) => fresh.has(message.commandId)),
    );
    const repeats = [...incoming.keys()].filter((commandId) => !fresh.has(commandId));
    if (repeats.length > 0) await partitions.addRepeats(batch.partition, repeats);
  } catch (error) {
    if (isTransient(error)) throw new RetryableError("the inbox cannot be written", { cause: error });
    throw error;
  }
  return { deadLetters };
}

function columns(rows: readonly Incoming[]): unknown[] {
  return [
    column(rows.map(({ partition }) => partition)),
    column(rows.map(({ message }) => message.commandId)),
    column(rows.map(({ offset }) => offset)),
    column(rows.map(({ message }) => message.serverId)),
    jsonLines(rows.map(({ text }) => text)),
    jsonLines(
      rows.map(({ message }) => (message.sealedPassword === null ? null : JSON.stringify(message.sealedPassword))),
    ),
  ];
}
