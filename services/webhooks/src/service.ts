import { fileURLToPath } from "node:url";

import { type Clock, OrganizationSlots, repeat } from "@kapi/kernel";
import { registerAuditOutboxRoutes } from "@kapi/outbox";
import { isTransient, startDatabaseClock } from "@kapi/postgres";
import {
  gauge,
  type MainContext,
  type MigrationContext,
  observed,
  type ServiceProgram,
  type Started,
} from "@kapi/runtime";
import {
  startServiceKafka,
  migrateSchema,
  type ServiceSchema,
  startDatabase,
  startInternalHttp,
  startReader,
  startRepeated,
} from "@kapi/service";

import { type Config, ConfigSchema, RECORDING_MARGIN_MS } from "./config.ts";
import type { DayStore } from "./domain/ports.ts";
import { registerWebhookRoutes } from "./inbound/http/routes.ts";
import { startEventConsumer } from "./inbound/kafka/event-consumer.ts";
import { Deliverer } from "./operations/deliverer.ts";
import { EndpointCache } from "./operations/endpoint-cache.ts";
import { keepDays } from "./operations/keep-days.ts";
import { createEventRecorder } from "./operations/record-events.ts";
import { DueDeliveries } from "./operations/due-deliveries.ts";
import { createDnsResolver, type Resolve, shareLookups } from "./outbound/http/dns-resolver.ts";
import { createAddressGuard } from "./outbound/http/address-guard.ts";
import { startSender } from "./outbound/http/sender.ts";
import { createDayStore } from "./outbound/postgres/days.ts";
import { createDeliveryStore } from "./outbound/postgres/delivery-store.ts";
import { createEndpointStore } from "./outbound/postgres/endpoint-store.ts";
import { createEventDeliveries } from "./outbound/postgres/event-deliveries.ts";
import { createEventStore } from "./outbound/postgres/event-store.ts";

const SERVICE = "webhooks";
const SCHEMA: ServiceSchema = {
  service: SERVICE,
  schema: "webhooks",
  directory: fileURLToPath(new URL("../migrations", import.meta.url)),
};
/** Interval at which endpoints with due deliveries are read. */
const LOOK_INTERVAL_MS = 500;
/** Open deliveries are counted up to this number. */
const MAX_COUNTED = 100_000;
const KEEP_DAYS_INTERVAL_MS = 3_600_000;
/**
 * Interval at which overdue events are read: their wait for an older event is over. An event can
 * wait this much longer than the maximum wait in `source-order.ts`.
 */
const OVERDUE_INTERVAL_MS = 1_000;
/**
 * Maximum number of overdue events per transaction. The same transaction also records the later
 * events that waited for an overdue event: at most 500 of each account and source, or more if one
 * earlier transaction stored more than 500.
 */
const OVERDUE_BATCH = 20;
/**
 * Maximum number of endpoints that one organization saves at the same time. A gateway has 64
 * connections to this service. A save with a silent name server holds a connection for 2 s.
 */
export const MAX_SAVES_PER_ORGANIZATION = 16;

/**
 * Dependencies that tests replace: name resolution, name servers, jitter, and the clock. The
 * default clock is the database's.
 */
export interface ServiceOverrides {
  /** Replaces the DNS resolver. */
  readonly resolve?: Resolve;
  /** Name servers with their ports; by default the name servers of the configuration. */
  readonly nameServers?: readonly string[];
  readonly random?: () => number;
  readonly clock?: Clock;
}

/** Migrates the schema: the command "migrate", and the first step of every start. */
export function migrateDatabase(context: MigrationContext): Promise<void> {
  return migrateSchema(SCHEMA, context);
}

