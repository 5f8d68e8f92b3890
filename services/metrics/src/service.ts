import { fileURLToPath } from "node:url";

import type { Directory } from "@kapi/admission";
import { accountKey, TOPICS } from "@kapi/contracts";
import { type FastifyInstance, type InternalClient, serviceCredentials, startInternalClient } from "@kapi/http";
import { partitionCounts, partitionOfKey, startProducer } from "@kapi/kafka";
import { assertDefined, type Clock, monotonicClock } from "@kapi/kernel";
import { type Database, startDatabaseClock } from "@kapi/postgres";
import type { MainContext, MigrationContext, ServiceProgram } from "@kapi/runtime";
import {
  type ServiceKafka,
  startServiceKafka,
  migrateSchema,
  type ServiceSchema,
  startDatabase,
  startInternalHttp,
  startRepeated,
  startServiceClient,
  startServiceDirectory,
  startTimer,
} from "@kapi/service";

import { type Config, ConfigSchema } from "./config.ts";
import type { AccountExistence, SampleProgress, SnapshotStore } from "./domain/ports.ts";
import { SampleWindows } from "./domain/sample-windows.ts";
import { type TierSettings, WindowsTier } from "./domain/windows-tier.ts";
import { registerAccountMetricsRoutes } from "./inbound/http/account-metrics.ts";
import { registerAccountRankRoutes } from "./inbound/http/account-ranks.ts";
import { registerLatestSampleRoutes, registerWindowRoutes } from "./inbound/http/latest-samples.ts";
import { registerLiveLoadRoutes } from "./inbound/http/live-load.ts";
import { startDeletionReader } from "./inbound/kafka/account-deletions.ts";
import { type SampleReader, startSampleReader } from "./inbound/kafka/samples.ts";
import { startTopicWatch } from "./inbound/kafka/watched-topics.ts";
import { type LiveLoad, measureLiveLoad } from "./inbound/ws/live-measures.ts";
import type { LiveServer } from "./inbound/ws/live-server.ts";
import { SubscriptionHub } from "./inbound/ws/subscription-hub.ts";
import { startWindowServer } from "./inbound/ws/window-server.ts";
import { AssignedPartitions, fixedPartitions } from "./operations/assigned-partitions.ts";
import { deleteTradingAccountMetrics } from "./operations/delete-trading-account-metrics.ts";
import { describeAccounts } from "./operations/describe-accounts.ts";
import { DirectSamples } from "./operations/direct-samples.ts";
import { gatherLatestSamples, type LatestSamples, readLatestSamples } from "./operations/read-latest-samples.ts";
import { SampleLog } from "./operations/sample-log.ts";
import { createSampleProgress, whereRead } from "./operations/sample-progress.ts";
import { UnreadableRecords } from "./operations/unreadable-records.ts";
import { readDescriptions } from "./outbound/http/account-descriptions.ts";
import { createAccountExistence } from "./outbound/http/account-existence.ts";
import { createAllSamples, createHeldSamples } from "./outbound/http/held-samples.ts";
import { createCheckpointSink, createDeletionSink } from "./outbound/kafka/sample-topic.ts";
import { createAccountDescriptions } from "./outbound/postgres/account-descriptions.ts";
import { createAccountRanks } from "./outbound/postgres/account-ranks.ts";
import { createEquityHistories } from "./outbound/postgres/equity-history.ts";
import { createSnapshotLists } from "./outbound/postgres/snapshot-lists.ts";
import { createTopicGenerationStore } from "./outbound/postgres/topic-generations.ts";
import { createSnapshotStore } from "./outbound/postgres/snapshot-store.ts";
import { prepareSequencer, type PreparedSequencer, startSnapshots } from "./sequencer.ts";
import { startFollowedSamples, startStream } from "./stream.ts";

