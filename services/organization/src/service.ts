import { fileURLToPath } from "node:url";

import { MAX_FORMER_USERS, TOPICS } from "@kapi/contracts";
import { admitCallers, createHttpServer, createInternalClient, listen, serviceCredentials } from "@kapi/http";
import { beginOffsets, createConsumer, createKafka, createProducer, endOffsets, kafkaOptions } from "@kapi/kafka";
import { repeat } from "@kapi/kernel";
import { installAuditOutbox, ROW_PER_MESSAGE, startOutbox } from "@kapi/outbox";
import { createPool, migrate, migrationOptions, postgresOptions, startDatabaseClock } from "@kapi/postgres";
import { ADMISSION_LIBRARY, ALL_SHARDS, shardStates } from "@kapi/admission/redis";
import { createRedis, redisOptions } from "@kapi/redis";
import { gauge, type MainContext, type MigrationContext } from "@kapi/runtime";

import type { Config } from "./config.ts";
import type { CreditMonths } from "./domain/credits/ports.ts";
import { installCreditRoutes } from "./inbound/http/credit-routes.ts";
import { installDirectoryRoutes, installFormerUsers } from "./inbound/http/directory-routes.ts";
import { consumeCommandEvents } from "./inbound/kafka/command-events.ts";
import { measureWaiting } from "./measures.ts";
import { applyPending } from "./operations/credits/apply-pending.ts";
import { checkDrift } from "./operations/credits/check-drift.ts";
import type { LedgerContext } from "./operations/credits/ledger-context.ts";
import { keepCreditMonths } from "./operations/credits/keep-credit-months.ts";
import { syncShards } from "./operations/credits/sync-shards.ts";
import { publishDirectory } from "./operations/directory/publish-directory.ts";
import { recordUsage } from "./operations/credits/record-usage.ts";
import { releaseOrphans } from "./operations/credits/release-orphans.ts";
import { commandStatusOver } from "./outbound/http/command-status.ts";
import { createCreditMonths } from "./outbound/postgres/credits/credit-months.ts";
import { createFormerUsers } from "./outbound/postgres/former-users.ts";
import { createStore } from "./outbound/postgres/store.ts";
import { createUsageLines } from "./outbound/postgres/credits/usage-lines.ts";
import { createWalletChecks } from "./outbound/postgres/credits/wallet-checks.ts";

const SERVICE = "organization";
/** Written by builds between 0.1.0 and this release. */
const APPEND_ONLY = ["audit_log"];
const MIGRATIONS = fileURLToPath(new URL("../migrations", import.meta.url));
const INTERNAL_CALL_TIMEOUT_MS = 4_000;
/** Pause between batches when little usage waits; settlements take usage along earlier. */
const USAGE_PAUSE_MS = 1_000;
/**
 * Shards are read in so many parts concurrently: one batch is prepared while PostgreSQL writes
 * another.
 */
const USAGE_PARTS = 2;
/** Entries. The next batch follows a batch of this size at once. */
const LARGE_USAGE_BATCH = 1_000;
/** Minimum time between batches of settlements. */
const SETTLEMENT_INTERVAL_MS = 500;
/** How soon an unsynced shard is noticed. */
const SYNC_PAUSE_MS = 250;
const PENDING_PAUSE_MS = 500;
const ORPHANS_PAUSE_MS = 60_000;
const DRIFT_PAUSE_MS = 60_000;
const CREDIT_MONTHS_PAUSE_MS = 10 * 60_000;

const unsyncedShards = gauge(
  "organization.tags.closed",
  "Wallet shards that are unsynced, of 64: their organizations are answered 500",
  "{tag}",
);
const unreachableShards = gauge(
  "organization.tags.unreachable",
  "Wallet shards whose Redis node does not answer, of 64: their organizations are answered 500",
  "{tag}",
);

/** Migrates the schema: command "migrate", and first step of every start. */
export function migrateDatabase({ config, logger }: MigrationContext): Promise<void> {
  const tables = { schema: SERVICE, directory: MIGRATIONS, appendOnly: APPEND_ONLY };
  return migrate({ ...migrationOptions(config), ...tables, logger });
}

