import { createAdmission, createKnownAccounts, type KnownAccounts, startRepeatedRefunds } from "@kapi/admission";
import { ADMISSION_LIBRARY, ADMISSION_SETTINGS, type AdmissionSettings } from "@kapi/admission/redis";
import { TOPICS } from "@kapi/contracts";
import { type FastifyInstance, type InternalClient, withCompression } from "@kapi/http";
import { beginOffsets, endOffsets, startProducer } from "@kapi/kafka";
import { type Clock, monotonicClock, OrganizationSlots } from "@kapi/kernel";
import { startRedisClock } from "@kapi/redis";
import type { MainContext, ServiceProgram } from "@kapi/runtime";
import {
  type ServiceKafka,
  startServiceKafka,
  startHttp,
  startInternalHttp,
  startReader,
  startServiceClient,
  startServiceDirectory,
  startServiceRedis,
  startServiceRequestLog,
} from "@kapi/service";

import { type Config, ConfigSchema, OWNER_CONNECTIONS } from "./config.ts";
import { UNKNOWN_ID } from "./domain/ports.ts";
import { registerDocsRoutes } from "./inbound/http/docs-routes.ts";
import { registerEvidenceKeysRoutes } from "./inbound/http/evidence-keys.ts";
import { registerReferenceRoutes } from "./inbound/http/reference.ts";
import { registerOtherMethodRoutes } from "./inbound/http/other-methods.ts";
import { registerPersonRoutes } from "./inbound/http/person-routes.ts";
import { registerOperationRoutes } from "./inbound/http/routes.ts";
import { startDeletionReader } from "./inbound/kafka/account-deletions.ts";
import { createEvidenceKeysCache } from "./operations/evidence-keys.ts";
import { createOperations } from "./operations/operations.ts";
import { createServerConfigurations } from "./operations/server-configurations.ts";
import { createAccounts } from "./outbound/http/accounts.ts";
import { createCommandStatus } from "./outbound/http/command-status.ts";
import {
  readBalance,
  readCreditUsage,
  readLastSnapshot,
  readSnapshots,
  readTransactions,
} from "./outbound/http/owner-reads.ts";
import { createDigests } from "./outbound/http/digests.ts";
import { createRisk, readEvidenceKeys } from "./outbound/http/risk.ts";
import { createWebhooks } from "./outbound/http/webhooks.ts";
import { createCommandLog } from "./outbound/kafka/command-log.ts";
import { createWallets } from "./outbound/redis/wallets.ts";

const SERVICE = "gateway";
/**
 * Deadlines of the calls that a request waits for. While one dependency is down, a request is
 * answered in less than 5 s. A few kinds of requests can take longer (decisions, 1.5).
 */
const REDIS_TIMEOUT_MS = 600;
const CHECK_TIMEOUT_MS = 1_200;
const PRODUCE_TIMEOUT_MS = 1_600;
const READ_TIMEOUT_MS = 2_500;
/**
 * Deadline of a read of the account service, which waits up to 3 s (its
 * `TRADING_SERVER_TIMEOUT_MS`) for a trading server before it returns stored values.
 */
const ACCOUNT_READ_TIMEOUT_MS = 3_500;
/**
 * The immediate delete waits up to 5 s for the account's running command (decisions, 4.8), then for
 * the trading server and for each service that has data of the account. Before that, a call with a
 * shorter deadline checks that the account service answers.
 */
const DELETE_TIMEOUT_MS = 15_000;
/**
 * Maximum number of concurrent requests that wait for a command's final state. Each waiting request
 * holds a connection. A further request is answered with the current state.
 */
const MAX_WAITING_REQUESTS = 1_000;
/**
 * Maximum number of calls of one organization that wait for a connection to one owner. One more is
 * answered 429.
 */
const MAX_WAITING_CALLS_PER_ORGANIZATION = 1_000;
/**
 * Maximum time of a streamed answer. In this time a caller who reads 2 MB/s receives 300,000
 * accounts, about 200 MB. Shorter than the time in which a charge can be refunded
 * (`CHARGE_TTL_MS`).
 */