const SERVICE = "metrics";
const SCHEMA: ServiceSchema = {
  service: SERVICE,
  schema: "metrics",
  directory: fileURLToPath(new URL("../migrations", import.meta.url)),
};
/** Maximum number of the samples in a window (decisions, 10.2). */
export const MAX_SAMPLES = 300;
/** Maximum age of the samples in a window (decisions, 10.2). */
export const WINDOW_MS = 5 * 60_000;
const SLAB_BYTES = 1_024 * 1_024;
const MIB = 1_024 * 1_024;
/** Interval at which the memory of samples that are too old is freed. */
const EXPIRE_INTERVAL_MS = 5_000;
/** Interval of the checks whether released partitions are to be dropped. */
const DROP_INTERVAL_MS = 5_000;
/** Interval at which accounts that were deleted long ago are forgotten. */
const FORGET_DELETED_INTERVAL_MS = 3_600_000;
/** Time limit for a call to the account service. */
const ACCOUNT_TIMEOUT_MS = 2_000;
/** Time limit for a call that reads the newest samples from another metrics process. */
const HELD_SAMPLES_TIMEOUT_MS = 1_000;
/** Pause before the next read of names and creation times that are not stored yet. */
const DESCRIBE_PAUSE_MS = 1_000;

type Context = MainContext<Config>;

/** The parts of a process with any role. */
interface Parts {
  readonly kafka: ServiceKafka;
  readonly directory: Directory;
  readonly account: InternalClient;
  readonly existence: AccountExistence;
  readonly database: Database;
  readonly store: SnapshotStore;
  readonly windows: SampleWindows;
}

/** Migrates the schema: the command "migrate", and the first step of every start. */
export function migrateDatabase(context: MigrationContext): Promise<void> {
  return migrateSchema(SCHEMA, context);
}

/** Starts the service: first the parts that every process has, then the parts of its roles. */
export async function startService(main: Context): Promise<void> {
  const { config, scope } = main;
  // After the start, the live stream and the newest samples do not need PostgreSQL.
  const database = await startDatabase(main, SCHEMA, { isReadyWithout: true });
  const store = createSnapshotStore(database);
  const clock = await scope.start("database clock", () => startDatabaseClock(database, main));
  const context = { ...main, clock };
  const kafka = await startServiceKafka(context, SERVICE);
  const directory = await startServiceDirectory(context, kafka);
  const account = await startServiceClient(context, {
    service: "account",
    baseUrl: config.ACCOUNT_URL,
    timeoutMs: ACCOUNT_TIMEOUT_MS,
  });
  const existence = createAccountExistence(account);
  const windows = new SampleWindows({
    maxSamples: MAX_SAMPLES,
    maxAgeMs: WINDOW_MS,
    budgetBytes: config.WINDOW_BUDGET_MIB * MIB,
    slabBytes: SLAB_BYTES,
  });
  const parts = { kafka, directory, account, existence, database, store, windows };
  const urls = config.WINDOWS_URLS;
  const followsOnly = urls !== undefined && !config.ROLES.includes("windows") && !config.ROLES.includes("sequencer");
  // Not the database's clock: samples carry the time of the machine that wrote them.
  if (followsOnly) await startWithoutLog(context, parts, urls, main.clock);
  else await startWithLog(context, parts, main.clock);
}

/** Starts a stream process that follows accounts at the windows processes. */
async function startWithoutLog(
  context: Context,
  parts: Parts,
  urls: readonly string[],
  samplesClock: Clock,
): Promise<void> {
  const { clock } = context;
  const source = await startFollowedSamples(
    { ...context, clock: samplesClock },
    { urls, windows: parts.windows, expireIntervalMs: EXPIRE_INTERVAL_MS },
  );
  const hub = new SubscriptionHub({ source, read: (...range) => source.frames(...range), clock });
  source.listen(hub);
  const live: { server: LiveServer | null } = { server: null };
  const app = await startRoutes(context, parts, {
    load: () => live.server?.load() ?? null,
    progress: { reached: () => Promise.resolve() },
    register: () => undefined,
  });
  live.server = await startStream(context, app.server, { ...parts, source, hub });
}

/**
 * Starts a process that reads samples. With the role `windows` it reads its fixed partitions, with
 * only the role `sequencer` the partitions that its groups have assigned to it, otherwise all.
 */
