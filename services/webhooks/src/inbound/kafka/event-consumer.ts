import {
  AccountEvent,
  CommandEvent,
  CreditsEvent,
  FinanceEvent,
  RiskEvent,
  type TopicContract,
  TOPICS,
  WEBHOOKS_GROUP,
} from "@kapi/contracts";
import { type Consumer, startConsumer, type DeadLetter, type KafkaConnection, RetryableError } from "@kapi/kafka";
import { isTransient } from "@kapi/postgres";
import type { Logger, Started } from "@kapi/runtime";
import type { z } from "zod";

import {
  fromAccountEvent,
  fromCommandEvent,
  fromCreditsEvent,
  fromFinanceEvent,
  fromRiskEvent,
  type IncomingEvent,
} from "../../domain/events.ts";

const MAX_BATCH_MESSAGES = 500;
const MAX_CONCURRENT_PARTITIONS = 8;
/**
 * Minimum time from the start of a batch to the next fetch, in milliseconds. It makes transactions
 * larger and fewer.
 */
const MIN_INTERVAL_MS = 200;

/** Maps a record's value to an event; null if receivers are not notified of it. */
type Translate = (value: unknown) => IncomingEvent | null;

function translator<S extends z.ZodType>(schema: S, from: (message: z.output<S>) => IncomingEvent | null): Translate {
  return (value) => from(schema.parse(value));
}

const TRANSLATORS: ReadonlyMap<TopicContract, Translate> = new Map<TopicContract, Translate>([
  [TOPICS.accountEvents, translator(AccountEvent, fromAccountEvent)],
  [TOPICS.financeEvents, translator(FinanceEvent, fromFinanceEvent)],
  [TOPICS.riskEvents, translator(RiskEvent, fromRiskEvent)],
  [TOPICS.creditsEvents, translator(CreditsEvent, fromCreditsEvent)],
  [TOPICS.commandEvents, translator(CommandEvent, fromCommandEvent)],
]);

interface EventConsumerDependencies {
  readonly kafka: KafkaConnection;
  readonly recordEvents: (events: readonly IncomingEvent[]) => Promise<void>;
  readonly hasCommandSubscribers: () => Promise<boolean>;
  readonly logger: Logger;
  readonly fatal: (error: Error) => void;
}

/**
 * Records the events of all services. The offset of a batch is committed after its events and the
 * rows of their deliveries are committed in PostgreSQL. The commit of the offset does not wait for
 * deliveries to be sent.
 */
export function startEventConsumer({
  kafka,
  recordEvents,
  hasCommandSubscribers,
  logger,
  fatal,
}: EventConsumerDependencies): Promise<Started<Consumer>> {
  return startConsumer(kafka, {
    groupId: WEBHOOKS_GROUP,
    topics: [...TRANSLATORS.keys()],
    maxBatchMessages: MAX_BATCH_MESSAGES,
    concurrentPartitions: MAX_CONCURRENT_PARTITIONS,
    minIntervalMs: MIN_INTERVAL_MS,
    logger,
    fatal,
    onBatch: async ({ topic, messages }) => {
      const translate = TRANSLATORS.get(topic);
      if (translate === undefined) throw new Error(`topic ${topic.name} was not subscribed to`);
      const deadLetters: DeadLetter[] = [];
      try {
        // Without a subscriber, command events are not even parsed.
        if (topic === TOPICS.commandEvents && !(await hasCommandSubscribers())) return {};
        const events: IncomingEvent[] = [];
        for (const message of messages) {
          const event = eventFromWire(message.value, translate);
          if (typeof event === "string") deadLetters.push({ message, reason: event, includeValue: true });
          else if (event !== null) events.push(withTrace(event, message.traceparent));
        }
        await recordEvents(events);
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

/** The event; null if the record needs no event; the reason if the record is malformed. */
function eventFromWire(value: Buffer, translate: Translate): IncomingEvent | string | null {
  try {
    return translate(JSON.parse(value.toString("utf8")));
  } catch (error) {
    return `malformed event: ${error instanceof Error ? error.message.slice(0, 200) : String(error)}`;
  }
}
