import { fileURLToPath } from "node:url";

import { MAX_FORMER_USERS, TOPICS } from "@kapi/contracts";
import { beginOffsets, startConsumer, startProducer, endOffsets } from "@kapi/kafka";
import { registerAuditOutboxRoutes, ROW_PER_MESSAGE, startOutbox } from "@kapi/outbox";
import { startDatabaseClock } from "@kapi/postgres";
import { ADMISSION_LIBRARY, ALL_SHARDS, shardStates } from "@kapi/admission/redis";
import { gauge, type MainContext, type MigrationContext, type ServiceProgram } from "@kapi/runtime";
import {
  startServiceKafka,
  migrateSchema,
  type ServiceSchema,
  startDatabase,
  startInternalHttp,
  startReader,
  startRepeated,
  startServiceClient,
  startServiceRedis,
} from "@kapi/service";

import { type Config, ConfigSchema } from "./config.ts";
import type { CreditMonths } from "./domain/credits/ports.ts";
import { registerCreditRoutes } from "./inbound/http/credit-routes.ts";
import { registerDirectoryRoutes, registerFormerUserRoutes } from "./inbound/http/directory-routes.ts";
import { consumeCommandEvents } from "./inbound/kafka/command-events.ts";
import { measureWaiting } from "./measures.ts";
import { applyPending } from "./operations/credits/apply-pending.ts";
import { checkDrift } from "./operations/credits/check-drift.ts";
import type { LedgerContext } from "./operations/credits/ledger-context.ts";
import { keepCreditMonths } from "./operations/credits/keep-credit-months.ts";
import { syncShards, unreadyReasonOf } from "./operations/credits/sync-shards.ts";
import { publishDirectory } from "./operations/directory/publish-directory.ts";
import { recordUsage } from "./operations/credits/record-usage.ts";
import { releaseOrphans } from "./operations/credits/release-orphans.ts";
import { createCommandStatus } from "./outbound/http/command-status.ts";
import { createCreditMonths } from "./outbound/postgres/credits/credit-months.ts";
import { createFormerUsers } from "./outbound/postgres/former-users.ts";
import { createStore } from "./outbound/postgres/store.ts";
import { createUsageLines } from "./outbound/postgres/credits/usage-lines.ts";
import { createWalletChecks } from "./outbound/postgres/credits/wallet-checks.ts";

const SERVICE = "organization";
const SCHEMA: ServiceSchema = {
  service: SERVICE,
  schema: "organization",
  directory: fileURLToPath(new URL("../migrations", import.meta.url)),
  // Only builds between 0.1.0 and this release write this table.
  appendOnly: ["audit_log"],
};
const INTERNAL_CALL_TIMEOUT_MS = 4_000;
/**
 * Pause between batches while little usage waits. Settlements record the usage of their shards
 * sooner.
 */
const USAGE_PAUSE_MS = 1_000;
/**
 * Number of concurrent loops that record usage, each for its own part of the shards: one loop
 * prepares a batch while PostgreSQL writes the batch of another loop.
 */
const USAGE_PARTS = 2;
/** Number of entries. After a batch of at least this size, the next batch begins at once. */
const LARGE_USAGE_BATCH = 1_000;
/** Minimum time between batches of settlements. */
const SETTLEMENT_INTERVAL_MS = 500;
/** Pause between two checks for unsynced shards. */
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

/** Migrates the schema: the command "migrate", and the first step of every start. */
export function migrateDatabase(context: MigrationContext): Promise<void> {
  return migrateSchema(SCHEMA, context);
}

/**
 * Starts the service: the schema, the months of the ledger, the directory, settlements, repeated
 * work, and last the routes.
 */
