import { fileURLToPath } from "node:url";
import { COMMANDS_MIGRATIONS, startCommandStore, startCommandWorker } from "@kapi/commands";
import { TOPICS } from "@kapi/contracts";
import { DIGESTS_MIGRATIONS, startDigestMaker } from "@kapi/digests";
import { startProducer } from "@kapi/kafka";
import { assertDefined, derivePassword, openPassword, Urgency } from "@kapi/kernel";
import { registerAuditOutboxRoutes } from "@kapi/outbox";
import { isTransient, startDatabaseClock } from "@kapi/postgres";
import type { MainContext, MigrationContext, ServiceProgram } from "@kapi/runtime";
import {
  startServiceKafka,
  migrateSchema,
  type ServiceSchema,
  startDatabase,
  startInternalHttp,
  startReader,
  startServiceClient,
  startServiceDirectory,
  startTradingServers,
} from "@kapi/service";
import { TradingServerCallNotSent, TradingServerUnreachable } from "@kapi/trading-server";
import { startTradingEventConsumer } from "@kapi/trading-server/event-feed";

import { type Config, ConfigSchema } from "./config.ts";
import type { ConfigureServer } from "./domain/ports.ts";
import { startHistoryFeed } from "./history-feed.ts";
import { registerChangeRoutes } from "./inbound/http/change-routes.ts";
import { registerHistoryRoutes } from "./inbound/http/history-routes.ts";
import { registerAccountRoutes } from "./inbound/http/routes.ts";
import { createAccountCommands } from "./inbound/kafka/account-commands.ts";
import { startServerFollower } from "./inbound/kafka/server-directory.ts";
import { startUnfinishedDeletions } from "./inbound/unfinished-deletions.ts";
import { createChangeBooking } from "./operations/book-changes.ts";
import { changeTradingAccounts, settleTradingAccounts } from "./operations/change-trading-accounts.ts";
import { createTradingAccounts } from "./operations/create-trading-account.ts";
import { deleteTradingAccountImmediately, resumeDeletions } from "./operations/delete-trading-account-immediately.ts";
import { queuedOperations } from "./operations/queued-operations.ts";
import type { PasswordOf } from "./operations/reset-password.ts";
import { TradingServerChecks } from "./operations/check-trading-servers.ts";
import { updateServerConfiguration } from "./operations/update-server-configuration.ts";
import { createAccountChanger } from "./outbound/http/account-changer.ts";
import { createAccountOpener } from "./outbound/http/account-opener.ts";
import { createExternalAccountData } from "./outbound/http/external-account-data.ts";
import { createLedger } from "./outbound/http/ledger.ts";
import { createQuotes } from "./outbound/http/quotes.ts";
import { createSamples } from "./outbound/http/samples.ts";
import { createValuations } from "./outbound/http/valuations.ts";
import { createAccountRepository } from "./outbound/postgres/account-repository.ts";
import { recordEvents } from "./outbound/postgres/account-events.ts";
import { createAccountReader } from "./outbound/postgres/account-reader.ts";
import { createCreationRepository } from "./outbound/postgres/creation-repository.ts";
import { deleteHistory } from "./outbound/postgres/delete-history.ts";
import { createDeletionRepository } from "./outbound/postgres/deletion-repository.ts";
import { createDigestReader } from "./outbound/postgres/digest-reader.ts";
import { createDigestTable } from "./outbound/postgres/digest-table.ts";
import { createServerRepository } from "./outbound/postgres/server-repository.ts";

const SERVICE = "account";
/** The consumer group that books trading events. */
const EVENTS_GROUP = "account.trading-events";
const SCHEMA: ServiceSchema = {
  service: SERVICE,
  schema: "account",
  directory: fileURLToPath(new URL("../migrations", import.meta.url)),
  directories: [COMMANDS_MIGRATIONS, DIGESTS_MIGRATIONS],
};
/** Deadline of a call to finance or metrics. Calls of a deletion or a catch-up set another one. */
const NEIGHBOUR_TIMEOUT_MS = 2_000;

/** Migrates the schema: the command "migrate", and the first step of every start. */
export function migrateDatabase(context: MigrationContext): Promise<void> {
  return migrateSchema(SCHEMA, context);
}

