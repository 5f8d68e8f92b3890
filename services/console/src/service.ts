import { fileURLToPath } from "node:url";

import { MAX_AUDIT_EVENTS, MAX_FORMER_USERS } from "@kapi/contracts";
import { createHttpServer, type InternalClient, startListening } from "@kapi/http";
import { type Database, isTransient, startDatabaseClock } from "@kapi/postgres";
import type { RedisConnection } from "@kapi/redis";
import type { MainContext, MigrationContext, ServiceProgram } from "@kapi/runtime";
import {
  startServiceKafka,
  migrateSchema,
  type ServiceSchema,
  startDatabase,
  startInternalHttp,
  startRepeated,
  startRestartedReader,
  startServiceClient,
  startServiceRedis,
} from "@kapi/service";

import { type Config, ConfigSchema, type ConsoleConfig, consoleConfig, type ProviderConfig } from "./config.ts";
import type { AuditLog } from "./domain/audit.ts";
import type { Invitations, OrganizationSettings, PasswordRecoveries } from "./domain/people-ports.ts";
import type { Directory, PeopleStore, Users } from "./domain/ports.ts";
import type { RequestLogStore } from "./domain/request-log.ts";
import { registerConsoleRoutes } from "./inbound/http/console.ts";
import { registerOperatorRoutes } from "./inbound/http/operator-routes.ts";
import { readAssets } from "./inbound/http/pages.ts";
import { startRequestConsumer } from "./inbound/kafka/request-log.ts";
import { PROVIDER_CALLBACK } from "./inbound/http/provider-routes.ts";
import { measureAuditAge } from "./measures.ts";
import { fetchAuditEvents } from "./operations/fetch-audit-events.ts";
import { LiveAccounts } from "./operations/live-accounts.ts";
import { createFailedSignIns, type FailedSignInRecorder } from "./operations/record-failed-sign-ins.ts";
import { PasswordRecovery } from "./operations/recover-password.ts";
import { Overviews } from "./operations/read-overview.ts";
import type { SignInDependencies } from "./operations/sign-in.ts";
import { keepRequestDays, storeRequests } from "./operations/store-requests.ts";
import type { ProviderSignIn } from "./operations/sign-in-with-provider.ts";
import { takeOverUsers } from "./operations/take-over-users.ts";
import { createAccountRanks } from "./outbound/http/account-ranks.ts";
import { createAccountRecords } from "./outbound/http/account-records.ts";
import { createAccounts } from "./outbound/http/accounts.ts";
import { createAuditSource } from "./outbound/http/audit-source.ts";
import { createCommands } from "./outbound/http/commands.ts";
import { createEquityHistories } from "./outbound/http/equity-history.ts";
import { createIdentityProvider } from "./outbound/http/identity-provider.ts";
import { createCredits, createDirectory, createFormerUserSource } from "./outbound/http/organization.ts";
import { createOverviewSources } from "./outbound/http/overview-sources.ts";
import { createPersonOperations } from "./outbound/http/person-operations.ts";
import { createRisk } from "./outbound/http/risk.ts";
import { createSamples } from "./outbound/http/samples.ts";
import { createTransactionFinder } from "./outbound/http/transactions.ts";
import { createWebhooks } from "./outbound/http/webhooks.ts";
import { createPasswords } from "./outbound/passwords.ts";
import { createAuditLog } from "./outbound/postgres/audit-log.ts";
import { createInvitations } from "./outbound/postgres/invitations.ts";
import { createPeopleStore } from "./outbound/postgres/people-store.ts";
import { createRequestLogStore } from "./outbound/postgres/request-log.ts";
import {
  createOrganizationSettings,
  createPasswordRecoveries,
  createSecondFactors,
} from "./outbound/postgres/second-factors.ts";
import { createUsers } from "./outbound/postgres/users.ts";
import { CONSOLE_LIBRARY } from "./outbound/redis/console-library.ts";
import { createConsoleSessions } from "./outbound/redis/console-sessions.ts";
import { createPendingSignIns } from "./outbound/redis/pending-sign-ins.ts";
import { createRecoveryLimits } from "./outbound/redis/recovery-limits.ts";
import { createSignInAttempts } from "./outbound/redis/sign-in-attempts.ts";
import { createMailer } from "./outbound/smtp/mailer.ts";

