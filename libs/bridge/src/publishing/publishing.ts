import type { Producer } from "@kapi/kafka";
import { type Health, type Logger, observed, type Scope } from "@kapi/runtime";

import type { Journal, Publisher } from "../journal/ports.ts";
import { EventPublisher } from "./event-publisher.ts";
import { ValuationPublisher } from "./valuation-publisher.ts";

/**
 * The options of both publishers. The previous process published perhaps only a part of the events
 * after `published`, up to `committed`: the event publisher reads them all from the journal.
 */
interface PublishingOptions {
  readonly scope: Scope;
  readonly health: Health;
  readonly producer: Producer;
  readonly journal: Pick<Journal, "eventsAfter">;
  /** Position up to which everything is published. */
  readonly published: number;
  /** Position of the last row in the journal. */
  readonly committed: number;
  readonly logger: Logger;
}

/** The publishers and their progress. */
export interface Publishing {
  readonly publisher: Publisher;
  readonly events: Pick<EventPublisher, "published" | "settled">;
}

/**
 * Starts the publishers of `trading.events` and `trading.valuations`. After a failed attempt to
 * publish events, the process is not ready until an attempt succeeds.
 */
export async function startPublishing(options: PublishingOptions): Promise<Publishing> {
  const { scope, health, producer, journal, published, committed, logger } = options;
  const events = await scope.start("event publisher", () =>
    EventPublisher.start({ producer, journal, published, committed, logger }),
  );
  const valuations = await scope.start("valuation publisher", () => ValuationPublisher.start({ producer, logger }));
  health.readiness("events", () => events.check());
  observed(
    "trading_server.events.unpublished",
    "Journal rows after the last published event, up to the last committed event",
    "{event}",
    () => [{ value: events.unpublished }],
  );
  const publisher: Publisher = {
    events: (recorded) => events.push(recorded),
    valuations: (recorded) => valuations.push(recorded),
  };
  return { publisher, events };
}
