import { fileURLToPath } from "node:url";

import { ADMISSION_LIBRARY } from "@kapi/admission/redis";
import { monotonicClock } from "@kapi/kernel";
import { type MainContext, type MigrationContext, observed, type ServiceProgram } from "@kapi/runtime";
import {
  startServiceKafka,
  migrateSchema,
  type ServiceSchema,
  startDatabase,
  startInternalHttp,
  startReader,
  startServiceRedis,
} from "@kapi/service";

import { type Config, ConfigSchema } from "./config.ts";
import { registerListRoutes } from "./inbound/http/list-routes.ts";
import { registerCommandRoutes } from "./inbound/http/routes.ts";
import { startEventConsumer, startMessageConsumer } from "./inbound/kafka/consumers.ts";
import { startMonthMaintenance } from "./operations/maintain-months.ts";
import { createIngestion } from "./operations/ingest-commands.ts";
import { CommandWaiters, notifyingWaiters, startPolling } from "./operations/wait-for-command.ts";
import { createLogEndOffsets } from "./outbound/kafka/log-end-offsets.ts";
import { countWaitingCommands, createCommandAges } from "./outbound/postgres/command-ages.ts";
import { createCommandLists, createFinalCommandRepository } from "./outbound/postgres/command-lists.ts";
import { createCommandRepository } from "./outbound/postgres/command-repository.ts";
import { createTopicIdRepository } from "./outbound/postgres/topic-id-repository.ts";
import { withFinalCommandCache } from "./outbound/postgres/final-command-cache.ts";
import { createMonthRepository } from "./outbound/postgres/month-repository.ts";
import { startIdempotencyRecords } from "./outbound/redis/idempotency-records.ts";

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
 * Starts the service: stores, routes, then the consumers. The service is ready once both consumers
 * have joined.
 */
export async function startService(context: MainContext<Config>): Promise<{ url: string }> {
  const { config, scope, logger, health, clock } = context;
  const database = await startDatabase(context, SCHEMA, { genericPlans: true });
  const months = createMonthRepository(database);
  await months.createPartitions();
  await scope.start("months", () =>
    Promise.resolve(startMonthMaintenance({ months, keptMonths: config.COMMANDS_KEPT_MONTHS, logger })),
  );
  const redis = await startServiceRedis(context, {
    service: SERVICE,
    library: ADMISSION_LIBRARY,
    isReadyWithout: true,
  });
  const kafka = await startServiceKafka(context, SERVICE);
  const topics = createTopicIdRepository(database);
  const waiters = new CommandWaiters();
  const { urgency } = waiters;
  const finalCommands = createFinalCommandRepository(database);
  const repository = notifyingWaiters(withFinalCommandCache(createCommandRepository(database)), waiters);
  await scope.start("waiters", () => startPolling(waiters, finalCommands, logger));
  const records = await scope.start("idempotency records", () => startIdempotencyRecords(redis, logger));
  const ingestion = createIngestion({ repository, records });
  const openStates = createCommandAges(database, () => monotonicClock.nowMs());
  observed("command_status.commands.open", "Commands that are not final, by `status`", "{command}", async () =>
    (await openStates()).map(({ status, commands }) => ({ value: commands, attributes: { status } })),
  );
  observed(
    "command_status.commands.age",
    "Time since the acceptance of the oldest command that is not final and does not wait for an open market, by `status`",
    "s",
    async () => (await openStates()).map(({ status, oldest_seconds: value }) => ({ value, attributes: { status } })),
  );
  let joined = false;
  health.readiness("consumers", () => (joined ? null : "the consumers have not joined yet"));

  const { url } = await startInternalHttp(context, SERVICE, {
    clock,
    register: (app) => {
      const waitingOf = (organizationId: string) => countWaitingCommands(database, organizationId);
      registerCommandRoutes(app, { repository, waitingOf, endOffsets: createLogEndOffsets(kafka), topics, urgency });
      registerListRoutes(app, {
        repository,
        lists: createCommandLists(database),
        finalCommands,
        waiters,
        // Durations of waits are measured within this process.
        clock: monotonicClock,
      });
    },
  });

  const dependencies = { kafka, ingestion, topics, urgency, logger, fatal: (error: Error) => context.fatal(error) };
  await Promise.all([
    startReader(context, "message consumer", () => startMessageConsumer(dependencies)),
    startReader(context, "event consumer", () => startEventConsumer(dependencies)),
  ]);
  joined = true;
  return { url };
}

/** The service, as its process runs it. */
export const program: ServiceProgram<typeof ConfigSchema> = {
  service: SERVICE,
  schema: ConfigSchema,
  start: startService,
  migrate: migrateDatabase,
};