/** Starts the service: schema and partitions, deliverer, routes, and last the event consumer. */
export async function startService(
  context: MainContext<Config>,
  overrides: ServiceOverrides = {},
): Promise<{ url: string }> {
  const { config, scope, logger, fatal } = context;
  const { random = Math.random, clock: given } = overrides;
  const database = await startDatabase(context, SCHEMA);
  const clock = given ?? (await scope.start("database clock", () => startDatabaseClock(database, context)));
  const days = createDayStore(database);
  await startDays({ ...context, clock }, days);
  const endpoints = createEndpointStore(database);
  const events = createEventStore(database, days);
  const deliveries = createDeliveryStore(database);

  const allowInsecure = config.WEBHOOK_ALLOW_INSECURE === "true";
  const rules = { allowedPorts: config.WEBHOOK_ALLOWED_PORTS, allowInsecure };
  const resolve = shareLookups(
    overrides.resolve ?? (await createDnsResolver(overrides.nameServers ?? config.WEBHOOK_NAME_SERVERS)),
  );
  const timeoutMs = config.WEBHOOK_TIMEOUT_MS;
  const leaseMs = config.WEBHOOK_LEASE_MS;
  const sender = await scope.start("sender", () => startSender({ rules, resolve, timeoutMs }));
  const keys = config.WEBHOOK_SEALING_KEYS;
  const endpointCache = new EndpointCache({ store: endpoints, keys, clock });
  const deliverer = await scope.start("deliverer", () => {
    const value = new Deliverer({
      limits: {
        concurrency: config.WEBHOOK_CONCURRENCY,
        perOrganization: config.WEBHOOK_ORGANIZATION_CONCURRENCY,
        perEndpoint: config.WEBHOOK_ENDPOINT_CONCURRENCY,
      },
      sender,
      endpointCache,
      deliveries,
      endpoints,
      timeoutMs,
      marginMs: RECORDING_MARGIN_MS,
      onCapacity: (endpointId) => due.onCapacity(endpointId),
      onNotEnabled: (endpointId) => due.cancel(endpointId),
      clock,
      random,
      logger,
    });
    return { value, stop: () => value.stop() };
  });
  const gauges = {
    oldest: gauge("webhooks.deliveries.overdue", "How long the oldest due delivery has been due", "s"),
    running: gauge("webhooks.deliveries.running", "Deliveries under way in this process", "{delivery}"),
  };
  const due = new DueDeliveries({ deliveries, deliverer, endpointCache, leaseMs, gauges, clock, logger });
  await scope.start("due deliveries", () => startLooking(context, due));
  observed(
    "webhooks.deliveries.open",
    "Deliveries that are neither done nor given up, counted up to 100,000; the same from every process",
    "{delivery}",
    async () => [{ value: await deliveries.countOpen(MAX_COUNTED) }],
  );

  const recordEvents = createEventRecorder({ events, deliverer, due, leaseMs, clock, logger });
  await startRepeated(context, {
    name: "overdue events",
    round: async () => {
      const overdue = await events.overdue(OVERDUE_BATCH);
      if (overdue.length > 0) await recordEvents(overdue);
      return overdue.length === OVERDUE_BATCH;
    },
    pauseMs: OVERDUE_INTERVAL_MS,
    firstPauseMs: OVERDUE_INTERVAL_MS,
    backOff: { firstMs: OVERDUE_INTERVAL_MS },
  });
  if (allowInsecure) logger.info("endpoints may have http and private addresses");
  const { url } = await startInternalHttp(context, SERVICE, {
    clock,
    isDependencyFailure: isTransient,
    register: (app) => {
      registerAuditOutboxRoutes(app, database);
      registerWebhookRoutes(app, {
        endpoints,
        events,
        deliveries,
        eventDeliveries: createEventDeliveries(database),
        guard: createAddressGuard(rules, resolve),
        saves: new OrganizationSlots({ perOrganization: MAX_SAVES_PER_ORGANIZATION }),
        keys,
        recordEvents,
        onChanged: (endpointId) => endpointCache.forget(endpointId),
        onDeactivated: (endpointId) => due.cancel(endpointId),
        onDue: (endpoint) => due.enqueue([endpoint]),
        clock,
      });
    },
  });

  const kafka = await startServiceKafka(context, SERVICE);
  await startReader(context, "event consumer", () =>
    startEventConsumer({
      kafka,
      recordEvents,
      hasCommandSubscribers: () => events.hasCommandSubscribers(),
      logger,
      fatal,
    }),
  );
  return { url };
}

async function startDays(context: MainContext<Config>, days: DayStore): Promise<void> {
  const keep = (): Promise<void> => keepDays({ days, clock: context.clock, logger: context.logger });
  await keep();
  await startRepeated(context, {
    name: "days of events",
    round: keep,
    pauseMs: KEEP_DAYS_INTERVAL_MS,
    firstPauseMs: KEEP_DAYS_INTERVAL_MS,
    backOff: { firstMs: KEEP_DAYS_INTERVAL_MS },
  });
}

function startLooking({ logger }: MainContext<Config>, due: DueDeliveries): Started<null> {
  const looking = repeat({
    name: "due deliveries",
    round: () => due.poll(),
    pauseMs: LOOK_INTERVAL_MS,
    firstPauseMs: LOOK_INTERVAL_MS,
    // Due deliveries wait for the next round, so a failed round is repeated soon.
    backOff: { firstMs: LOOK_INTERVAL_MS },
    logger,
  });
  return {
    value: null,
    stop: async () => {
      await Promise.all([looking.stop(), due.stop()]);
    },
  };
}

/** The service, as its process runs it. */
export const program: ServiceProgram<typeof ConfigSchema> = {
  service: SERVICE,
  schema: ConfigSchema,
  start: startService,
  migrate: migrateDatabase,
};
