import { batcher, type Clock } from "@kapi/kernel";
import { inBatchSpan } from "@kapi/runtime";

import type { IncomingEvent } from "../domain/facts.ts";
import type { EventStore } from "../domain/ports.ts";
import type { Deliverer } from "./deliver.ts";
import { countEvents } from "./measures.ts";
import type { DueDeliveries } from "./take-up-due.ts";

/** Batches of different partitions that one transaction records. */
const MAX_BATCHES_TOGETHER = 16;

export interface TakeInOptions {
  readonly events: Pick<EventStore, "takeIn">;
  readonly deliverer: Pick<Deliverer, "roomOf" | "add">;
  readonly due: Pick<DueDeliveries, "expect">;
  readonly leaseMs: number;
  readonly clock: Clock;
}

/**
 * Makes the function that records events and begins their deliveries; what there is room for is sent at once. Calls that come
 * together share a transaction: of one organization they would wait for each other anyway.
 */
export function eventIntake(options: TakeInOptions): (events: readonly IncomingEvent[]) => Promise<void> {
  const { events, deliverer, due, leaseMs, clock } = options;
  const take = batcher<readonly IncomingEvent[], void>({
    load: async (batches) => {
      const nowMs = clock.nowMs();
      const roomOf = (endpointId: string): number => deliverer.roomOf(endpointId);
      const given = batches.flat();
      const members = given.map(({ traceparent }) => traceparent);
      const { recorded, leased, more } = await inBatchSpan("record events", members, () =>
        events.takeIn(given, roomOf, nowMs, nowMs + leaseMs),
      );
      countEvents(recorded);
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
