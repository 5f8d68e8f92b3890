import { fileURLToPath } from "node:url";

import { createDirectory } from "@kapi/admission";
import { COMMANDS_MIGRATIONS, createCommandStore, createCommandWorker } from "@kapi/commands";
import { TOPICS } from "@kapi/contracts";
import { admitCallers, createHttpServer, listen } from "@kapi/http";
import { createKafka, createProducer, kafkaOptions } from "@kapi/kafka";
import {
  createPool,
  isTransient,
  migrate,
  migrationOptions,
  postgresOptions,
  startDatabaseClock,
} from "@kapi/postgres";
import { counter, gauge, type MainContext, type MigrationContext } from "@kapi/runtime";
import { createAddresses, createTradingServerClient, TradingServerUnreachable } from "@kapi/trading-server";
import {
  type AccountName,
  bookNextPage,
  BookingQueue,
  consumeTradingEvents,
  createEventHistory,
  startGapFiller,
} from "@kapi/trading-server/event-feed";

import type { Config } from "./config.ts";
import { BehindTradingServer } from "./domain/errors.ts";
import type { LedgerReport } from "./domain/ports.ts";
import { registerRoutes } from "./inbound/http/routes.ts";
import { catchUp } from "./operations/catch-up.ts";
import { createFundsExecutor } from "./operations/move-funds.ts";
import { type PassReport, startReconciler } from "./operations/reconcile.ts";
import { createGapRepository } from "./outbound/postgres/gap-repository.ts";
import { createLedgerBalances } from "./outbound/postgres/ledger-balances.ts";
import { createPostgresLedger } from "./outbound/postgres/postgres-ledger.ts";
import { createDeletionMarks, createTransactionReader } from "./outbound/postgres/transaction-reader.ts";

const SERVICE = "finance";
const MIGRATIONS = fileURLToPath(new URL("../migrations", import.meta.url));

/** Migrates the schema: the command "migrate", and the first step of every start. */
export function migrateDatabase({ config, logger }: MigrationContext): Promise<void> {
  return migrate({
    ...migrationOptions(config),
    schema: SERVICE,
    directory: MIGRATIONS,
    directories: [COMMANDS_MIGRATIONS],
    logger,
  });
}

/** Starts the service: schema, directory, ledger, event consumer, and last the command worker. */
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
  const client = await scope.start("trading-server client", () =>
    createTradingServerClient({
      addressOf: createAddresses({
        server: (serverId) => directory.server(serverId),
        keys: config.TRADING_SERVER_SEALING_KEYS,
        sharedToken: config.TRADING_SERVER_TOKEN,
        allowInsecure: config.TRADING_SERVER_ALLOW_INSECURE === "true",
      }),
      organizationOf: (serverId) => directory.server(serverId)?.organizationId,
      ca: config.TRADING_SERVER_TLS_CA,
      timeoutMs: config.TRADING_SERVER_TIMEOUT_MS,
    }),
  );

  const store = await scope.start("command store", () =>
    createCommandStore({ worker: SERVICE, database, producer, clock, logger }),
  );
  const ledger = createPostgresLedger({
    store,
    clock,
    organizationOf: (serverId) => directory.server(serverId)?.organizationId,
  });
  const discrepancyCounter = counter("finance.discrepancies", "Events after which ledger and trading server disagree");
  const queue: BookingQueue<LedgerReport> = new BookingQueue({
    repository: ledger,
    isTransient,
    onGaps: (accounts: readonly AccountName[]) => filler.fill(accounts),
    onReport: ({ discrepancies }: LedgerReport) => {
      if (discrepancies.length === 0) return;
      discrepancyCounter.add(discrepancies.length);
      logger.error({ discrepancies }, "ledger and trading server disagree about a balance");
    },
    onUnbookable: (account, error) => logger.error({ err: error, ...account }, "events of an account cannot be booked"),
  });
  const history = createEventHistory(client);
  const filler = await scope.start("gap filler", () =>
    startGapFiller({ gaps: createGapRepository(database), history, queue, logger }),
  );

  const reader = createTransactionReader(database);
  const app = createHttpServer({
    logger,
    health,
    clock,
    isDependencyFailure: (error) => isUnreachable(error) || error instanceof BehindTradingServer || isTransient(error),
  });
  admitCallers(app, "finance", config);
  registerRoutes(app, {
    reader,
    deletions: createDeletionMarks(database),
    catchUp: (account) =>
      catchUp(
        { client, reader, bookNextPage: (one, booked) => bookNextPage({ history, queue }, one, booked) },
        account,
      ),
  });
  const { url } = await scope.start("http", () => listen(app, { host: config.HTTP_HOST, port: config.HTTP_PORT }));
  logger.info({ url }, "listening");

  const events = await scope.start("trading events", () =>
    consumeTradingEvents({ kafka, groupId: "finance.trading-events", queue, isTransient, logger, fatal }),
  );
  health.liveness("trading events", () => events.check());
  const executor = createFundsExecutor({
    client,
    ledger,
    book: (event, traceparent) => queue.book(event, traceparent),
    serverOf: (serverId) => directory.server(serverId),
    isUnreachable,
  });
  await scope.start("command worker", () =>
    createCommandWorker({
      worker: SERVICE,
      topic: TOPICS.commandsFinance,
      store,
      kafka,
      executor,
      clock,
      logger,
      health,
      fatal,
    }),
  );
  const compared = gauge("finance.reconciliation.accounts", "Accounts of the last pass, by finding", "{account}");
  await scope.start("reconciliation", () =>
    startReconciler({
      balances: createLedgerBalances(database),
      client,
      isUnreachable,
      onPass: (report: PassReport) => {
        for (const [finding, accounts] of Object.entries(report)) compared.record(accounts, { finding });
        const differing = report.differs + report.missing;
        logger[differing > 0 ? "error" : "info"]({ ...report }, "reconciliation: a pass ended");
      },
      intervalMs: config.RECONCILIATION_INTERVAL_MS,
      logger,
    }),
  );
}

function isUnreachable(error: unknown): boolean {
  return error instanceof TradingServerUnreachable;
}
