import type { Server } from "node:http";
import { fileURLToPath } from "node:url";

import { createAdmission, createAvailableCredits, type Directory, startRepeatedRefunds } from "@kapi/admission";
import { ADMISSION_LIBRARY, ADMISSION_SETTINGS } from "@kapi/admission/redis";
import { accountKey, TOPICS } from "@kapi/contracts";
import { createClientAddress } from "@kapi/http";
import { startProducer, endOffsets, type KafkaConnection, LIVE_INTERVAL_MS } from "@kapi/kafka";
import { latestOf, systemClock } from "@kapi/kernel";
import { startDatabaseClock } from "@kapi/postgres";
import { type MainContext, type MigrationContext, observed, type ServiceProgram, type Started } from "@kapi/runtime";
import {
  createServiceKafka,
  migrateSchema,
  type ServiceSchema,
  startDatabase,
  startInternalHttp,
  startReader,
  startRepeated,
  startServiceClient,
  startServiceDirectory,
  startServiceRedis,
  startServiceRequestLog,
} from "@kapi/service";

import { type Config, ConfigSchema } from "./config.ts";
import type { AccountExistence, SampleProgress, SnapshotStore } from "./domain/ports.ts";
import { positionsOf } from "./domain/topic-position.ts";
import type { SampleSource } from "./domain/sample-source.ts";
import { SampleWindows } from "./domain/sample-windows.ts";
import { registerAccountMetricsRoutes } from "./inbound/http/account-metrics.ts";
import { registerAccountRankRoutes } from "./inbound/http/account-ranks.ts";
import { registerLatestSampleRoutes } from "./inbound/http/latest-samples.ts";
import { registerLiveLoadRoutes } from "./inbound/http/live-load.ts";
import { startDeletionReader } from "./inbound/kafka/account-deletions.ts";
import { startAccountStatusConsumer } from "./inbound/kafka/account-statuses.ts";
import { startSampleReader } from "./inbound/kafka/samples.ts";
import { startTopicWatch } from "./inbound/kafka/watched-topics.ts";
import { startSampleConsumer } from "./inbound/kafka/snapshot-samples.ts";
import { startValuationConsumer, SEQUENCER_GROUP } from "./inbound/kafka/valuations.ts";
import { SubscriptionHub } from "./inbound/ws/subscription-hub.ts";
import { type LiveLoad, measureLiveLoad } from "./inbound/ws/live-measures.ts";
import { startUpgradeListener } from "./inbound/ws/live-port.ts";
import { type LiveServer, startLiveServer } from "./inbound/ws/live-server.ts";
import { DirectSamples } from "./operations/direct-samples.ts";
import { describeAccounts } from "./operations/describe-accounts.ts";
import { deleteTradingAccountMetrics } from "./operations/delete-trading-account-metrics.ts";
import { Rejections } from "./operations/rejections.ts";
import { SampleLog } from "./operations/sample-log.ts";
import { Sequencer } from "./operations/sequence-valuations.ts";
import { Snapshots } from "./operations/store-snapshots.ts";
import { UnreadableRecords } from "./operations/unreadable-records.ts";
import type { TopicWatch } from "./operations/topic-watch.ts";
import { Checkpoints } from "./operations/write-checkpoints.ts";
import { readDescriptions } from "./outbound/http/account-descriptions.ts";
import { createAccountExistence } from "./outbound/http/account-existence.ts";
import { createRejectedValuationSink } from "./outbound/kafka/rejected-valuations.ts";
import { createCheckpointSink, createDeletionSink, createSampleSink } from "./outbound/kafka/sample-topic.ts";
import { createAccountDescriptions } from "./outbound/postgres/account-descriptions.ts";
import { createAccountRanks } from "./outbound/postgres/account-ranks.ts";
import { createSnapshotLists } from "./outbound/postgres/snapshot-lists.ts";
import { createTopicGenerationStore } from "./outbound/postgres/topic-generations.ts";
import { createSnapshotStore } from "./outbound/postgres/snapshot-store.ts";

