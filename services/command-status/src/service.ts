import { fileURLToPath } from "node:url";

import { ADMISSION_LIBRARY } from "@kapi/admission/redis";
import { monotonicClock } from "@kapi/kernel";
import { type MainContext, type MigrationContext, observed } from "@kapi/runtime";
import {
  createServiceKafka,
  migrateSchema,
  type ServiceSchema,
  startDatabase,
  startInternalHttp,
  startReader,
  startServiceRedis,
} from "@kapi/service";

import type { Config } from "./config.ts";
import { registerListRoutes } from "./inbound/http/list-routes.ts";
import { registerRoutes } from "./inbound/http/routes.ts";
import { createEventConsumer, createMessageConsumer } from "./inbound/kafka/consumers.ts";
import { startKeepingMonths } from "./operations/keep-months.ts";
import { createIntake } from "./operations/take-in-commands.ts";
import { CommandWaiters, startPolling, tellingWaiters } from "./operations/wait-for-command.ts";
import { createLogEnds } from "./outbound/kafka/log-ends.ts";
import { createCommandAges } from "./outbound/postgres/command-ages.ts";
import { createCommandEnds, createCommandLists } from "./outbound/postgres/command-lists.ts";
import { createCommandStore } from "./outbound/postgres/command-store.ts";
import { createKnownTopics } from "./outbound/postgres/known-topics.ts";
import { rememberingFinal } from "./outbound/postgres/final-commands.ts";
import { createMonthStore } from "./outbound/postgres/months.ts";
import { createIdempotencyRecords } from "./outbound/redis/idempotency-records.ts";

const SERVICE = "command-status";
const SCHEMA: ServiceSchema = {
  service: SERVICE,
  schema: "command_status",
  directory: fileURLToPath(new URL("../migrations", import.meta.url)),
};

/** Migrates the schema: the command "migrate", and the first step of every start. */
export function migrateDatabase(context: MigrationContext): Promise<void> {
  return migrateSchema(SCHEMA, context);
}

/**
 * Starts the service: stores, then the consumers (ready once both have joined), then the routes.
 */
export async function startService(context: MainContext<Config>): Promise<{ url: string }> {
  const { config, scope, logger, health, clock } = context;
  const database = await startDatabase(context, SCHEMA, { genericPlans: true });
  const months = createMonthStore(database);
  await months.keep();
  await scope.start("months", () =>
    Promise.resolve(startKeepingMonths({ months, keptMonths: config.COMMANDS_KEPT_MONTHS, logger })),
  );
  const redis = await startServiceRedis(context, {
    service: SERVICE,
    library: ADMISSION_LIBRARY,
    isReadyWithout: true,
  });
  const kafka = createServiceKafka(context, SERVICE);
  const topics = createKnownTopics(database);
  const waiters = new CommandWaiters();
  const ends = createCommandEnds(database);
  const store = tellingWaiters(rememberingFinal(createCommandStore(database)), waiters);
  await scope.start("waiters", () => startPolling(waiters, ends, logger));
  const records = await scope.start("idempotency records", () => createIdempotencyRecords(redis, logger));
  const intake = createIntake({ store, records });
  const openStates = createCommandAges(database, () => monotonicClock.nowMs());
  observed("command_status.commands.open", "Commands that are not final, by `status`", "{command}", async () =>
    (await openStates()).map(({ status, commands }) => ({ value: commands, attributes: { status } })),
  );
  observed(
    "command_status.commands.age",
    "How long ago the oldest command was accepted that is not final, by `status`",
    "s",
    async () => (await openStates()).map(({ status, oldest_seconds: value }) => ({ value, attributes: { status } })),
  );
  let joined = false;
  health.readiness("consumers", () => (joined ? null : "the consumers have not joined yet"));

  // Durations of waits are measured within this process.
  const waits = { store, clock: monotonicClock };
  const { url } = await startInternalHttp(context, SERVICE, {
    clock,
    register: (app) => {
      registerRoutes(app, { ...waits, ends: createLogEnds(kafka), topics });
      registerListRoutes(app, { ...waits, lists: createCommandLists(database), ends, waiters });
    },
  });

  const dependencies = { kafka, intake, topics, logger, fatal: (error: Error) => context.fatal(error) };
  await Promise.all([
    startReader(context, "message consumer", () => createMessageConsumer(dependencies)),
    startReader(context, "event consumer", () => createEventConsumer(dependencies)),
  ]);
  joined = true;
  return { url };
}
