import { fileURLToPath } from "node:url";

import { MAX_AUDIT_EVENTS, TOPICS } from "@kapi/contracts";
import {
  admitCallers,
  createHttpServer,
  createInternalClient,
  type InternalClient,
  listen,
  serviceCredentials,
} from "@kapi/http";
import { beginOffsets, createConsumer, createKafka, createProducer, endOffsets, kafkaOptions } from "@kapi/kafka";
import { repeat } from "@kapi/kernel";
import { ROW_PER_MESSAGE, startOutbox } from "@kapi/outbox";
import {
  createPool,
  isTransient,
  migrate,
  migrationOptions,
  postgresOptions,
  startDatabaseClock,
} from "@kapi/postgres";
import { ADMISSION_LIBRARY, ALL_SHARDS, shardStates } from "@kapi/admission/redis";
import { createRedis, redisOptions } from "@kapi/redis";
import { gauge, type MainContext, type MigrationContext } from "@kapi/runtime";

import { type Config, type ConsoleConfig, consoleConfig } from "./config.ts";
import type { CreditMonths, Store } from "./domain/ports.ts";
import { installConsole } from "./inbound/http/console/console.ts";
import { readAssets } from "./inbound/http/console/pages.ts";
import { installCreditUsage } from "./inbound/http/credit-usage.ts";
import { installListRoutes } from "./inbound/http/list-routes.ts";
import { installPeopleRoutes } from "./inbound/http/people-routes.ts";
import { installRoutes } from "./inbound/http/routes.ts";
import { takeCommandEvents } from "./inbound/kafka/command-events.ts";
import { measureAuditAge, measureWaiting } from "./measures.ts";
import { applyPending } from "./operations/apply-pending.ts";
import { checkDrift } from "./operations/check-drift.ts";
import type { ConsoleContext, PeopleContext } from "./operations/console-context.ts";
import { fetchAuditEvents } from "./operations/fetch-audit-events.ts";
import type { LedgerContext } from "./operations/ledger-context.ts";
import { keepCreditMonths } from "./operations/keep-credit-months.ts";
import { LiveAccounts } from "./operations/live-accounts.ts";
import { openClosedTags } from "./operations/open-tags.ts";
import { publishDirectory } from "./operations/publish-directory.ts";
import { createFailedSignIns, type FailedSignInRecorder } from "./operations/record-failed-sign-ins.ts";
import { recordUsage } from "./operations/record-usage.ts";
import { releaseOrphans } from "./operations/release-orphans.ts";
import { createPasswords } from "./outbound/passwords.ts";
import { accountsOver } from "./outbound/http/accounts.ts";
import { auditSourceOver } from "./outbound/http/audit-source.ts";
import { commandStatusOver } from "./outbound/http/command-status.ts";
import { commandsOver } from "./outbound/http/commands.ts";
import { samplesOver } from "./outbound/http/samples.ts";
import { webhooksOver } from "./outbound/http/webhooks.ts";
import { createAuditLog } from "./outbound/postgres/audit-log.ts";
import { createCreditMonths } from "./outbound/postgres/credit-months.ts";
import { createStore } from "./outbound/postgres/store.ts";
import { createUsageLines } from "./outbound/postgres/usage-lines.ts";
import { createUsers } from "./outbound/postgres/users.ts";
import { createWalletChecks } from "./outbound/postgres/wallet-checks.ts";
import { CONSOLE_LIBRARY } from "./outbound/redis/console-library.ts";
import { createConsoleSessions } from "./outbound/redis/console-sessions.ts";
import { createSignInAttempts } from "./outbound/redis/sign-in-attempts.ts";

