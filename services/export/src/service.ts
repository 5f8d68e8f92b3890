import { COMMANDS_MIGRATIONS, startCommandStore, startCommandWorker } from "@kapi/commands";
import { TOPICS } from "@kapi/contracts";
import { startProducer } from "@kapi/kafka";
import { startDatabaseClock } from "@kapi/postgres";
import type { MainContext, MigrationContext, ServiceProgram } from "@kapi/runtime";
import {
  startServiceKafka,
  migrateSchema,
  type ServiceSchema,
  startDatabase,
  startHttp,
  startServiceClient,
  startServiceDirectory,
} from "@kapi/service";

import { type Config, ConfigSchema } from "./config.ts";
import type { HistoryOwner } from "./domain/ports.ts";
import { createExportExecutor } from "./operations/export-account-history.ts";
import { createHistoryOwner } from "./outbound/http/history-owner.ts";

const SERVICE = "export";
const SCHEMA: ServiceSchema = { service: SERVICE, schema: "export", directories: [COMMANDS_MIGRATIONS] };
/**
 * Maximum number of exports in one batch. The results of a batch, of at most 4 MB each, are written
 * in one database transaction.
 */
const MAX_BATCH_COMMANDS = 8;

/** Migrates the schema: the command "migrate", and the first step of every start. */
export function migrateDatabase(context: MigrationContext): Promise<void> {
  return migrateSchema(SCHEMA, context);
}

/**
 * Starts the service: schema, directory, clients of the history's owners, then the worker of export
 * commands.
 */
export async function startService(context: MainContext<Config>): Promise<void> {
  const { config, scope, logger, health, fatal } = context;
  const database = await startDatabase(context, SCHEMA);
  const clock = await scope.start("database clock", () => startDatabaseClock(database, context));
  const kafka = await startServiceKafka(context, SERVICE);
  const producer = await scope.start("producer", () => startProducer(kafka));
  const directory = await startServiceDirectory(context, kafka);
  const ownerAt = async (service: string, baseUrl: string): Promise<HistoryOwner> =>
    createHistoryOwner(await startServiceClient(context, { service, baseUrl, timeoutMs: config.OWNER_TIMEOUT_MS }));
  const finance = await ownerAt("finance", config.FINANCE_URL);
  const account = await ownerAt("account", config.ACCOUNT_URL);
  await startHttp(context, { clock });
  const store = await scope.start("command store", () =>
    startCommandStore({ worker: SERVICE, database, producer, clock, logger }),
  );
  const executor = createExportExecutor({
    owners: [finance, account],
    serverOf: (serverId) => directory.server(serverId),
  });
  await scope.start("command worker", () =>
    startCommandWorker({
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

/** The service, as its process runs it. */
export const program: ServiceProgram<typeof ConfigSchema> = {
  service: SERVICE,
  schema: ConfigSchema,
  start: startService,
  migrate: migrateDatabase,
};