const MAX_STREAM_MS = 120_000;
/** Maximum number of accounts whose ids are remembered: about 250 bytes each. */
const MAX_KNOWN_ACCOUNTS = 500_000;

/** Settings that only tests change. */
export interface ServiceSettings {
  readonly admission?: AdmissionSettings;
}

/**
 * Starts the gateway, and returns the URL of the API. The gateway is ready once the directory has
 * been read to its end.
 */
export async function startService(
  context: MainContext<Config>,
  settings: ServiceSettings = {},
): Promise<{ url: string }> {
  const { config, scope, logger, health } = context;
  const redis = await startServiceRedis(context, {
    service: SERVICE,
    library: ADMISSION_LIBRARY,
    commandTimeoutMs: REDIS_TIMEOUT_MS,
  });
  // The times of commands come from Redis, so they are right even if this machine's clock is wrong.
  const clock = await scope.start("redis clock", () => startRedisClock(redis, { logger }));
  const kafka = await startServiceKafka(context, SERVICE, { survivesGrowth: true });
  const producer = await scope.start("producer", () =>
    startProducer(kafka, { produceTimeoutMs: PRODUCE_TIMEOUT_MS, isSource: true }),
  );
  const directory = await startServiceDirectory(context, kafka);

  const isStopping = (): boolean => health.isStopping;
  const organizationOf = (serverId: string): string | undefined => directory.server(serverId)?.organizationId;

  const organizationShare = {
    connections: config.OWNER_CALLS_PER_ORGANIZATION,
    waitingCalls: MAX_WAITING_CALLS_PER_ORGANIZATION,
  };
  const ownerClient = (service: string, baseUrl: string, timeoutMs = READ_TIMEOUT_MS): Promise<InternalClient> =>
    startServiceClient(context, { service, baseUrl, timeoutMs, connections: OWNER_CONNECTIONS, organizationShare });
  const accountClient = await ownerClient("account", config.ACCOUNT_URL, ACCOUNT_READ_TIMEOUT_MS);
  const commandStatusClient = await ownerClient("command-status", config.COMMAND_STATUS_URL);
  const financeClient = await ownerClient("finance", config.FINANCE_URL);
  const metricsClient = await ownerClient("metrics", config.METRICS_URL);
  const organizationClient = await ownerClient("organization", config.ORGANIZATION_URL);
  const riskClient = await ownerClient("risk", config.RISK_URL);
  const webhooksClient = await ownerClient("webhooks", config.WEBHOOKS_URL);
  const waitingClient = await startServiceClient(context, {
    service: "command-status",
    baseUrl: config.COMMAND_STATUS_URL,
    timeoutMs: READ_TIMEOUT_MS,
    connections: MAX_WAITING_REQUESTS,
    // A wait that has just ended may still use its connection: then a new wait queues for one.
    maxWaitingCalls: MAX_WAITING_REQUESTS,
  });
  const accounts = createAccounts(accountClient, {
    checkTimeoutMs: CHECK_TIMEOUT_MS,
    deleteTimeoutMs: DELETE_TIMEOUT_MS,
    organizationOf,
  });
  const knownAccounts = createKnownAccounts<string>({
    load: accounts.ids,
    isLasting: (id) => id !== UNKNOWN_ID,
    maxEntries: MAX_KNOWN_ACCOUNTS,
  });
  await startDeletionReaders(context, kafka, knownAccounts);
  const admission = createAdmission({
    redis,
    directory,
    settings: settings.admission ?? { ...ADMISSION_SETTINGS, usageStreamLimit: config.USAGE_STREAM_LIMIT },
  });
  const operations = createOperations({
    prices: directory.prices,
    admission,
    accounts,
    readTransactions: readTransactions(financeClient, organizationOf),
    readBalance: readBalance(financeClient, organizationOf),
    readSnapshots: readSnapshots(metricsClient),
    readLastSnapshot: readLastSnapshot(metricsClient),
    readCreditUsage: readCreditUsage(organizationClient),
    digests: createDigests(financeClient, accountClient, organizationOf),
    risk: createRisk(riskClient, organizationOf),
    webhooks: createWebhooks(webhooksClient),
    knownAccounts,
    configurations: createServerConfigurations(accounts.configuration, monotonicClock),
    commandStatus: createCommandStatus({
      client: commandStatusClient,
      waitingClient,
      lookUpTimeoutMs: CHECK_TIMEOUT_MS,
    }),
    commandLog: createCommandLog(producer),
    streams: new OrganizationSlots({ perOrganization: config.STREAMS_PER_ORGANIZATION }),
    searches: new OrganizationSlots({ perOrganization: config.SEARCHES_PER_ORGANIZATION }),
    waits: new OrganizationSlots({ perOrganization: config.WAITS_PER_ORGANIZATION, total: MAX_WAITING_REQUESTS }),
    clock,
    isStopping,
    derivationKeys: config.PASSWORD_DERIVATION_KEYS,
    sealingKeys: config.PASSWORD_SEALING_KEYS,
    fingerprintKey: config.FINGERPRINT_KEY,
  });

  const refunds = await scope.start("refunds", () => startRepeatedRefunds({ admission, clock, logger }));
  const requestLog = await startServiceRequestLog({ ...context, clock }, kafka);
  const wallets = createWallets(redis, logger);
  const evidenceKeys = createEvidenceKeysCache(readEvidenceKeys(riskClient), monotonicClock);
  const routes = {
    directory,
    admission,
    refunds,
    requestLog,
    wallets,
    clock,
    logger,
    isStopping,
    maxStreamMs: MAX_STREAM_MS,
  };
  await startPersonHttp(context, clock, (app) => registerPersonRoutes(app, routes, operations));
  return startHttp(context, {
    clock,
    // 401, 403, 429 and 402 come before the error of a malformed body (decisions, 1.1).
    bodyErrors: "when-parsed",
    callers: "world",
    trustedProxies: config.TRUSTED_PROXIES ?? [],
    register: (app) => {
      withCompression(app, () => {
        registerOperationRoutes(app, routes, operations);
        registerOtherMethodRoutes(app);
        registerReferenceRoutes(app);
        registerDocsRoutes(app);
        registerEvidenceKeysRoutes(app, evidenceKeys);
      });
    },
  });
}

