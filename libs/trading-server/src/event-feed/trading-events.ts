/** Reads `trading.events` into the booking queue of a service. */
import { TOPICS, TradingEvent } from "@kapi/contracts";
import {
  type Batch,
  type BatchOutcome,
  type Consumer,
  startConsumer,
  type DeadLetter,
  type KafkaConnection,
  type Message,
  RetryableError,
} from "@kapi/kafka";
import { Urgency } from "@kapi/kernel";
import type { Logger, Started } from "@kapi/runtime";

import { parseStorableJson } from "../storable-json.ts";
import type { BookingQueue } from "./booking-queue.ts";

/** Minimum time from the start of a batch to the next fetch while no caller waits for events. */
const UNHURRIED_INTERVAL_MS = 200;
/** Minimum time from the start of a batch to the next fetch while a caller waits for events. */
const MIN_INTERVAL_MS = 25;

/** How one service reads the topic, and the queue that books its events. */
interface TradingEventsOptions {
  readonly kafka: KafkaConnection;
  /** The consumer group of the service. */
  readonly groupId: string;
  readonly queue: Pick<BookingQueue, "book" | "isBooked">;
  /** Whether a booking that failed with this error is retried. Otherwise the consumer ends. */
  readonly isTransient: (error: unknown) => boolean;
  /**
   * The callers that wait for events of the topic. Default: no callers. A fresh read (decisions,
   * 4.11) is not such a caller: missing events are read from the trading server.
   */
  readonly urgency?: Urgency;
  readonly logger: Logger;
  /** Called if the consumer stops with an error. The process must end. */
  readonly fatal: (error: Error) => void;
}

/**
 * Books the events of the topic. The offset of an event is committed only after the event is
 * booked, dropped or in the topic `dead-letter`, or after a gap of its account is recorded.
 */
export function startTradingEventConsumer(options: TradingEventsOptions): Promise<Started<Consumer>> {
  return startConsumer(options.kafka, {
    groupId: options.groupId,
    topics: [TOPICS.tradingEvents],
    minIntervalMs: MIN_INTERVAL_MS,
    unhurried: { intervalMs: UNHURRIED_INTERVAL_MS, urgency: options.urgency ?? new Urgency() },
    onBatch: (batch) => bookBatch(options, batch),
    logger: options.logger,
    fatal: options.fatal,
  });
}

async function bookBatch({ queue, isTransient }: TradingEventsOptions, batch: Batch): Promise<BatchOutcome> {
  const deadLetters: DeadLetter[] = [];
  const work: Promise<unknown>[] = [];
  for (const message of batch.messages) {
    const decoded = decode(message, queue);
    if (typeof decoded === "string") deadLetters.push({ message, reason: decoded, includeValue: true });
    else if (decoded !== null) work.push(queue.book(decoded, message.traceparent));
  }
  const failure = (await Promise.allSettled(work)).find((result) => result.status === "rejected");
  if (failure === undefined) return { deadLetters };
  if (isTransient(failure.reason)) throw new RetryableError("events cannot be booked", { cause: failure.reason });
  throw failure.reason;
}

/** The event; null: it is already booked; a text: why the message is invalid. */
function decode({ value }: Message, queue: Pick<BookingQueue, "isBooked">): TradingEvent | string | null {
  let json: unknown;
  try {
    json = parseStorableJson(value.toString("utf8"));
  } catch {
    return "not JSON";
  }
  if (isKnown(json, queue)) return null;
  const parsed = TradingEvent.safeParse(json);
  return parsed.success ? parsed.data : `not a trading event (${parsed.error.issues.length} invalid fields)`;
}

/** Whether the event is already booked. This is cheaper than to validate the whole event. */
function isKnown(json: unknown, queue: Pick<BookingQueue, "isBooked">): boolean {
  if (typeof json !== "object" || json === null) return false;
  if (!("serverId" in json && "accountNumber" in json && "sequence" in json)) return false;
  const { serverId, accountNumber, sequence } = json;
  if (typeof serverId !== "string" || typeof accountNumber !== "string" || typeof sequence !== "number") return false;
  return queue.isBooked(serverId, accountNumber, sequence);
}