const SERVICE = "metrics";
const SCHEMA: ServiceSchema = {
  service: SERVICE,
  schema: "metrics",
  directory: fileURLToPath(new URL("../migrations", import.meta.url)),
};
const WRITE_INTERVAL_MS = 2_000;
const KEEP_DAYS_INTERVAL_MS = 3_600_000;
const MAX_SAMPLES = 300;
const WINDOW_MS = 5 * 60_000;
const SLAB_BYTES = 1_024 * 1_024;
const MIB = 1_024 * 1_024;
const EXPIRE_INTERVAL_MS = 5_000;
const FORGET_DELETED_INTERVAL_MS = 3_600_000;
const ACCOUNT_TIMEOUT_MS = 2_000;
/** Interval at which names and creation times of new accounts are read. */
const DESCRIBE_PAUSE_MS = 1_000;
/** Time limit for a stopping process that waits for the recreation of a deleted topic. */
const RECREATED_TIMEOUT_MS = 3_000;
/** Interval of the sweeps: a twentieth of the coalescing interval, within these bounds. */
const SWEEPS_PER_INTERVAL = 20;
const MIN_SWEEP_MS = 5;
const MAX_SWEEP_MS = 50;

type Context = MainContext<Config>;

/** Migrates the schema: the command "migrate", and the first step of every start. */
export function migrateDatabase(context: MigrationContext): Promise<void> {
  return migrateSchema(SCHEMA, context);
}

/** Starts the service: first the readers of its data, then its roles. */
export async function startService(main: Context): Promise<void> {
  const { config, scope, logger, fatal } = main;
  // The live stream and the latest samples do not need PostgreSQL.
  const database = await startDatabase(main, SCHEMA, { isReadyWithout: true });
  const store = createSnapshotStore(database);
  const clock = await scope.start("database clock", () => startDatabaseClock(database, main));
  const context = { ...main, clock };
  const kafka = createServiceKafka(context, SERVICE);
  const directory = await startServiceDirectory(context, kafka);
  const account = await startServiceClient(context, {
    service: "account",
    baseUrl: config.ACCOUNT_URL,
    timeoutMs: ACCOUNT_TIMEOUT_MS,
  });
  const existence = createAccountExistence(account);

  let sequencer: PreparedSequencer | null = null;
  const windows = new SampleWindows({
    maxSamples: MAX_SAMPLES,
    maxAgeMs: WINDOW_MS,
    budgetBytes: config.WINDOW_BUDGET_MIB * MIB,
    slabBytes: SLAB_BYTES,
  });
  // Samples carry the time of the machine that wrote them.
  const log = new SampleLog({ windows, clock: main.clock });
  const unreadable = new UnreadableRecords({ clock: main.clock, logger });
  const source = new DirectSamples({ log, existence, logger });
  const hub = new SubscriptionHub({ source, read: (...range) => source.frames(...range), clock });
  log.listen(hub);
  log.listen({ deleted: (key) => existence.forget(key) });
  for await (const accounts of store.deleted()) {
    for (const { serverId, accountNumber, deletedAtMs } of accounts)
      log.remove(accountKey(serverId, accountNumber), deletedAtMs);
  }
  const watch = await startTopicWatch({
    kafka,
    store: createTopicGenerationStore(database),
    leave: () => sequencer?.leave() ?? Promise.resolve(),
    scope,
    logger,
    fatal,
  });
  const deletions = await scope.start("account deletions", () => startDeletionReader({ kafka, log, logger, fatal }));
  await deletions.caughtUp;
  await scope.start("window expiry", () => startTimer(EXPIRE_INTERVAL_MS, () => log.expire()));

  const sequencing = config.ROLES.includes("sequencer");
  sequencer = sequencing ? await prepareSequencer(context, kafka, log, directory, existence, watch, unreadable) : null;
  const checkpoints = sequencer?.checkpoints ?? null;
  const samples = await startSampleReader({
    kafka,
    scope,
    log,
    checkpoints,
    watch,
    unreadable,
    windowMs: WINDOW_MS,
    clock: main.clock,
    logger,
    fatal,
  });
  main.health.liveness("samples", () => samples.reader.check());
  // Called only now: while the checkpoints were read, the known deletions excluded stale
  // checkpoints of accounts that were deleted long ago.
  log.forgetDeleted();
  await scope.start("deleted accounts", () => startTimer(FORGET_DELETED_INTERVAL_MS, () => log.forgetDeleted()));

  let live: LiveServer | null = null;
  const liveLoad = (): LiveLoad | null => live?.load() ?? null;
  measureLiveLoad(liveLoad);
  const background = await scope.start("background producer", () => startProducer(kafka));
  const deletion = {
    store,
    deletions: createDeletionSink(background),
    checkpoints: createCheckpointSink(background),
    progress: samples.progress,
  };
  const { app } = await startInternalHttp(context, SERVICE, {
    clock,
    register: (routes) => {
      registerLatestSampleRoutes(routes, log);
      registerLiveLoadRoutes(routes, liveLoad);
      registerAccountRankRoutes(routes, createAccountRanks(database));
      registerAccountMetricsRoutes(routes, {
        lists: createSnapshotLists(database),
        organizationOf: (serverId) => directory.server(serverId)?.organizationId,
        clock,
        forget: (one) => deleteTradingAccountMetrics(deletion, one),
      });
    },
  });
  if (config.ROLES.includes("stream")) live = await startStream(context, app.server, { kafka, source, hub, directory });
  // Joining a group can take a whole session timeout if a member crashed. Returning clients do not
  // wait for that.
  if (sequencer !== null) await sequencer.start(samples.progress);
  if (sequencing) {
    await startSnapshots(context, kafka, log, store, watch.positions.samples, unreadable);
    const descriptions = createAccountDescriptions(database);
    await startRepeated(context, {
      name: "descriptions of accounts",
      pauseMs: DESCRIBE_PAUSE_MS,
      round: () => describeAccounts(descriptions, (accounts) => readDescriptions(account, accounts)),
    });
  }
}

