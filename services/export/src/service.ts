import { createDirectory } from "@kapi/admission";
import { COMMANDS_MIGRATIONS, createCommandStore, createCommandWorker } from "@kapi/commands";
import { TOPICS } from "@kapi/contracts";
import { createHttpServer, createInternalClient, listen, serviceCredentials } from "@kapi/http";
import { createKafka, createProducer, kafkaOptions } from "@kapi/kafka";
import { createPool, migrate, migrationOptions, postgresOptions, startDatabaseClock } from "@kapi/postgres";
import type { MainContext, MigrationContext } from "@kapi/runtime";

import type { Config } from "./config.ts";
import type { HistoryOwner } from "./domain/ports.ts";
import { createExportExecutor } from "./operations/export-account-history.ts";
import { createHistoryOwner } from "./outbound/http/history-owner.ts";

const SERVICE = "export";
/**
 * Maximum number of exports in one batch: at most 4 MB each, so that their transaction stays small.
 */
const MAX_BATCH_COMMANDS = 8;

/** Migrates the schema: the command "migrate", and the first step of every start. */
export function migrateDatabase({ config, logger }: MigrationContext): Promise<void> {
  return migrate({
    ...migrationOptions(config),
    schema: SERVICE,
    directories: [COMMANDS_MIGRATIONS],
    logger,
  });
}

/**
 * Starts the service: schema, directory, clients of the history's owners, then the worker of export
 * commands.
 */
export async function startService(context: MainContext<Config>): Promise<void> {
  const { config, scope, logger, health, fatal } = context;
  await migrateDatabase(context);
  const database = await scope.start("postgres", () =>
    createPool({
      ...postgresOptions(config),
      schema: SERVICE,
      applicationName: SERVICE,
      max: config.POSTGRES_POOL_SIZE,
      health,
      logger,
    }),
  );
  const clock = await scope.start("database clock", () => startDatabaseClock(database, context));
  const kafka = createKafka({
    ...kafkaOptions(config),
    clientId: SERVICE,
    sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    logger,
  });
  const producer = await scope.start("producer", () => createProducer(kafka));
  const directory = await scope.start("directory", () => createDirectory({ kafka, logger, fatal }));
  health.liveness("directory", () => directory.check());
  const ownerAt = async (name: string, baseUrl: string): Promise<HistoryOwner> => {
    const options = { baseUrl, credentials: serviceCredentials(config), timeoutMs: config.OWNER_TIMEOUT_MS };
    return createHistoryOwner(await scope.start(`${name} client`, () => createInternalClient(options)));
  };
  const finance = await ownerAt("finance", config.FINANCE_URL);
  const account = await ownerAt("account", config.ACCOUNT_URL);
  const app = createHttpServer({ logger, health, clock });
  await scope.start("http", () => listen(app, { host: config.HTTP_HOST, port: config.HTTP_PORT }));
  const store = await scope.start("command store", () =>
    createCommandStore({ worker: SERVICE, database, producer, clock, logger }),
  );
  const executor = createExportExecutor({
    owners: [finance, account],
    serverOf: (serverId) => directory.server(serverId),
  });
  await scope.start("command worker", () =>
    createCommandWorker({
      worker: SERVICE,
      topic: TOPICS.commandsExport,
      store,
      kafka,
      executor,
      maxBatchCommands: MAX_BATCH_COMMANDS,
      clock,
      logger,
      health,
      fatal,
    }),
  );
}
