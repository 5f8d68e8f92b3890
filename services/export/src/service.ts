import { COMMANDS_MIGRATIONS, createCommandStore, createCommandWorker } from "@kapi/commands";
import { TOPICS } from "@kapi/contracts";
import { createHttpServer, listen, requireInternalToken } from "@kapi/http";
import { createKafka, createProducer } from "@kapi/kafka";
import { createPool, migrate } from "@kapi/postgres";
import type { MainContext } from "@kapi/runtime";

import type { Config } from "./config.ts";
import { exportExecutor } from "./operations/export-account-history.ts";

const SERVICE = "export";

/** Starts the service: schema, then the worker that takes export commands. */
export async function startService(context: MainContext<Config>): Promise<void> {
  const { config, scope, logger, health, clock, fatal } = context;
  const connectionString = config.POSTGRES_URL;
  await migrate({ connectionString, schema: SERVICE, directories: [COMMANDS_MIGRATIONS], logger });
  const database = await scope.start("postgres", () =>
    createPool({ connectionString, schema: SERVICE, applicationName: SERVICE, max: config.POSTGRES_POOL_SIZE, logger }),
  );
  const kafka = createKafka({
    brokers: config.KAFKA_BROKERS,
    clientId: SERVICE,
    topicPrefix: config.KAFKA_TOPIC_PREFIX,
    sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    logger,
  });
  const producer = await scope.start("producer", () => createProducer(kafka));
  const app = createHttpServer({ logger, health, clock });
  requireInternalToken(app, config.INTERNAL_TOKEN);
  await scope.start("http", () => listen(app, { host: config.HTTP_HOST, port: config.HTTP_PORT }));
  const store = await scope.start("command store", () =>
    createCommandStore({ worker: SERVICE, database, producer, clock, logger }),
  );
  await scope.start("command worker", () =>
    createCommandWorker({
      worker: SERVICE,
      topic: TOPICS.commandsExport,
      store,
      kafka,
      executor: exportExecutor,
      clock,
      logger,
      health,
      fatal,
    }),
  );
}
