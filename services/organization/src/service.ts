import { fileURLToPath } from "node:url";

import { TOPICS } from "@kapi/contracts";
import { createHttpServer, createInternalClient, listen, requireInternalToken } from "@kapi/http";
import { beginOffsets, createConsumer, createKafka, createProducer, endOffsets } from "@kapi/kafka";
import { createPool, migrate } from "@kapi/postgres";
import { ALL_TAGS, closedTags, createRedis } from "@kapi/redis";
import type { MainContext } from "@kapi/runtime";

import type { Config } from "./config.ts";
import { installCreditUsage } from "./inbound/http/credit-usage.ts";
import { installRoutes } from "./inbound/http/routes.ts";
import { takeCommandEvents } from "./inbound/kafka/command-events.ts";
import { startLoop } from "./inbound/loop.ts";
import { applyPending } from "./operations/apply-pending.ts";
import type { LedgerContext } from "./operations/ledger-context.ts";
import { openClosedTags } from "./operations/open-tags.ts";
import { publishDirectory } from "./operations/publish-directory.ts";
import { MAX_ENTRIES_PER_TAG, recordUsage } from "./operations/record-usage.ts";
import { releaseOrphans } from "./operations/release-orphans.ts";
import { commandStatusOver } from "./outbound/http/command-status.ts";
import { publishOutbox } from "./outbound/kafka/outbox-publisher.ts";
import { createStore } from "./outbound/postgres/store.ts";
import { createUsageLines } from "./outbound/postgres/usage-lines.ts";

const SERVICE = "organization";
const MIGRATIONS = fileURLToPath(new URL("../migrations", import.meta.url));
const INTERNAL_CALL_TIMEOUT_MS = 4_000;
/** How long usage waits in Redis for the ledger, at most, when there is little of it; settlements take it along earlier. */
const USAGE_PAUSE_MS = 1_000;
/** Least time from one batch of settlements to the next. */
const SETTLEMENT_INTERVAL_MS = 500;
/** How soon a closed tag is noticed. */
const OPENING_PAUSE_MS = 250;
const PENDING_PAUSE_MS = 500;
const OUTBOX_PAUSE_MS = 500;
const ORPHANS_PAUSE_MS = 60_000;

/** Brings the service's schema up to date: the program's command "migrate", and the first step of every start. */
export function migrateDatabase({ config, logger }: Pick<MainContext<Config>, "config" | "logger">): Promise<void> {
  return migrate({ connectionString: config.POSTGRES_URL, schema: SERVICE, directory: MIGRATIONS, logger });
}

/** The organization service: directory, keys, wallets and the credit ledger. */
export async function start(main: MainContext<Config>): Promise<void> {
  const { config, scope, logger, health, clock } = main;
  const connectionString = config.POSTGRES_URL;
  await migrateDatabase(main);
  const database = await scope.start("postgres", () =>
    createPool({
      connectionString,
      schema: SERVICE,
      applicationName: SERVICE,
      max: config.POSTGRES_POOL_SIZE,
      logger,
    }),
  );
  const redis = await scope.start("redis", () => createRedis({ url: config.REDIS_URL, clientName: SERVICE, logger }));
  const kafka = createKafka({
    brokers: config.KAFKA_BROKERS,
    clientId: SERVICE,
    topicPrefix: config.KAFKA_TOPIC_PREFIX,
    sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    logger,
  });
  const producer = await scope.start("producer", () => createProducer(kafka));
  const commandStatusClient = await scope.start("command-status client", () =>
    createInternalClient({
      baseUrl: config.COMMAND_STATUS_URL,
      token: config.INTERNAL_TOKEN,
      timeoutMs: INTERNAL_CALL_TIMEOUT_MS,
    }),
  );
  const commandStatus = commandStatusOver(commandStatusClient);
  const store = createStore(database);
  const ledger: LedgerContext = { store, redis, clock, logger };
  logger.info({ entries: await publishDirectory(store, producer) }, "directory published");

  const consumer = await scope.start("command.events", () =>
    createConsumer(kafka, {
      groupId: SERVICE,
      topics: [TOPICS.commandEvents],
      // Nobody waits for a settlement, and a thousand of them cost little more than one.
      minIntervalMs: SETTLEMENT_INTERVAL_MS,
      onBatch: takeCommandEvents(ledger),
      logger,
      fatal: (error) => main.fatal(error),
    }),
  );
  health.liveness("command.events", () => consumer.check());

  const eventLog = {
    begins: () => beginOffsets(kafka, TOPICS.commandEvents),
    ends: () => endOffsets(kafka, TOPICS.commandEvents),
  };
  let openings: string | null = "the wallets have not been looked at yet";
  await scope.start("opening of tags", () =>
    startLoop({
      name: "opening of tags",
      logger,
      pauseMs: OPENING_PAUSE_MS,
      round: async () => {
        const closed = await closedTags(redis, ALL_TAGS);
        if (closed.length > 0) openings = `${closed.length} of ${ALL_TAGS.length} tags are closed`;
        await openClosedTags({ ...ledger, commandStatus, eventLog }, closed);
        openings = null;
        return false;
      },
    }),
  );
  health.readiness("wallets", () => openings ?? redis.check());
  await scope.start("usage", () =>
    startLoop({
      name: "usage",
      logger,
      pauseMs: USAGE_PAUSE_MS,
      // Only a full batch is followed by the next at once: many small ones would cost far more than a few large ones.
      round: async () => (await recordUsage(ledger, ALL_TAGS)) >= MAX_ENTRIES_PER_TAG,
    }),
  );
  await scope.start("pending wallet changes", () =>
    startLoop({
      name: "pending wallet changes",
      logger,
      pauseMs: PENDING_PAUSE_MS,
      round: async () => (await applyPending(ledger)) > 0,
    }),
  );
  const publish = (): Promise<void> => publishOutbox(database, producer);
  // What Kafka does not take at once, the loop sends later: the change itself is committed.
  const publishNow = (): Promise<void> =>
    publish().catch((error: unknown) => logger.warn({ err: error }, "committed changes wait for Kafka"));
  const outbox = await scope.start("outbox", () =>
    startLoop({ name: "outbox", logger, pauseMs: OUTBOX_PAUSE_MS, round: () => publish().then(() => false) }),
  );
  health.readiness("outbox", () => outbox.failing());
  await scope.start("orphaned reservations", () =>
    startLoop({
      name: "orphaned reservations",
      logger,
      pauseMs: ORPHANS_PAUSE_MS,
      round: async () => (await releaseOrphans(ledger, commandStatus)) > 0,
    }),
  );

  const app = createHttpServer({ logger, health, clock });
  requireInternalToken(app, config.INTERNAL_TOKEN);
  installRoutes(app, { ...ledger, publish: publishNow });
  installCreditUsage(app, createUsageLines(database));
  const { url } = await scope.start("http", () => listen(app, { host: config.HTTP_HOST, port: config.HTTP_PORT }));
  logger.info({ url }, "listening");
}