const SERVICE = "console";
const SCHEMA: ServiceSchema = {
  service: SERVICE,
  schema: "console",
  directory: fileURLToPath(new URL("../migrations", import.meta.url)),
  // Not even the role of the service may change an entry.
  appendOnly: ["audit_log"],
};
const INTERNAL_CALL_TIMEOUT_MS = 4_000;
/** Interval at which audit entries of other services are fetched. */
const AUDIT_PAUSE_MS = 1_000;
/** Interval at which users of the previous release are copied. */
const FORMER_USERS_PAUSE_MS = 500;
const FAILED_SIGN_INS_PAUSE_MS = 10_000;
const KEEP_DAYS_PAUSE_MS = 3_600_000;
/** Interval of new live samples, and of ending the streams of closed sessions. */
const LIVE_PAUSE_MS = 1_000;

/** Clients of other services. */
interface Clients {
  readonly organization: InternalClient;
  readonly account: InternalClient;
  readonly commandStatus: InternalClient;
  readonly finance: InternalClient;
  readonly gateway: InternalClient;
  readonly metrics: InternalClient;
  readonly risk: InternalClient;
  readonly webhooks: InternalClient;
}

/** People and the audit log: dependencies of the routes for people and for the operator. */
interface People extends SignInDependencies {
  readonly store: PeopleStore;
  readonly users: Users;
  readonly auditLog: AuditLog;
  readonly directory: Directory;
  readonly requestLog: RequestLogStore;
  readonly invitations: Invitations;
  readonly settings: OrganizationSettings;
  readonly recoveries: PasswordRecoveries;
}

/** Migrates the schema: the command "migrate", and the first step of every start. */
export function migrateDatabase(context: MigrationContext): Promise<void> {
  return migrateSchema(SCHEMA, context);
}

/** Starts the service: people and their sessions, the audit log, the page and its API. */
export async function startService(context: MainContext<Config>): Promise<void> {
  const { config, scope } = context;
  const database = await startDatabase(context, SCHEMA);
  const clock = await scope.start("database clock", () => startDatabaseClock(database, context));
  const main = { ...context, clock };
  const redis = await startServiceRedis(context, { service: SERVICE, library: CONSOLE_LIBRARY });
  const clients = await startClients(main);
  const store = createPeopleStore(database);
  await startTakingOverUsers(main, clients, database);
  const people: People = {
    store,
    users: createUsers(database),
    invitations: createInvitations(database),
    secondFactors: createSecondFactors(database),
    recoveries: createPasswordRecoveries(database),
    settings: createOrganizationSettings(database),
    sealingKeys: config.CONSOLE_SEALING_KEYS ?? null,
    auditLog: createAuditLog(database),
    passwords: await createPasswords(),
    failedSignIns: await startFailedSignIns(main, store),
    directory: createDirectory(clients.organization),
    sessions: createConsoleSessions(redis),
    pendingSignIns: createPendingSignIns(redis),
    signInAttempts: createSignInAttempts(redis),
    clock,
    requestLog: createRequestLogStore(database, clock),
  };
  await startRequestDays(main, people.requestLog);
  await startInternalHttp(context, SERVICE, {
    clock,
    isDependencyFailure: isTransient,
    register: (app) => registerOperatorRoutes(app, people),
  });
  await startFetchingAudit(main, clients, store);
  const settings = consoleConfig(config);
  if (settings !== null) await startConsole(main, settings, clients, redis, people);
  await startRequestLog(main, people.requestLog);
}