const SERVICE = "organization";
/** Nobody but the owner of the schema could change an entry. */
const APPEND_ONLY = ["audit_log"];
const MIGRATIONS = fileURLToPath(new URL("../migrations", import.meta.url));
const INTERNAL_CALL_TIMEOUT_MS = 4_000;
/** How long usage waits in Redis for the ledger, at most, when there is little of it; settlements take it along earlier. */
const USAGE_PAUSE_MS = 1_000;
/** The tags are moved in so many parts side by side: PostgreSQL works on one batch while the next one is made ready. */
const USAGE_LANES = 2;
/** Entries; a batch of so many is followed by the next one at once. */
const LARGE_USAGE_BATCH = 1_000;
/** Least time from one batch of settlements to the next. */
const SETTLEMENT_INTERVAL_MS = 500;
/** How soon a closed tag is noticed. */
const OPENING_PAUSE_MS = 250;
const PENDING_PAUSE_MS = 500;
const ORPHANS_PAUSE_MS = 60_000;
const DRIFT_PAUSE_MS = 60_000;
/** How long an entry of the audit log waits in another service, at most, while all is well. */
const AUDIT_PAUSE_MS = 1_000;
const FAILED_SIGN_INS_PAUSE_MS = 10_000;
const CREDIT_MONTHS_PAUSE_MS = 10 * 60_000;
/** How often live pictures are fed, and how soon those of a closed session end. */
const LIVE_PAUSE_MS = 1_000;

const tagsClosed = gauge(
  "organization.tags.closed",
  "Hash tags of Redis that are closed, of 64: their organizations are answered 500",
  "{tag}",
);
const tagsUnreachable = gauge(
  "organization.tags.unreachable",
  "Hash tags of Redis, of 64, whose node does not answer: their organizations are answered 500",
  "{tag}",
);

/** Brings the service's schema up to date: the program's command "migrate", and the first step of every start. */
export function migrateDatabase({ config, logger }: MigrationContext): Promise<void> {
  const tables = { schema: SERVICE, directory: MIGRATIONS, appendOnly: APPEND_ONLY };
  return migrate({ ...migrationOptions(config), ...tables, logger });
}