interface PreparedSequencer {
  readonly checkpoints: Checkpoints;
  start(progress: SampleProgress): Promise<void>;
  /** Writes the last checkpoints, before the process ends. */
  leave(): Promise<void>;
}

/**
 * The sequencer listens to all samples from the first one on. It reads valuations only after the
 * acceptance rule was applied to every sample that was in the log at the start.
 */
async function prepareSequencer(
  context: Context,
  kafka: KafkaConnection,
  log: SampleLog,
  directory: Directory,
  existence: AccountExistence,
  watch: TopicWatch,
  unreadable: UnreadableRecords,
): Promise<PreparedSequencer> {
  const { config, scope, logger, fatal } = context;
  // The database's clock alone would reject every valuation if it were minutes behind.
  const clock = latestOf(context.clock, systemClock);
  const producer = await scope.start("producer", () => startProducer(kafka, { minIntervalMs: LIVE_INTERVAL_MS }));
  // A separate producer, so that no sample waits behind thousands of checkpoints.
  const background = await scope.start("checkpoint producer", () => startProducer(kafka));
  const coalesceMs = config.COALESCE_MS;
  let samples: SampleProgress | null = null;
  const sequencer = new Sequencer({
    log,
    sink: createSampleSink(kafka, producer),
    progress: {
      reached: (partition, end, timeoutMs) =>
        samples?.reached(partition, end, timeoutMs) ?? Promise.reject(new Error("the samples are not read yet")),
    },
    existence,
    rejections: new Rejections({
      sink: createRejectedValuationSink(background, SEQUENCER_GROUP),
      samplesPerMinute: config.REJECTED_SAMPLES_PER_MINUTE,
      clock,
      logger,
    }),
    unreadable,
    isServer: (serverId) => {
      const server = directory.server(serverId);
      return server !== undefined && server.status !== "removed";
    },
    partitionOf: (key) => producer.partitionOf(TOPICS.tradingValuations, key),
    coalesceMs,
    clock,
    logger,
  });
  log.listen(sequencer);
  const partitions = (): number[] => sequencer.readyPartitions;
  observed("metrics.partitions.written", "Partitions whose samples this process may write now", "{partition}", () => [
    { value: partitions().length },
  ]);
  const checkpoints = new Checkpoints({
    log,
    sink: createCheckpointSink(background),
    partitions,
    logger,
  });
  log.listen(checkpoints);
  // A topic may have been recreated just before the process ends, whatever the reason of the end.
  const leave = async (): Promise<void> => {
    const recreated = await watch.recreated(RECREATED_TIMEOUT_MS);
    if (recreated.includes("latest")) checkpoints.changeAll();
    await checkpoints.leave(recreated.length > 0 ? "all" : partitions());
  };
  const start = async (progress: SampleProgress): Promise<void> => {
    samples = progress;
    await scope.start("checkpoint timer", () => {
      const timer = startTimer(config.CHECKPOINT_INTERVAL_MS, () => void checkpoints.write());
      return {
        value: null,
        stop: async () => {
          await timer.stop();
          await leave();
          sequencer.stop();
        },
      };
    });
    const sweepMs = Math.min(MAX_SWEEP_MS, Math.max(MIN_SWEEP_MS, coalesceMs / SWEEPS_PER_INTERVAL));
    if (coalesceMs > 0) await scope.start("coalescing", () => startTimer(sweepMs, () => sequencer.sweep(sweepMs)));
    await startReader(context, "valuations", () => startValuationConsumer({ kafka, sequencer, watch, logger, fatal }));
  };
  return { checkpoints, start, leave };
}