async function startClients(context: MainContext<Config>): Promise<Clients> {
  const { config } = context;
  const client = (service: string, baseUrl: string): Promise<InternalClient> =>
    startServiceClient(context, { service, baseUrl, timeoutMs: INTERNAL_CALL_TIMEOUT_MS });
  return {
    organization: await client("organization", config.ORGANIZATION_URL),
    account: await client("account", config.ACCOUNT_URL),
    commandStatus: await client("command-status", config.COMMAND_STATUS_URL),
    finance: await client("finance", config.FINANCE_URL),
    gateway: await client("gateway", config.GATEWAY_URL),
    metrics: await client("metrics", config.METRICS_URL),
    risk: await client("risk", config.RISK_URL),
    webhooks: await client("webhooks", config.WEBHOOKS_URL),
  };
}

/**
 * The process is ready only after it has copied the users of the previous release. Remove this
 * function in the second release after 0.1.0.
 */
async function startTakingOverUsers(
  context: MainContext<Config>,
  { organization }: Clients,
  database: Database,
): Promise<void> {
  const { logger, health } = context;
  const dependencies = { users: createUsers(database), source: createFormerUserSource(organization), logger };
  let missing: string | null = "the users of the previous release are not copied yet";
  health.readiness("users", () => missing);
  const round = async (): Promise<boolean> => {
    const isMore = (await takeOverUsers(dependencies)) === MAX_FORMER_USERS;
    if (!isMore) missing = null;
    return isMore;
  };
  await startRepeated(context, { name: "users of the previous release", pauseMs: FORMER_USERS_PAUSE_MS, round });
}

/** Fetches audit entries of other services. They keep an entry until it is recorded here. */
async function startFetchingAudit(
  context: MainContext<Config>,
  { organization, account, webhooks }: Clients,
  store: PeopleStore,
): Promise<void> {
  const { logger, clock } = context;
  const fetchedAtMs = new Map<string, number>();
  measureAuditAge(fetchedAtMs, clock);
  for (const [name, client] of Object.entries({ organization, account, webhooks })) {
    const source = createAuditSource(client);
    fetchedAtMs.set(name, clock.nowMs());
    const round = async (): Promise<boolean> => {
      const recorded = await fetchAuditEvents({ store, clock, logger }, source);
      fetchedAtMs.set(name, clock.nowMs());
      return recorded === MAX_AUDIT_EVENTS;
    };
    await startRepeated(context, { name: `audit entries of ${name}`, pauseMs: AUDIT_PAUSE_MS, round });
  }
}

/** At the stop, the recorder writes its counts before the database is closed. */
async function startFailedSignIns(context: MainContext<Config>, store: PeopleStore): Promise<FailedSignInRecorder> {
  const { scope, clock, logger } = context;
  const failed = createFailedSignIns({ store, clock, logger });
  const recorder = await scope.start("failed sign-ins", () => ({ value: failed, stop: () => failed.flush("all") }));
  await startRepeated(context, {
    name: "failed sign-ins, counted",
    pauseMs: FAILED_SIGN_INS_PAUSE_MS,
    round: () => failed.flush(),
  });
  return recorder;
}

/** Creates and drops the daily partitions of the request log: at the start, and every hour. */
async function startRequestDays(context: MainContext<Config>, requestLog: RequestLogStore): Promise<void> {
  const { clock, logger } = context;
  const round = (): Promise<void> => keepRequestDays({ requestLog, clock, logger });
  await round();
  const pauseMs = KEEP_DAYS_PAUSE_MS;
  await startRepeated(context, { name: "days of the request log", pauseMs, firstPauseMs: pauseMs, round });
}

/** Starts last: the pages work while Kafka is unavailable, and while the reader fails. */
async function startRequestLog(context: MainContext<Config>, requestLog: RequestLogStore): Promise<void> {
  const { clock, config, logger } = context;
  const kafka = await startServiceKafka(context, SERVICE);
  await startRestartedReader(context, "request log", (fatal) =>
    startRequestConsumer({
      kafka,
      store: (records) => storeRequests({ requestLog, clock }, records, config.REQUEST_LOG_PER_DAY),
      logger,
      fatal,
    }),
  );
}

