import { fileURLToPath } from "node:url";

import { COMMANDS_MIGRATIONS, startCommandStore, startCommandWorker } from "@kapi/commands";
import { TOPICS, type AccountRef } from "@kapi/contracts";
import { DIGESTS_MIGRATIONS, startDigestMaker } from "@kapi/digests";
import { ApiError } from "@kapi/http";
import { startProducer } from "@kapi/kafka";
import { isTransient, startDatabaseClock } from "@kapi/postgres";
import { counter, gauge, type MainContext, type MigrationContext, type ServiceProgram } from "@kapi/runtime";
import {
  startServiceKafka,
  migrateSchema,
  type ServiceSchema,
  startDatabase,
  startInternalHttp,
  startReader,
  startServiceDirectory,
  startTradingServers,
} from "@kapi/service";
import { TradingServerCallNotSent, TradingServerUnreachable } from "@kapi/trading-server";
import {
  bookNextPage,
  BookingQueue,
  startTradingEventConsumer,
  createEventHistory,
  startGapFiller,
} from "@kapi/trading-server/event-feed";

import { type Config, ConfigSchema } from "./config.ts";
import { BehindTradingServer } from "./domain/errors.ts";
import type { LedgerReport } from "./domain/ports.ts";
import { registerTransactionRoutes } from "./inbound/http/routes.ts";
import { catchUp } from "./operations/catch-up.ts";
import { createFundsExecutor } from "./operations/move-funds.ts";
import { type PassReport, startReconciler } from "./operations/reconcile.ts";
import { createDigestReader } from "./outbound/postgres/digest-reader.ts";
import { createDigestTable } from "./outbound/postgres/digest-table.ts";
import { createGapRepository } from "./outbound/postgres/gap-repository.ts";
import { createLedgerBalances } from "./outbound/postgres/ledger-balances.ts";
import { createPostgresLedger } from "./outbound/postgres/postgres-ledger.ts";
import { createDeletionMarks, createTransactionReader } from "./outbound/postgres/transaction-reader.ts";

const SERVICE = "finance";
/** The consumer group that books trading events. */
const EVENTS_GROUP = "finance.trading-events";
/**
 * Maximum number of commands of one account in one call of the trading server, which applies them
 * in order.
 */
const MAX_ACCOUNT_COMMANDS_PER_CALL = 100;
const SCHEMA: ServiceSchema = {
  service: SERVICE,
  schema: "finance",
  directory: fileURLToPath(new URL("../migrations", import.meta.url)),
  directories: [COMMANDS_MIGRATIONS, DIGESTS_MIGRATIONS],
};

/** Migrates the schema: the command "migrate", and the first step of every start. */
export function migrateDatabase(context: MigrationContext): Promise<void> {
  return migrateSchema(SCHEMA, context);
}

/**
 * Starts the service in this order: schema, directory, ledger, gap filler, routes, event consumer,
 * command worker, daily digests, reconciliation.
 */
export async function startService(context: MainContext<Config>): Promise<void> {
  const { config, scope, logger, health, fatal } = context;
  const database = await startDatabase(context, SCHEMA);
  const clock = await scope.start("database clock", () => startDatabaseClock(database, context));
  const kafka = await startServiceKafka(context, SERVICE);
  const producer = await scope.start("producer", () => startProducer(kafka));
  const directory = await startServiceDirectory(context, kafka);
  const client = await startTradingServers(context, directory);

  const store = await scope.start("command store", () =>
    startCommandStore({ worker: SERVICE, database, producer, clock, logger }),
  );
  const ledger = createPostgresLedger({
    store,
    clock,
    organizationOf: (serverId) => directory.server(serverId)?.organizationId,
  });
  const discrepancyCounter = counter(
    "finance.discrepancies",
    "Events after which ledger and trading server have different balances of the account",
  );
  const queue: BookingQueue<LedgerReport> = new BookingQueue({
    repository: ledger,
    isTransient,
    onGaps: (accounts: readonly AccountRef[]) => filler.fill(accounts),
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
  await startInternalHttp(context, SERVICE, {
    clock,
    isDependencyFailure: (error) => isUnreachable(error) || error instanceof BehindTradingServer || isTransient(error),
    register: (app) =>
      registerTransactionRoutes(app, {
        reader,
        deletions: createDeletionMarks(database),
        digests: createDigestReader(database),
        catchUp: (account) =>
          catchUp(
            { client, reader, bookNextPage: (one, booked) => bookNextPage({ history, queue }, one, booked) },
            account,
          ),
      }),
  });

  await startReader(context, "trading events", () =>
    startTradingEventConsumer({ kafka, groupId: EVENTS_GROUP, queue, isTransient, logger, fatal }),
  );
  const executor = createFundsExecutor({
    client,
    ledger,
    book: (event, traceparent) => queue.book(event, traceparent),
    serverOf: (serverId) => directory.server(serverId),
    isUnreachable,
    isNotSent: (error) => error instanceof TradingServerCallNotSent,
  });
  await scope.start("command worker", () =>
    startCommandWorker({
      worker: SERVICE,
      topic: TOPICS.commandsFinance,
      store,
      kafka,
      executor,
      maxAccountCommands: MAX_ACCOUNT_COMMANDS_PER_CALL,
      clock,
      logger,
      health,
      fatal,
    }),
  );
  await scope.start("daily digests", () =>
    startDigestMaker({
      service: SERVICE,
      database,
      table: createDigestTable(database, clock),
      serverIds: () => Array.from(directory.servers(), ({ serverId }) => serverId),
      kafka,
      groupId: EVENTS_GROUP,
      graceMs: config.DIGEST_GRACE_MS,
      clock,
      logger,
    }),
  );
  const compared = gauge("finance.reconciliation.accounts", "Accounts of the last pass, by `finding`", "{account}");
  await scope.start("reconciliation", () =>
    startReconciler({
      balances: createLedgerBalances(database),
      client,
      isUnreachable: (error) => isUnreachable(error) || isAboveShare(error),
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

/** Whether a read failed because too many calls of its organization wait. */
function isAboveShare(error: unknown): boolean {
  return error instanceof ApiError && error.code === "TOO_MANY_CONCURRENT_REQUESTS";
}

function isUnreachable(error: unknown): boolean {
  return error instanceof TradingServerUnreachable;
}

/** The service, as its process runs it. */
export const program: ServiceProgram<typeof ConfigSchema> = {
  service: SERVICE,
  schema: ConfigSchema,
  start: startService,
  migrate: migrateDatabase,
};