/** Starts the readers and timers that store snapshots, behind the live stream. */
async function startSnapshots(
  context: Context,
  kafka: KafkaConnection,
  log: SampleLog,
  store: SnapshotStore,
  firstPosition: number,
  unreadable: UnreadableRecords,
): Promise<void> {
  const { scope, logger, clock, fatal } = context;
  const ends = async () => positionsOf(await endOffsets(kafka, TOPICS.metricsSamples), firstPosition);
  const snapshots = new Snapshots({ store, log, ends, unreadable, clock, logger });
  log.listen(snapshots);
  await snapshots.keepDays();
  // Liveness checks neither consumer: the live stream must survive an outage of the database.
  await scope.start("account statuses", () => startAccountStatusConsumer({ kafka, store, logger, fatal }));
  await scope.start("snapshots", () => startSampleConsumer({ kafka, snapshots, firstPosition, logger, fatal }));
  const trying = (what: string, work: () => Promise<void>) => () =>
    void work().catch((error: unknown) => logger.warn({ err: error }, `${what}; the next turn does it`));
  await scope.start("snapshot timer", () =>
    startTimer(
      WRITE_INTERVAL_MS,
      trying("snapshots were not written", () => snapshots.write()),
    ),
  );
  await scope.start("days of snapshots", () =>
    startTimer(
      KEEP_DAYS_INTERVAL_MS,
      trying("days of snapshots were not created or dropped", () => snapshots.keepDays()),
    ),
  );
}

async function startStream(
  context: Context,
  server: Server,
  dependencies: {
    readonly kafka: KafkaConnection;
    readonly source: SampleSource;
    readonly hub: SubscriptionHub;
    readonly directory: Directory;
  },
): Promise<LiveServer> {
  const { kafka, source, hub, directory } = dependencies;
  const { config, scope, logger, clock } = context;
  const redis = await startServiceRedis(context, { service: SERVICE, library: ADMISSION_LIBRARY });
  const admission = createAdmission({
    redis,
    directory,
    settings: { ...ADMISSION_SETTINGS, usageStreamLimit: config.USAGE_STREAM_LIMIT },
  });
  const refunds = await scope.start("refunds", () => startRepeatedRefunds({ admission, clock, logger }));
  const requestLog = await startServiceRequestLog(context, kafka);
  const livePort = config.LIVE_PORT;
  const host = config.LIVE_HOST ?? config.HTTP_HOST;
  const upgrades =
    livePort === undefined ? server : await scope.start("live port", () => startUpgradeListener(host, livePort));
  return scope.start("live", () =>
    startLiveServer({
      server: upgrades,
      source,
      hub,
      directory,
      admission,
      refunds,
      requestLog,
      clientAddress: createClientAddress(config.TRUSTED_PROXIES ?? []),
      availableCredits: createAvailableCredits(redis, logger),
      clock,
      logger,
      limits: {
        maxSubscriptions: config.MAX_SUBSCRIPTIONS_PER_SOCKET,
        maxMessagesPerSecond: config.MAX_MESSAGES_PER_SECOND,
        stuckTimeoutMs: config.STUCK_TIMEOUT_MS,
        maxSocketsPerOrganization: config.MAX_SOCKETS_PER_ORGANIZATION,
        maxBufferedBytes: config.MAX_BUFFERED_BYTES,
      },
    }),
  );
}

function startTimer(intervalMs: number, work: () => void): Started<null> {
  const timer = setInterval(work, intervalMs);
  return {
    value: null,
    stop: () => {
      clearInterval(timer);
      return Promise.resolve();
    },
  };
}

/** The service, as its process runs it. */
export const program: ServiceProgram<typeof ConfigSchema> = {
  service: SERVICE,
  schema: ConfigSchema,
  start: startService,
  migrate: migrateDatabase,
};