export async function startService(context: MainContext<Config>): Promise<void> {
  const { config, scope, logger, health } = context;
  const database = await startDatabase(context, SCHEMA);
  const clock = await scope.start("database clock", () => startDatabaseClock(database, context));
  const main = { ...context, clock };
  // The readiness check "wallets" below includes Redis.
  const redis = await startServiceRedis(context, {
    service: SERVICE,
    library: ADMISSION_LIBRARY,
    isReadyWithout: true,
  });
  const kafka = await startServiceKafka(context, SERVICE);
  const producer = await scope.start("producer", () => startProducer(kafka));
  const commandStatus = createCommandStatus(
    await startServiceClient(context, {
      service: "command-status",
      baseUrl: config.COMMAND_STATUS_URL,
      timeoutMs: INTERNAL_CALL_TIMEOUT_MS,
    }),
  );
  const outbox = await scope.start("outbox", () =>
    startOutbox({ service: SERVICE, database, rows: ROW_PER_MESSAGE, producer, logger }),
  );
  health.readiness("outbox", () => outbox.check());
  const store = createStore(database, outbox);
  await startCreditMonths(main, createCreditMonths(database));
  const ledger: LedgerContext = { store, redis, clock, logger };
  logger.info({ entries: await publishDirectory(store, producer) }, "directory published");

  await startReader(context, "command.events", () =>
    startConsumer(kafka, {
      groupId: SERVICE,
      topics: [TOPICS.commandEvents],
      // Nobody waits for a settlement, and a thousand cost little more than one.
      minIntervalMs: SETTLEMENT_INTERVAL_MS,
      onBatch: consumeCommandEvents(ledger),
      logger,
      fatal: (error) => main.fatal(error),
    }),
  );

  const eventLog = {
    begins: () => beginOffsets(kafka, TOPICS.commandEvents),
    ends: () => endOffsets(kafka, TOPICS.commandEvents),
  };
  let unreadyReason: string | null = "wallet shards have not been checked yet";
  await startRepeated(context, {
    name: "shard sync",
    pauseMs: SYNC_PAUSE_MS,
    round: async () => {
      const before = await shardStates(redis, ALL_SHARDS);
      unsyncedShards.record(before.unsynced.length);
      unreachableShards.record(before.unreachable.length);
      if (before.unsynced.length > 0) unreadyReason = unreadyReasonOf(before);
      const { unsynced } = await syncShards({ ...ledger, commandStatus, eventLog }, before.unsynced);
      unreadyReason = unreadyReasonOf({ unsynced, unreachable: before.unreachable });
      unsyncedShards.record(unsynced.length);
    },
  });
  health.readiness("wallets", () => unreadyReason ?? redis.check());
  for (let part = 0; part < USAGE_PARTS; part += 1) {
    const shards = ALL_SHARDS.filter((shard) => shard % USAGE_PARTS === part);
    await startRepeated(context, {
      name: `usage ${part}`,
      pauseMs: USAGE_PAUSE_MS,
      // Many small batches cost far more than a few large ones.
      round: async () => (await recordUsage(ledger, shards)).moved >= LARGE_USAGE_BATCH,
    });
  }
  await startRepeated(context, {
    name: "pending wallet changes",
    pauseMs: PENDING_PAUSE_MS,
    round: async () => (await applyPending(ledger)) > 0,
  });
  await startRepeated(context, {
    name: "orphaned reservations",
    pauseMs: ORPHANS_PAUSE_MS,
    round: async () => (await releaseOrphans(ledger, commandStatus)) > 0,
  });

  measureWaiting({ redis, database, clock });
  await startRepeated(context, {
    name: "drift check",
    pauseMs: DRIFT_PAUSE_MS,
    round: async () => {
      await checkDrift({ ...ledger, checks: createWalletChecks(database) });
    },
  });

  const tradingServers = {
    keys: config.TRADING_SERVER_SEALING_KEYS,
    allowInsecure: config.TRADING_SERVER_ALLOW_INSECURE === "true",
  };
  await startInternalHttp(context, SERVICE, {
    clock,
    register: (app) => {
      registerDirectoryRoutes(app, { ...ledger, store, publish: () => outbox.published(), tradingServers });
      registerCreditRoutes(app, { ...ledger, usageLines: createUsageLines(database) });
      registerAuditOutboxRoutes(app, database);
      registerFormerUserRoutes(app, createFormerUsers(database), MAX_FORMER_USERS);
    },
  });
}

/**
 * Runs before anything is recorded. An entry is recorded in the month of its shard's epoch. After a
 * long stop of the service, this epoch can be in a past month, until {@link keepCreditMonths} has
 * moved the shard into the current month.
 */
async function startCreditMonths(context: MainContext<Config>, months: CreditMonths): Promise<void> {
  const { config, clock, logger } = context;
  const keep = (): Promise<void> => keepCreditMonths({ months, clock, logger }, config.CREDIT_ENTRIES_KEPT_MONTHS);
  await keep();
  await startRepeated(context, { name: "credit months", pauseMs: CREDIT_MONTHS_PAUSE_MS, round: keep });
}

/** The service, as its process runs it. */
export const program: ServiceProgram<typeof ConfigSchema> = {
  service: SERVICE,
  schema: ConfigSchema,
  start: startService,
  migrate: migrateDatabase,
};
