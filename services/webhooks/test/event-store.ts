import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

import { startPool, type Database, migrate } from "@kapi/postgres";
import { createLogger, type Scope } from "@kapi/runtime";
import { createTestEnvironment, type TestClock } from "@kapi/testkit";

import type { IncomingEvent, Source, SourcePlace } from "../src/domain/events.ts";
import type { DayStore, EventStore, RecordedEvents } from "../src/domain/ports.ts";
import { keepDays } from "../src/operations/keep-days.ts";
import { createDayStore } from "../src/outbound/postgres/days.ts";
import { createEventStore } from "../src/outbound/postgres/event-store.ts";

const directory = fileURLToPath(new URL("../migrations", import.meta.url));
export const logger = createLogger({ service: "test", level: "error" });

/** The event store on a real PostgreSQL. */
export interface TestStore {
  readonly database: Database;
  readonly days: DayStore;
  readonly store: EventStore;
  readonly recordEvents: (events: readonly IncomingEvent[]) => Promise<RecordedEvents>;
}

export async function startStore(scope: Scope, clock: TestClock): Promise<TestStore> {
  const environment = await createTestEnvironment({ needs: ["postgres"] });
  await scope.start("environment", () => ({ value: null, stop: () => environment.stop() }));
  const connectionString = environment.postgresUrl;
  await migrate({ connectionString, schema: "webhooks", directory, logger });
  const database = await scope.start("database", () =>
    startPool({ connectionString, schema: "webhooks", applicationName: "test", max: 12, logger }),
  );
  const days = createDayStore(database);
  await keepDays({ days, clock, logger });
  const store = createEventStore(database, days);
  const recordEvents: TestStore["recordEvents"] = (events) =>
    store.recordEvents(events, () => ({ reserve: () => false }), clock.nowMs(), clock.nowMs());
  return { database, days, store, recordEvents };
}

/** The place of an event. `through` and `after` are null by default, as in release 0.1.0. */
export function at(
  source: Source,
  sequence: number,
  through: number | null = null,
  after: number | null = null,
): SourcePlace {
  return { source, sequence, through, after };
}

export function anyEvent(organizationId: string, nowMs: number, change: Partial<IncomingEvent> = {}): IncomingEvent {
  return {
    eventId: randomUUID(),
    organizationId,
    serverId: randomUUID(),
    accountNumber: "10000001",
    type: "margin.call",
    timestamp: new Date(nowMs).toISOString(),
    record: { equity: 1, usedMargin: 1, marginLevel: 100 },
    place: at("account", 1),
    onlyFor: null,
    ...change,
  };
}
