import { fileURLToPath } from "node:url";
import { createDirectory } from "@kapi/admission";
import { COMMANDS_MIGRATIONS, createCommandStore, createCommandWorker } from "@kapi/commands";
import { TOPICS } from "@kapi/contracts";
import { createHttpServer, createInternalClient, listen, requireInternalToken } from "@kapi/http";
import { createKafka, createProducer } from "@kapi/kafka";
import { createPool, isTransient, migrate } from "@kapi/postgres";
import type { MainContext } from "@kapi/runtime";
import { createTradingServerClient, TradingServerUnreachable } from "@kapi/trading-server";
import { consumeTradingEvents } from "@kapi/trading-server/event-feed";

import type { Config } from "./config.ts";
import { startHistoryFeed } from "./history-feed.ts";
import { registerHistoryRoutes } from "./inbound/http/history-routes.ts";
import { registerRoutes } from "./inbound/http/routes.ts";
import { createAccountCommands } from "./inbound/kafka/account-commands.ts";
import { followServers } from "./inbound/kafka/server-directory.ts";
import { createTradingAccounts } from "./operations/create-trading-account.ts";
import { createAccountOpener } from "./outbound/http/account-opener.ts";
import { createSamples } from "./outbound/http/samples.ts";
import { createValuations } from "./outbound/http/valuations.ts";
import { recordFacts } from "./outbound/postgres/account-facts.ts";
import { createAccountReader } from "./outbound/postgres/account-reader.ts";
import { createCreationBook } from "./outbound/postgres/creation-book.ts";
import { createServerRegister } from "./outbound/postgres/server-register.ts";

const SERVICE = "account";
const MIGRATIONS = fileURLToPath(new URL("../migrations", import.meta.url));
/** Deadline of a question to the metrics service. */
const SAMPLES_TIMEOUT_MS = 2_000;

/** Starts the service: schema, directory, reads, and last the worker that carries out commands. */
export async function startService(context: MainContext<Config>): Promise<void> {
  const { config, scope, logger, health, clock, fatal } = context;
  const connectionString = config.POSTGRES_URL;
  const directories = [COMMANDS_MIGRATIONS];
  await migrate({ connectionString, schema: SERVICE, directory: MIGRATIONS, directories, logger });
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
  const directory = await scope.start("directory", () => createDirectory({ kafka, logger, fatal }));
  health.liveness("directory", () => directory.check());
  const tradingServer = await scope.start("trading-server client", () =>
    createTradingServerClient({
      urlOf: (serverId) => directory.server(serverId)?.tradingServerUrl,
      token: config.TRADING_SERVER_TOKEN,
      timeoutMs: config.TRADING_SERVER_TIMEOUT_MS,
    }),
  );
  const metrics = await scope.start("metrics client", () =>
    createInternalClient({ baseUrl: config.METRICS_URL, token: config.INTERNAL_TOKEN, timeoutMs: SAMPLES_TIMEOUT_MS }),
  );

  const reader = createAccountReader(database);
  const register = createServerRegister(database);
  const book = createCreationBook(database);
  const opener = createAccountOpener(tradingServer);
  await scope.start("server directory", () =>
    followServers({
      servers: () => directory.servers(),
      onChange: (listener) => directory.onChange(listener),
      register,
      configure: (server) =>
        tradingServer.configure(server.serverId, {
          serverName: server.serverName,
          companyName: server.companyName,
          currency: server.currency,
          environment: server.environment,
          supportedLeverage: [...server.supportedLeverage],
          defaultLeverage: server.defaultLeverage,
        }),
      logger,
    }),
  );

  const store = await scope.start("command store", () =>
    createCommandStore({ worker: SERVICE, database, producer, clock, logger }),
  );
  const history = await startHistoryFeed({ scope, store, client: tradingServer, logger });

  const app = createHttpServer({ logger, health, clock });
  requireInternalToken(app, config.INTERNAL_TOKEN);
  registerRoutes(app, {
    reader,
    samples: createSamples(metrics),
    valuations: createValuations(tradingServer),
    onStale: (error) => logger.warn({ err: error }, "account details show the last sample: no live values to be had"),
  });
  registerHistoryRoutes(app, history);
  await scope.start("http", () => listen(app, { host: config.HTTP_HOST, port: config.HTTP_PORT }));

  const { queue } = history;
  const events = await scope.start("trading events", () =>
    consumeTradingEvents({ kafka, groupId: "account.trading-events", queue, isTransient, logger, fatal }),
  );
  health.liveness("trading events", () => events.check());
  const topic = TOPICS.commandsAccount;
  const executor = createAccountCommands({
    createTradingAccounts: (serverId, requested) =>
      createTradingAccounts({ reader, book, opener }, serverId, requested),
    opener,
    book,
    recordFacts,
    derivationKeys: config.PASSWORD_DERIVATION_KEYS,
    sealingKeys: config.PASSWORD_SEALING_KEYS,
    clock,
    isUnreachable: (error) => error instanceof TradingServerUnreachable,
  });
  await scope.start("command worker", () =>
    createCommandWorker({ worker: SERVICE, topic, store, kafka, executor, clock, logger, health, fatal }),
  );
}
