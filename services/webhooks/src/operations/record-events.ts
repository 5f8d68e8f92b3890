import { batcher, type Clock } from "@kapi/kernel";
import { inBatchSpan, type Logger } from "@kapi/runtime";

import type { IncomingEvent } from "../domain/events.ts";
import type { EventStore } from "../domain/ports.ts";
import type { MissingEvents } from "../domain/source-order.ts";
import type { Deliverer } from "./deliverer.ts";
import { countEvents, countMissing } from "./metrics.ts";
import type { DueDeliveries } from "./due-deliveries.ts";

/** Maximum number of batches, from different partitions, that one transaction records. */
const MAX_BATCHES_PER_TRANSACTION = 16;
/** Maximum number of ranges of missing events in one log line. */
const MAX_LOGGED_RANGES = 10;

interface EventRecorderOptions {
  readonly events: Pick<EventStore, "recordEvents">;
  readonly deliverer: Pick<Deliverer, "capacity" | "add">;
  readonly due: Pick<DueDeliveries, "enqueue">;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Returns the function that records events and starts their deliveries. Deliveries within the
 * deliverer's capacity are sent immediately, the others through `due`. Concurrent calls share a
 * transaction, because each transaction locks its organizations. If this transaction fails, each
 * call gets a transaction of its own.
 */
export function createEventRecorder(
  options: EventRecorderOptions,
): (events: readonly IncomingEvent[]) => Promise<void> {
  const { events, deliverer, due, leaseMs, clock, logger } = options;
  const recordTogether = async (batches: readonly (readonly IncomingEvent[])[]): Promise<void> => {
    const nowMs = clock.nowMs();
    const given = batches.flat();
    const members = given.map(({ traceparent }) => traceparent);
    const { recorded, leased, more, missing } = await inBatchSpan("record events", members, () =>
      events.recordEvents(given, () => deliverer.capacity(), nowMs, nowMs + leaseMs),
    );
    countEvents(recorded);
    reportMissing(missing, logger);
    deliverer.add(leased);
    if (more.length > 0) due.enqueue(more);
  };
  const record = batcher<readonly IncomingEvent[], void>({
    load: async (batches) => {
      try {
        await recordTogether(batches);
      } catch (error) {
        if (batches.length === 1) throw error;
        logger.warn({ err: error, batches: batches.length }, "events are recorded in several transactions");
        // After an outage, a statement for all batches may exceed its timeout, at each retry again.
        // What is recorded here before another failure is left out of the retry.
        for (const batch of batches) await recordTogether([batch]);
      }
      return batches.map(() => undefined);
    },
    maxBatchSize: MAX_BATCHES_PER_TRANSACTION,
    maxConcurrentBatches: 1,
  });
  return async (given) => {
    if (given.length > 0) await record(given);
  };
}

/** Reports missing events: the feed continues, and receivers get these events late or never. */
function reportMissing(missing: readonly MissingEvents[], logger: Logger): void {
  if (missing.length === 0) return;
  for (const events of missing) countMissing(events);
  const named = missing.slice(0, MAX_LOGGED_RANGES);
  logger.warn(
    { gaps: missing.length, missing: named },
    "older events of accounts are missing; later events are recorded without them",
  );
}