/** The organization service: directory, keys, wallets and the credit ledger. */
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
      functionLibraries: [ADMISSION_LIBRARY, CONSOLE_LIBRARY],
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
    repeat({
      name: "opening of tags",
      logger,
      pauseMs: OPENING_PAUSE_MS,
      round: async () => {
        const before = await shardStates(redis, ALL_SHARDS);
        tagsClosed.record(before.unsynced.length);
        tagsUnreachable.record(before.unreachable.length);
        if (before.unsynced.length > 0) openings = `${before.unsynced.length} of ${ALL_SHARDS.length} tags are closed`;
        const { closed } = await openClosedTags({ ...ledger, commandStatus, eventLog }, before.unsynced);
        // A tag that nobody answers for is no reason to take this process out: it works for all others.
        openings = before.unreachable.length === ALL_SHARDS.length ? "Redis does not answer for any tag" : null;
        tagsClosed.record(closed.length);
      },
    }),
  );
  health.readiness("wallets", () => openings ?? redis.check());
  for (let lane = 0; lane < USAGE_LANES; lane += 1) {
    const tags = ALL_SHARDS.filter((tag) => tag % USAGE_LANES === lane);
    await scope.start(`usage ${lane}`, () =>
      repeat({
        name: "usage",
        logger,
        pauseMs: USAGE_PAUSE_MS,
        // Only a large batch is followed by the next at once: many small ones would cost far more than a few large ones.
        round: async () => (await recordUsage(ledger, tags)).moved >= LARGE_USAGE_BATCH,
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

  const passwords = await createPasswords();
  const tradingServers = {
    keys: config.TRADING_SERVER_SEALING_KEYS,
    allowInsecure: config.TRADING_SERVER_ALLOW_INSECURE === "true",
  };
  const people: PeopleContext = {
    ...ledger,
    publish: () => outbox.published(),
    users: createUsers(database),
    passwords,
    sessions: createConsoleSessions(redis),
    signInAttempts: createSignInAttempts(redis),
    auditLog: createAuditLog(database),
    failedSignIns: await startFailedSignIns(main, store),
  };
  const usageLines = createUsageLines(database);
  const app = createHttpServer({ logger, health, clock });
  admitCallers(app, "organization", config);
  installRoutes(app, { ...people, tradingServers });
  installPeopleRoutes(app, people);
  installListRoutes(app, people);
  installCreditUsage(app, usageLines);
  const { url } = await scope.start("http", () => listen(app, { host: config.HTTP_HOST, port: config.HTTP_PORT }));
  logger.info({ url }, "listening");

  await startFetchingAudit(main, store);

  const consoleSettings = consoleConfig(config);
  if (consoleSettings === null) return;
  await startConsole(main, consoleSettings, { ...people, usageLines, commands: commandsOver(commandStatusClient) });
}

/**
 * Before anything is recorded: a shard that was left alone for long must be in the month of now.
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

/** Other services keep entries of the audit log until they are in it. */
async function startFetchingAudit(main: MainContext<Config>, store: Store): Promise<void> {
  const { config, scope, logger, clock } = main;
  const fetchedAtMs = new Map<string, number>();
  measureAuditAge(fetchedAtMs, clock);
  const sources = { account: config.ACCOUNT_URL, webhooks: config.WEBHOOKS_URL };
  const credentials = serviceCredentials(config);
  for (const [name, baseUrl] of Object.entries(sources)) {
    if (baseUrl === undefined) {
      logger.warn({ service: name }, "its changes are not in the audit log: its address is not set");
      continue;
    }
    const client = await scope.start(`audit client of ${name}`, () =>
      createInternalClient({ baseUrl, credentials, timeoutMs: INTERNAL_CALL_TIMEOUT_MS }),
    );
    const source = auditSourceOver(client);
    fetchedAtMs.set(name, clock.nowMs());
    const round = async (): Promise<boolean> => {
      const recorded = await fetchAuditEvents({ store, clock, logger }, source);
      fetchedAtMs.set(name, clock.nowMs());
      return recorded === MAX_AUDIT_EVENTS;
    };
    await scope.start(`audit entries of ${name}`, () =>
      repeat({ name: `audit entries of ${name}`, logger, pauseMs: AUDIT_PAUSE_MS, round }),
    );
  }
}

/** What was counted is written once more at the end, before the database is closed. */
async function startFailedSignIns(
  { scope, clock, logger }: MainContext<Config>,
  store: Store,
): Promise<FailedSignInRecorder> {
  const failed = createFailedSignIns({ store, clock, logger });
  const recorder = await scope.start("failed sign-ins", () => ({ value: failed, stop: () => failed.flush("all") }));
  await scope.start("failed sign-ins, counted", () =>
    repeat({
      name: "failed sign-ins",
      logger,
      pauseMs: FAILED_SIGN_INS_PAUSE_MS,
      round: () => failed.flush(),
    }),
  );
  return recorder;
}

/** The console: its listener, which nothing internal is on, and what its live pictures are fed by. */
async function startConsole(
  { config, scope, logger, health, clock }: MainContext<Config>,
  settings: ConsoleConfig,
  people: Omit<ConsoleContext, "accounts" | "samples" | "webhooks">,
): Promise<void> {
  const clientOf = (name: string, baseUrl: string): Promise<InternalClient> =>
    scope.start(`${name} client`, () =>
      createInternalClient({ baseUrl, credentials: serviceCredentials(config), timeoutMs: INTERNAL_CALL_TIMEOUT_MS }),
    );
  const accounts = accountsOver(await clientOf("account", settings.accountUrl));
  const samples = samplesOver(await clientOf("metrics", settings.metricsUrl));
  const webhooks = webhooksOver(await clientOf("webhooks", settings.webhooksUrl));
  const context: ConsoleContext = { ...people, accounts, samples, webhooks };
  const live = new LiveAccounts(context);
  const keepLive = (name: string, round: () => Promise<void>): Promise<unknown> =>
    scope.start(name, () => repeat({ name, logger, pauseMs: LIVE_PAUSE_MS, round }));
  await keepLive("live samples", () => live.takeSamples());
  await keepLive("ends of live streams", () => live.endClosedSessions());
  const assets = readAssets(settings.assets);
  if (assets.size === 0) logger.warn({ folder: settings.assets }, "the console's page is not built");
  const app = createHttpServer({
    logger,
    health,
    clock,
    // Nobody is told what is wrong with a body before it is known that they may send one.
    bodyErrors: "when-parsed",
    probes: "liveness",
    callers: "world",
    trustedProxies: settings.trustedProxies,
    isDependencyFailure: (error) => isTransient(error) || people.redis.check() !== null,
  });
  const { secureCookies, apiUrl } = settings;
  installConsole(app, { context, live, assets, secureCookies, apiUrl });
  const { url } = await scope.start("console", () => listen(app, settings));
  logger.info({ url }, "the console is listening");
}
