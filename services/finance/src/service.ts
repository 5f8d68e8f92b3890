import { fileURLToPath } from "node:url";

import { createDirectory } from "@kapi/admission";
import { COMMANDS_MIGRATIONS, createCommandStore, createCommandWorker } from "@kapi/commands";
import { TOPICS } from "@kapi/contracts";
import { createHttpServer, listen, requireInternalToken } from "@kapi/http";
import { createKafka, createProducer } from "@kapi/kafka";
import { createPool, isTransient, migrate } from "@kapi/postgres";
import type { MainContext } from "@kapi/runtime";
import { createTradingServerClient, TradingServerUnreachable } from "@kapi/trading-server";

import type { Config } from "./config.ts";
import type { AccountName, Discrepancy } from "./domain/ledger.ts";
import { consumeTradingEvents } from "./inbound/kafka/trading-events.ts";
import { BookingQueue } from "./operations/booking-queue.ts";
import { startGapFiller } from "./operations/fill-gaps.ts";
import { createFundsExecutor } from "./operations/move-funds.ts";
import { createEventHistory } from "./outbound/http/event-history.ts";
import { createGapBook } from "./outbound/postgres/gap-book.ts";
import { createPostgresLedger } from "./outbound/postgres/postgres-ledger.ts";

const SERVICE = "finance";
const MIGRATIONS = fileURLToPath(new URL("../migrations", import.meta.url));

/** Starts the service: schema, directory, ledger, then what feeds it, and last the worker that carries out commands. */
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
  const client = await scope.start("trading-server client", () =>
    createTradingServerClient({
      urlOf: (serverId) => directory.server(serverId)?.tradingServerUrl,
      token: config.TRADING_SERVER_TOKEN,
      timeoutMs: config.TRADING_SERVER_TIMEOUT_MS,
    }),
  );

  const app = createHttpServer({ logger, health, clock });
  requireInternalToken(app, config.INTERNAL_TOKEN);
  await scope.start("http", () => listen(app, { host: config.HTTP_HOST, port: config.HTTP_PORT }));

  const store = await scope.start("command store", () =>
    createCommandStore({ worker: SERVICE, database, producer, clock, logger }),
  );
  const ledger = createPostgresLedger({
    store,
    clock,
    organizationOf: (serverId) => directory.server(serverId)?.organizationId,
  });
  let discrepancyCount = 0;
  const queue: BookingQueue = new BookingQueue({
    ledger,
    isTransient,
    onGaps: (accounts: readonly AccountName[]) => filler.fill(accounts),
    onDiscrepancies: (discrepancies: readonly Discrepancy[]) => {
      discrepancyCount += discrepancies.length;
      logger.error({ discrepancies, discrepancyCount }, "ledger and trading server disagree about a balance");
    },
    onUnbookable: (account, error) => logger.error({ err: error, ...account }, "events of an account cannot be booked"),
  });
  const filler = await scope.start("gap filler", () =>
    startGapFiller({
      gaps: createGapBook(database),
      history: createEventHistory(client),
      book: (event) => queue.book(event),
      logger,
    }),
  );
  const events = await scope.start("trading events", () =>
    consumeTradingEvents({ kafka, queue, isTransient, logger, fatal }),
  );
  health.liveness("trading events", () => events.check());
  const executor = createFundsExecutor({
    client,
    ledger,
    book: (event) => queue.book(event),
    serverOf: (serverId) => directory.server(serverId),
    isUnreachable: (error) => error instanceof TradingServerUnreachable,
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
}