/**
 * Reads deletions of accounts, from now on. After a growth of the topic, also reads the added
 * partitions, from their beginning.
 */
async function startDeletionReaders(
  context: MainContext<Config>,
  kafka: ServiceKafka,
  knownAccounts: KnownAccounts<string>,
): Promise<void> {
  const { logger, fatal } = context;
  const read = new Set<number>();
  const readOthers = async (offsets: ReadonlyMap<number, bigint>): Promise<void> => {
    const from = new Map([...offsets].filter(([partition]) => !read.has(partition)));
    const name = read.size === 0 ? "account deletions" : `account deletions from partition ${read.size} on`;
    for (const partition of from.keys()) read.add(partition);
    await startReader(context, name, () => startDeletionReader({ kafka, knownAccounts, logger, fatal, from }));
  };
  await readOthers(await endOffsets(kafka, TOPICS.accountEvents));
  kafka.growth.onGrown(() => {
    void beginOffsets(kafka, TOPICS.accountEvents).then(readOthers).catch(fatal);
  });
}

/**
 * Opens the internal port, on which the console calls operations for people. Without INTERNAL_PORT
 * people cannot act on accounts or risk templates.
 */
async function startPersonHttp(
  context: MainContext<Config>,
  clock: Clock,
  register: (app: FastifyInstance) => void,
): Promise<void> {
  const { INTERNAL_HOST, INTERNAL_PORT, SERVICE_TOKEN_DIGESTS } = context.config;
  if (INTERNAL_PORT === undefined || SERVICE_TOKEN_DIGESTS === undefined) return;
  const config = { HTTP_HOST: INTERNAL_HOST, HTTP_PORT: INTERNAL_PORT, SERVICE_TOKEN_DIGESTS };
  await startInternalHttp({ ...context, config }, SERVICE, { clock, probes: "liveness", register });
}

/** The service, as its process runs it. */
export const program: ServiceProgram<typeof ConfigSchema> = {
  service: SERVICE,
  schema: ConfigSchema,
  start: (context) => startService(context),
  stopsFirst: true,
};