async function startWithLog(context: Context, parts: Parts, samplesClock: Clock): Promise<void> {
  const { config, scope, logger, health, clock, fatal } = context;
  const { kafka, directory, account, existence, database, store, windows } = parts;
  let sequencer: PreparedSequencer | null = null;
  const counts = await partitionCounts(kafka);
  const partitionCount = assertDefined(counts.get(kafka.topicName(TOPICS.metricsSamples)), "the topic of samples");
  const partitionOf = (key: string): number => partitionOfKey(key, partitionCount);
  const log = new SampleLog({ windows, clock: samplesClock, partitionOf });
  const unreadable = new UnreadableRecords({ clock: samplesClock, logger });
  const source = new DirectSamples({ log, existence, logger });
  log.listen({ deleted: (key) => existence.forget(key) });
  for await (const accounts of store.deleted()) {
    for (const { serverId, accountNumber, deletedAtMs } of accounts)
      log.remove(accountKey(serverId, accountNumber), deletedAtMs);
  }
  const watch = await startTopicWatch({
    kafka,
    store: createTopicGenerationStore(database),
    writeLastCheckpoints: () => sequencer?.writeLastCheckpoints() ?? Promise.resolve(),
    scope,
    logger,
    fatal,
  });
  const deletions = await scope.start("account deletions", () => startDeletionReader({ kafka, log, logger, fatal }));
  await deletions.caughtUp;
  await scope.start("window expiry", () => startTimer(EXPIRE_INTERVAL_MS, () => log.expire()));

  const tier = config.ROLES.includes("windows") ? new WindowsTier(tierSettings(config)) : null;
  // The hub listens before the first sample is read, so that it misses none.
  const hub = new SubscriptionHub({
    source,
    read: (...range) => (tier === null ? log.frames(...range) : log.records(...range)),
    clock,
  });
  log.listen(hub);
  const sequencing = config.ROLES.includes("sequencer");
  sequencer = sequencing ? await prepareSequencer(context, kafka, log, directory, existence, watch, unreadable) : null;
  const assigns = sequencing && !config.ROLES.includes("stream");
  const samples = await startSampleReader({
    kafka,
    scope,
    log,
    checkpoints: sequencer?.checkpoints ?? null,
    partitionOf,
    watch,
    unreadable,
    isAssigned: assigns,
    windowMs: WINDOW_MS,
    clock: samplesClock,
    logger,
    fatal,
  });
  health.liveness("samples", () => samples.reader.check());
  const fixed = Array.from({ length: partitionCount }, (_, partition) => partition).filter(
    (partition) => tier?.isHeld(partition) ?? true,
  );
  const assigned = assigns ? await startAssignedPartitions(context, samples) : null;
  if (assigned === null) await samples.restore(fixed);
  const partitions = assigned ?? fixedPartitions(fixed);
  const progress = createSampleProgress(samples.reader, partitions);
  // Old deletions are forgotten only after the fixed partitions were restored: until then they keep
  // stale checkpoints of deleted accounts from being restored.
  log.forgetDeleted();
  await scope.start("deleted accounts", () => startTimer(FORGET_DELETED_INTERVAL_MS, () => log.forgetDeleted()));

  const live: { server: LiveServer | null } = { server: null };
  const held: LatestSamples = (accounts) => Promise.resolve(readLatestSamples(log, accounts));
  let latest = held;
  if (tier !== null) {
    latest = gatherLatestSamples({
      log,
      instance: config.WINDOWS_INSTANCE,
      holdersOf: (key) => tier.holdersOf(partitionOf(key)),
      ask: createHeldSamples(await startWindowsClients(context)),
    });
  } else if (assigned !== null) latest = createAllSamples(await startSamplesClient(context));
  const app = await startRoutes(context, parts, {
    load: () => live.server?.load() ?? null,
    progress: whereRead(progress, partitions),
    register: (routes) => {
      registerLatestSampleRoutes(routes, latest);
      if (tier !== null) registerWindowRoutes(routes, held);
    },
  });
  if (config.ROLES.includes("stream")) {
    live.server = await startStream(context, app.server, { ...parts, source, hub });
  }
  if (tier !== null) {
    await scope.start("windows", () =>
      startWindowServer({
        server: app.server,
        secrets: config,
        source,
        hub,
        holding: tier.holding(partitionCount),
        positionOf: (key) => log.position(partitionOf(key)),
        clock,
        logger,
      }),
    );
  }
  // The sequencer starts after the live sockets, so that clients can reconnect early. It joins a
  // group, which can take a whole session timeout if a member crashed.
  if (sequencer !== null) {
    await sequencer.start(progress, partitions);
    await startSnapshots(context, {
      kafka,
      log,
      store,
      firstPosition: watch.positions.samples,
      partitions,
      unreadable,
    });
    const descriptions = createAccountDescriptions(database);
    await startRepeated(context, {
      name: "descriptions of accounts",
      pauseMs: DESCRIBE_PAUSE_MS,
      round: () => describeAccounts(descriptions, (accounts) => readDescriptions(account, accounts)),
    });
  }
}

