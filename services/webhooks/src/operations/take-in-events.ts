import { batcher, type Clock } from "@kapi/kernel";
import { inBatchSpan, type Logger } from "@kapi/runtime";

import type { IncomingEvent } from "../domain/facts.ts";
import type { EventStore } from "../domain/ports.ts";
import type { MissingEvents } from "../domain/source-order.ts";
import type { Deliverer } from "./deliver.ts";
import { countEvents, countMissing } from "./measures.ts";
import type { DueDeliveries } from "./take-up-due.ts";

/** Batches of different partitions that one transaction records. */
const MAX_BATCHES_TOGETHER = 16;
/** Maximum number of accounts with missing events in one log line. */
const MAX_LOGGED_ACCOUNTS = 10;

export interface TakeInOptions {
  readonly events: Pick<EventStore, "takeIn">;
  readonly deliverer: Pick<Deliverer, "room" | "add">;
  readonly due: Pick<DueDeliveries, "expect">;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Makes the function that records events and begins their deliveries; what there is room for is
 * sent at once. Calls that come together share a transaction: of one organization they would wait
 * for each other anyway.
 */
export function eventIntake(options: TakeInOptions): (events: readonly IncomingEvent[]) => Promise<void> {
  const { events, deliverer, due, leaseMs, clock, logger } = options;
  const take = batcher<readonly IncomingEvent[], void>({
    load: async (batches) => {
      const nowMs = clock.nowMs();
      const given = batches.flat();
      const members = given.map(({ traceparent }) => traceparent);
      const { recorded, leased, more, missing } = await inBatchSpan("record events", members, () =>
        events.takeIn(given, () => deliverer.room(), nowMs, nowMs + leaseMs),
      );
      countEvents(recorded);
      reportMissing(missing, logger);
      deliverer.add(leased);
      if (more.length > 0) due.expect(more);
      return batches.map(() => undefined);
    },
    maxBatchSize: MAX_BATCHES_TOGETHER,
    maxConcurrentBatches: 1,
  });
  return async (given) => {
    if (given.length > 0) await take(given);
  };
}

/** The feed continues without these events: receivers get them late or never. */
function reportMissing(missing: readonly MissingEvents[], logger: Logger): void {
  if (missing.length === 0) return;
  for (const events of missing) countMissing(events);
  const named = missing.slice(0, MAX_LOGGED_ACCOUNTS);
  logger.warn(
    { gaps: missing.length, missing: named },
    "older events of accounts did not come; later ones are recorded",
  );
}