export async function start(context: MainContext<Config>): Promise<void> {
  const { config, scope, logger, health } = context;
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
  const main = { ...context, clock };
  const redis = await scope.start("redis", () =>
    createRedis({
      ...redisOptions(config),
      clientName: SERVICE,
      functionLibraries: [ADMISSION_LIBRARY],
      logger,
    }),
  );
  const kafka = createKafka({
    ...kafkaOptions(config),
    clientId: SERVICE,
    sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    logger,
  });
  const producer = await scope.start("producer", () => createProducer(kafka));
  const commandStatusClient = await scope.start("command-status client", () =>
    createInternalClient({
      baseUrl: config.COMMAND_STATUS_URL,
      credentials: serviceCredentials(config),
      timeoutMs: INTERNAL_CALL_TIMEOUT_MS,
    }),
  );
  const commandStatus = commandStatusOver(commandStatusClient);
  const outbox = await scope.start("outbox", () =>
    startOutbox({ service: SERVICE, database, rows: ROW_PER_MESSAGE, producer, logger }),
  );
  health.readiness("outbox", () => outbox.check());
  const store = createStore(database, outbox);
  await startCreditMonths(main, createCreditMonths(database));
  const ledger: LedgerContext = { store, redis, clock, logger };
  logger.info({ entries: await publishDirectory(store, producer) }, "directory published");

  const consumer = await scope.start("command.events", () =>
    createConsumer(kafka, {
      groupId: SERVICE,
      topics: [TOPICS.commandEvents],
      // Nobody waits for a settlement, and a thousand cost little more than one.
      minIntervalMs: SETTLEMENT_INTERVAL_MS,
      onBatch: consumeCommandEvents(ledger),
      logger,
      fatal: (error) => main.fatal(error),
    }),
  );
  health.liveness("command.events", () => consumer.check());

  const eventLog = {
    begins: () => beginOffsets(kafka, TOPICS.commandEvents),
    ends: () => endOffsets(kafka, TOPICS.commandEvents),
  };
  let unreadyReason: string | null = "wallet shards have not been checked yet";
  await scope.start("shard sync", () =>
    repeat({
      name: "shard sync",
      logger,
      pauseMs: SYNC_PAUSE_MS,
      round: async () => {
        const before = await shardStates(redis, ALL_SHARDS);
        unsyncedShards.record(before.unsynced.length);
        unreachableShards.record(before.unreachable.length);
        if (before.unsynced.length > 0)
          unreadyReason = `${before.unsynced.length} of ${ALL_SHARDS.length} wallet shards are unsynced`;
        const { unsynced } = await syncShards({ ...ledger, commandStatus, eventLog }, before.unsynced);
        // An unreachable shard does not make the process unready: it serves the other shards.
        unreadyReason =
          before.unreachable.length === ALL_SHARDS.length ? "Redis does not answer for any wallet shard" : null;
        unsyncedShards.record(unsynced.length);
      },
    }),
  );
  health.readiness("wallets", () => unreadyReason ?? redis.check());
  for (let part = 0; part < USAGE_PARTS; part += 1) {
    const shards = ALL_SHARDS.filter((shard) => shard % USAGE_PARTS === part);
    await scope.start(`usage ${part}`, () =>
      repeat({
        name: "usage",
        logger,
        pauseMs: USAGE_PAUSE_MS,
        // Many small batches cost far more than a few large ones.
        round: async () => (await recordUsage(ledger, shards)).moved >= LARGE_USAGE_BATCH,
      }),
    );
  }
  await scope.start("pending wallet changes", () =>
    repeat({
      name: "pending wallet changes",
      logger,
      pauseMs: PENDING_PAUSE_MS,
      round: async () => (await applyPending(ledger)) > 0,
    }),
  );
  await scope.start("orphaned reservations", () =>
    repeat({
      name: "orphaned reservations",
      logger,
      pauseMs: ORPHANS_PAUSE_MS,
      round: async () => (await releaseOrphans(ledger, commandStatus)) > 0,
    }),
  );

  measureWaiting({ redis, database, clock });
  await scope.start("drift check", () =>
    repeat({
      name: "drift check",
      logger,
      pauseMs: DRIFT_PAUSE_MS,
      round: async () => {
        await checkDrift({ ...ledger, checks: createWalletChecks(database) });
      },
    }),
  );

  const tradingServers = {
    keys: config.TRADING_SERVER_SEALING_KEYS,
    allowInsecure: config.TRADING_SERVER_ALLOW_INSECURE === "true",
  };
  const app = createHttpServer({ logger, health, clock });
  admitCallers(app, "organization", config);
  installDirectoryRoutes(app, { ...ledger, store, publish: () => outbox.published(), tradingServers });
  installCreditRoutes(app, { ...ledger, usageLines: createUsageLines(database) });
  installAuditOutbox(app, database);
  installFormerUsers(app, createFormerUsers(database), MAX_FORMER_USERS);
  const { url } = await scope.start("http", () => listen(app, { host: config.HTTP_HOST, port: config.HTTP_PORT }));
  logger.info({ url }, "listening");
}

/**
 * Runs before anything is recorded: a shard that was idle for long must be in the current month.
 */
async function startCreditMonths(
  { config, scope, clock, logger }: MainContext<Config>,
  months: CreditMonths,
): Promise<void> {
  const keep = (): Promise<void> => keepCreditMonths({ months, clock, logger }, config.CREDIT_ENTRIES_KEPT_MONTHS);
  await keep();
  await scope.start("credit months", () =>
    repeat({
      name: "credit months",
      logger,
      pauseMs: CREDIT_MONTHS_PAUSE_MS,
      round: keep,
    }),
  );
}
