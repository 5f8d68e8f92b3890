import { admitCallers, createHttpServer, listen } from "@kapi/http";
import { createKafka, kafkaOptions } from "@kapi/kafka";
import { monotonicClock } from "@kapi/kernel";
import { createPool, migrate, migrationOptions, postgresOptions } from "@kapi/postgres";
import { ADMISSION_LIBRARY } from "@kapi/admission/redis";
import { createRedis, redisOptions } from "@kapi/redis";
import { type MainContext, type MigrationContext, observed } from "@kapi/runtime";
import { fileURLToPath } from "node:url";

import type { Config } from "./config.ts";
import { registerListRoutes } from "./inbound/http/list-routes.ts";
import { registerRoutes } from "./inbound/http/routes.ts";
import { createEventConsumer, createMessageConsumer } from "./inbound/kafka/consumers.ts";
import { startMonthMaintenance } from "./operations/maintain-months.ts";
import { createIngestion } from "./operations/ingest-commands.ts";
import { CommandWaiters, startPolling, notifyingWaiters } from "./operations/wait-for-command.ts";
import { createLogEndOffsets } from "./outbound/kafka/log-end-offsets.ts";
import { createCommandAges } from "./outbound/postgres/command-ages.ts";
import { createFinalCommandRepository, createCommandLists } from "./outbound/postgres/command-lists.ts";
import { createCommandRepository } from "./outbound/postgres/command-repository.ts";
import { createTopicIdRepository } from "./outbound/postgres/topic-id-repository.ts";
import { withFinalCommandCache } from "./outbound/postgres/final-command-cache.ts";
import { createMonthRepository } from "./outbound/postgres/month-repository.ts";
import { createIdempotencyRecords } from "./outbound/redis/idempotency-records.ts";

const SERVICE = "command-status";
const SCHEMA = "command_status";
const MIGRATIONS = fileURLToPath(new URL("../migrations", import.meta.url));

/**
 * Brings the service's schema up to date: the program's command "migrate", and the first step of
 * every start.
 */
export function migrateDatabase({ config, logger }: MigrationContext): Promise<void> {
  return migrate({ ...migrationOptions(config), schema: SCHEMA, directory: MIGRATIONS, logger });
}

/**
 * Starts the service: stores, then the consumers (ready once both have joined), then the routes.
 */
export async function startService(context: MainContext<Config>): Promise<{ url: string }> {
  const { config, scope, logger, health, clock } = context;
  await migrateDatabase(context);
  const database = await scope.start("postgres", () =>
    createPool({
      ...postgresOptions(config),
      schema: SCHEMA,
      applicationName: SERVICE,
      max: config.POSTGRES_POOL_SIZE,
      genericPlans: true,
      health,
      logger,
    }),
  );
  const months = createMonthRepository(database);
  await months.createPartitions();
  await scope.start("months", () =>
    Promise.resolve(startMonthMaintenance({ months, keptMonths: config.COMMANDS_KEPT_MONTHS, logger })),
  );
  const redis = await scope.start("redis", () =>
    createRedis({ ...redisOptions(config), clientName: SERVICE, functionLibraries: [ADMISSION_LIBRARY], logger }),
  );

  const kafka = createKafka({
    ...kafkaOptions(config),
    clientId: SERVICE,
    sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    logger,
  });
  const topics = createTopicIdRepository(database);
  const waiters = new CommandWaiters();
  const finalCommands = createFinalCommandRepository(database);
  const repository = notifyingWaiters(withFinalCommandCache(createCommandRepository(database)), waiters);
  await scope.start("waiters", () => startPolling(waiters, finalCommands, logger));
  const records = await scope.start("idempotency records", () => createIdempotencyRecords(redis, logger));
  const ingestion = createIngestion({ repository, records });
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

  const app = createHttpServer({ logger, health, clock });
  admitCallers(app, "command-status", config);
  // What the routes measure begins and ends in this process.
  const waits = { repository, clock: monotonicClock };
  registerRoutes(app, { ...waits, endOffsets: createLogEndOffsets(kafka), topics });
  registerListRoutes(app, { ...waits, lists: createCommandLists(database), finalCommands, waiters });
  const { url } = await scope.start("http", () => listen(app, { host: config.HTTP_HOST, port: config.HTTP_PORT }));

  const dependencies = { kafka, ingestion, topics, logger, fatal: (error: Error) => context.fatal(error) };
  const [messages, events] = await Promise.all([
    scope.start("message consumer", () => createMessageConsumer(dependencies)),
    scope.start("event consumer", () => createEventConsumer(dependencies)),
  ]);
  health.liveness("message consumer", () => messages.check());
  health.liveness("event consumer", () => events.check());
  joined = true;
  return { url };
}