/** Restores the partitions that the groups of a sequencer assign to it, and drops released ones. */
async function startAssignedPartitions(
  { scope, logger }: Context,
  { restore, drop }: SampleReader,
): Promise<AssignedPartitions> {
  const assigned = new AssignedPartitions({ restore, drop, clock: monotonicClock, logger });
  await scope.start("released partitions", () => startTimer(DROP_INTERVAL_MS, () => assigned.dropReleased()));
  return assigned;
}

/** Opens the HTTP port with the routes of every process, and those that `register` adds. */
async function startRoutes(
  context: Context,
  { kafka, directory, database, store }: Parts,
  options: {
    readonly load: () => LiveLoad | null;
    readonly progress: SampleProgress;
    readonly register: (routes: FastifyInstance) => void;
  },
): Promise<FastifyInstance> {
  const { scope, clock } = context;
  measureLiveLoad(options.load);
  const background = await scope.start("background producer", () => startProducer(kafka));
  const deletion = {
    store,
    deletions: createDeletionSink(background),
    checkpoints: createCheckpointSink(background),
    progress: options.progress,
  };
  const { app } = await startInternalHttp(context, SERVICE, {
    clock,
    register: (routes) => {
      options.register(routes);
      registerLiveLoadRoutes(routes, options.load);
      registerAccountRankRoutes(routes, createAccountRanks(database));
      registerAccountMetricsRoutes(routes, {
        lists: createSnapshotLists(database),
        equityHistories: createEquityHistories(database),
        organizationOf: (serverId) => directory.server(serverId)?.organizationId,
        clock,
        forget: (one) => deleteTradingAccountMetrics(deletion, one),
      });
    },
  });
  return app;
}

function tierSettings({ WINDOWS_INSTANCE, WINDOWS_COUNT, WINDOWS_REPLICA }: Config): TierSettings {
  return { instance: WINDOWS_INSTANCE, count: WINDOWS_COUNT, replica: WINDOWS_REPLICA === "on" };
}

/** Starts the client of the processes that have the samples of all accounts. */
function startSamplesClient(context: Context): Promise<InternalClient> {
  const baseUrl = assertDefined(context.config.SAMPLES_URL, "SAMPLES_URL");
  return startServiceClient(context, { service: "samples", baseUrl, timeoutMs: HELD_SAMPLES_TIMEOUT_MS });
}

/** Starts the clients of all windows processes, by instance. */
function startWindowsClients({ config, scope }: Context): Promise<InternalClient[]> {
  const urls = config.WINDOWS_URLS ?? [];
  const credentials = serviceCredentials(config);
  return Promise.all(
    urls.map((baseUrl, instance) =>
      scope.start(`client of windows process ${instance}`, () =>
        startInternalClient({ baseUrl, credentials, timeoutMs: HELD_SAMPLES_TIMEOUT_MS }),
      ),
    ),
  );
}

/** The service, as its process runs it. */
export const program: ServiceProgram<typeof ConfigSchema> = {
  service: SERVICE,
  schema: ConfigSchema,
  start: startService,
  migrate: migrateDatabase,
};
