import { AccountFact, CommandEvent, CreditsFact, FinanceFact, type TopicContract, TOPICS } from "@kapi/contracts";
import { type Consumer, createConsumer, type DeadLetter, type KafkaConnection, RetryableError } from "@kapi/kafka";
import { isTransient } from "@kapi/postgres";
import type { Logger, Started } from "@kapi/runtime";
import type { z } from "zod";

import {
  fromAccountFact,
  fromCommandEvent,
  fromCreditsFact,
  fromFinanceFact,
  type IncomingEvent,
} from "../../domain/facts.ts";

const GROUP = "webhooks.facts";
const MAX_BATCH_MESSAGES = 500;
const MAX_PARTITIONS_TOGETHER = 8;
/**
 * Under load an event is sent this much later; transactions are several times as large, and as many
 * times fewer.
 */
const BUSY_INTERVAL_MS = 75;

/** Makes an event of a record's value; null for one that receivers are not told. */
type Translate = (value: unknown) => IncomingEvent | null;

function translator<S extends z.ZodType>(schema: S, from: (fact: z.output<S>) => IncomingEvent | null): Translate {
  return (value) => from(schema.parse(value));
}

const TRANSLATORS: ReadonlyMap<TopicContract, Translate> = new Map<TopicContract, Translate>([
  [TOPICS.accountEvents, translator(AccountFact, fromAccountFact)],
  [TOPICS.financeEvents, translator(FinanceFact, fromFinanceFact)],
  [TOPICS.creditsEvents, translator(CreditsFact, fromCreditsFact)],
  [TOPICS.commandEvents, translator(CommandEvent, fromCommandEvent)],
]);

export interface FactNeeds {
  readonly kafka: KafkaConnection;
  readonly takeIn: (events: readonly IncomingEvent[]) => Promise<void>;
  readonly commandsAreAsked: () => Promise<boolean>;
  readonly logger: Logger;
  readonly fatal: (error: Error) => void;
}

/**
 * The facts of all services → events. An offset is committed once its events and their deliveries
 * are.
 */
export function consumeFacts({
  kafka,
  takeIn,
  commandsAreAsked,
  logger,
  fatal,
}: FactNeeds): Promise<Started<Consumer>> {
  return createConsumer(kafka, {
    groupId: GROUP,
    topics: [...TRANSLATORS.keys()],
    maxBatchMessages: MAX_BATCH_MESSAGES,
    concurrentPartitions: MAX_PARTITIONS_TOGETHER,
    busyIntervalMs: BUSY_INTERVAL_MS,
    logger,
    fatal,
    onBatch: async ({ topic, messages }) => {
      const translate = TRANSLATORS.get(topic);
      if (translate === undefined) throw new Error(`topic ${topic.name} was not subscribed to`);
      const deadLetters: DeadLetter[] = [];
      try {
        // Most of these are of nobody's interest; they are not even parsed then.
        if (topic === TOPICS.commandEvents && !(await commandsAreAsked())) return {};
        const events: IncomingEvent[] = [];
        for (const message of messages) {
          const event = eventFromWire(message.value, translate);
          if (typeof event === "string") deadLetters.push({ message, reason: event, includeValue: true });
          else if (event !== null) events.push(withTrace(event, message.traceparent));
        }
        await takeIn(events);
      } catch (error) {
        throw isTransient(error) ? new RetryableError("events cannot be recorded", { cause: error }) : error;
      }
      return { deadLetters };
    },
  });
}

function withTrace(event: IncomingEvent, traceparent: string | undefined): IncomingEvent {
  return traceparent === undefined ? event : { ...event, traceparent };
}

/** The event, null for none, or why the record is no fact. */
function eventFromWire(value: Buffer, translate: Translate): IncomingEvent | string | null {
  try {
    return translate(JSON.parse(value.toString("utf8")));
  } catch (error) {
    return `no fact: ${error instanceof Error ? error.message.slice(0, 200) : String(error)}`;
  }
}