/** Starts the service. The command worker, daily digests and unfinished deletions start last. */
export async function startService(context: MainContext<Config>): Promise<void> {
  const { config, scope, logger, health, fatal } = context;
  const database = await startDatabase(context, SCHEMA);
  const clock = await scope.start("database clock", () => startDatabaseClock(database, context));
  const kafka = await startServiceKafka(context, SERVICE);
  const producer = await scope.start("producer", () => startProducer(kafka));
  const directory = await startServiceDirectory(context, kafka);
  const tradingServer = await startTradingServers(context, directory);
  const timeoutMs = NEIGHBOUR_TIMEOUT_MS;
  const metrics = await startServiceClient(context, { service: "metrics", baseUrl: config.METRICS_URL, timeoutMs });
  const finance = await startServiceClient(context, { service: "finance", baseUrl: config.FINANCE_URL, timeoutMs });

  const reader = createAccountReader(database);
  const serverRepository = createServerRepository(database, clock);
  const creationRepository = createCreationRepository(database);
  const accountRepository = createAccountRepository(database);
  const digests = createDigestTable(database, clock);
  const deletionRepository = createDeletionRepository({
    database,
    clock,
    deleteHistory: async (serverId, accountNumber) => {
      await digests.makeLast({ serverId, accountNumber });
      await deleteHistory(database, serverId, accountNumber);
    },
  });
  const opener = createAccountOpener(tradingServer);
  const changer = createAccountChanger(tradingServer);
  const configure: ConfigureServer = (server) =>
    tradingServer.configure(server.serverId, {
      serverName: server.serverName,
      companyName: server.companyName,
      currency: server.currency,
      environment: server.environment,
      supportedLeverage: [...server.supportedLeverage],
      defaultLeverage: server.defaultLeverage,
    });
  await scope.start("server directory", () =>
    startServerFollower({
      servers: () => directory.servers(),
      onChange: (listener) => directory.onChange(listener),
      serverRepository,
      configure,
      logger,
    }),
  );

  const store = await scope.start("command store", () =>
    startCommandStore({ worker: SERVICE, database, producer, clock, logger }),
  );
  const history = await startHistoryFeed({ scope, store, client: tradingServer, clock, logger });

  const deletion = {
    repository: deletionRepository,
    externalData: createExternalAccountData(finance, metrics),
    feed: history.feed,
  };
  const immediateDeletion = {
    ...deletion,
    changer,
    clock,
    announceCreation: (accountId: string, at: string) =>
      store.transact((transaction) => deletionRepository.announceCreation(transaction, accountId, at)),
    finish: (accountId: string) => store.transact((transaction) => deletionRepository.finish(transaction, [accountId])),
  };
  const isUnreachable = (error: unknown): boolean => error instanceof TradingServerUnreachable;
  const isNotSent = (error: unknown): boolean => error instanceof TradingServerCallNotSent;

  await startInternalHttp(context, SERVICE, {
    clock,
    isDependencyFailure: (error) => isUnreachable(error) || isNotSent(error) || isTransient(error),
    register: (app) => {
      registerAccountRoutes(app, {
        reader,
        samples: createSamples(metrics),
        valuations: createValuations(tradingServer),
        quotes: createQuotes(tradingServer),
        // Any answer shows that the trading server is reachable. No account has this number.
        serverChecks: new TradingServerChecks((serverId) => tradingServer.eventSequence(serverId, "0000"), clock),
        onStale: (error) =>
          logger.warn({ err: error }, "account details show the last sample: live values are unavailable"),
      });
      registerHistoryRoutes(app, { ...history, digests: createDigestReader(database) });
      registerAuditOutboxRoutes(app, database);
      registerChangeRoutes(app, {
        updateServerConfiguration: (serverId, body, by) =>
          updateServerConfiguration(serverRepository, configure, serverId, body, by),
        deleteTradingAccountImmediately: (serverId, accountNumber, createdBy) =>
          deleteTradingAccountImmediately(immediateDeletion, serverId, accountNumber, createdBy),
      });
    },
  });

  const { queue } = history;
  const urgency = new Urgency();
  await startReader(context, "trading events", () =>
    startTradingEventConsumer({ kafka, groupId: EVENTS_GROUP, queue, isTransient, urgency, logger, fatal }),
  );
  const topic = TOPICS.commandsAccount;
  const passwordOf: PasswordOf = ({ commandId, sealedPassword, derivationKeyId }, kind) =>
    sealedPassword === null
      ? derivePassword(
          config.PASSWORD_DERIVATION_KEYS,
          assertDefined(derivationKeyId, `the derivation key of command ${commandId}`),
          commandId,
          kind,
        )
      : openPassword(config.PASSWORD_SEALING_KEYS, commandId, sealedPassword);
  const operations = queuedOperations(passwordOf);
  const bookChanges = createChangeBooking({ ...history, urgency });
  const changes = {
    reader,
    repository: accountRepository,
    changer,
    deletion,
    history,
    ledger: createLedger(finance),
    bookChanges,
    operations,
    clock,
  };
  const executor = createAccountCommands({
    creations: {
      createTradingAccounts: (serverId, requested) =>
        createTradingAccounts({ reader, repository: creationRepository, opener }, serverId, requested),
      opener,
      repository: creationRepository,
      recordEvents,
      passwordOf,
      clock,
    },
    changes: {
      changeTradingAccounts: (serverId, messages) => changeTradingAccounts(changes, serverId, messages),
      settleTradingAccounts: (serverId, messages) => settleTradingAccounts(changes, serverId, messages),
      operations,
      repository: accountRepository,
      deletions: deletionRepository,
      recordEvents,
    },
    changer,
    isUnreachable,
    isNotSent,
  });
  await scope.start("command worker", () =>
    startCommandWorker({ worker: SERVICE, topic, store, kafka, executor, clock, logger, health, fatal }),
  );
  await scope.start("daily digests", () =>
    startDigestMaker({
      service: SERVICE,
      database,
      table: digests,
      serverIds: () => Array.from(directory.servers(), ({ serverId }) => serverId),
      kafka,
      groupId: EVENTS_GROUP,
      graceMs: config.DIGEST_GRACE_MS,
      clock,
      logger,
    }),
  );
  await scope.start("unfinished deletions", () =>
    startUnfinishedDeletions({ resume: (reports) => resumeDeletions(immediateDeletion, reports), logger }),
  );
}

/** The service, as its process runs it. */
export const program: ServiceProgram<typeof ConfigSchema> = {
  service: SERVICE,
  schema: ConfigSchema,
  start: startService,
  migrate: migrateDatabase,
};