/** Starts the listener for people, without internal routes, and the loops of its live streams. */
async function startConsole(
  context: MainContext<Config>,
  settings: ConsoleConfig,
  clients: Clients,
  redis: RedisConnection,
  people: People,
): Promise<void> {
  const { scope, logger, health, clock } = context;
  const accounts = createAccounts(clients.account);
  const live = new LiveAccounts({ ...people, accounts, samples: createSamples(clients.metrics) });
  await startRepeated(context, { name: "live samples", pauseMs: LIVE_PAUSE_MS, round: () => live.takeSamples() });
  await startRepeated(context, {
    name: "ends of live streams",
    pauseMs: LIVE_PAUSE_MS,
    round: () => live.endClosedSessions(),
  });
  const assets = readAssets(settings.assets);
  if (assets.size === 0) logger.warn({ folder: settings.assets }, "the console's page is not built");
  const app = createHttpServer({
    logger,
    health,
    clock,
    // Body errors are shown only after authorization.
    bodyErrors: "when-parsed",
    probes: "liveness",
    callers: "world",
    trustedProxies: settings.trustedProxies,
    isDependencyFailure: (error) => isTransient(error) || redis.check() !== null,
  });
  const credits = createCredits(clients.organization);
  const ranks = createAccountRanks(clients.metrics);
  const sources = createOverviewSources(clients, { credits, ranks });
  registerConsoleRoutes(app, {
    ...people,
    accounts,
    personOperations: createPersonOperations(clients.gateway),
    live,
    equityHistories: createEquityHistories(clients.metrics),
    assets,
    credits,
    commands: createCommands(clients.commandStatus),
    findTransaction: createTransactionFinder(clients.finance),
    records: createAccountRecords(clients),
    ranks,
    sources,
    overviews: new Overviews({ directory: people.directory, sources, clock, logger }),
    risk: createRisk(clients.risk),
    webhooks: createWebhooks(clients.webhooks),
    secureCookies: settings.secureCookies,
    apiUrl: settings.apiUrl,
    ...(await startWaysToSignIn(context, settings, redis, people)),
  });
  const { url } = await scope.start("console", () => startListening(app, settings));
  logger.info({ url }, "the console is listening");
}

/** Mails, the recovery of passwords, and the provider of OpenID Connect, if they are configured. */
async function startWaysToSignIn(
  { scope, logger }: MainContext<Config>,
  { mail: smtp, provider }: ConsoleConfig,
  redis: RedisConnection,
  people: People,
) {
  const mail = smtp === null ? null : createMailer(smtp);
  const logMailFailure = (error: unknown): void => logger.warn({ err: error }, "a mail was not sent");
  const recoveryLimits = createRecoveryLimits(redis);
  const recovery = await scope.start("password recovery", () => {
    const value = new PasswordRecovery({ ...people, mail, recoveryLimits, logMailFailure });
    return { value, stop: () => value.finish() };
  });
  return {
    mail,
    logMailFailure,
    recovery,
    providerSignIn: provider === null ? null : providerSignInOf(provider),
    logProviderFailure: (error: unknown): void => logger.warn({ err: error }, "a sign-in at the provider failed"),
    signInOptions: {
      passwordRecovery: mail !== null,
      provider: provider === null ? null : { name: provider.name },
    },
  };
}

function providerSignInOf({ publicUrl, hasSecondFactor, ...settings }: ProviderConfig): ProviderSignIn {
  const redirectUri = new URL(PROVIDER_CALLBACK, publicUrl).href;
  return { provider: createIdentityProvider({ ...settings, redirectUri }), hasSecondFactor };
}

/** The service, as its process runs it. */
export const program: ServiceProgram<typeof ConfigSchema> = {
  service: SERVICE,
  schema: ConfigSchema,
  start: startService,
  migrate: migrateDatabase,
};
