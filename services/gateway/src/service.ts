import { createAdmission, createDirectory, createKnownAccounts, startRepeatedRefunds } from "@kapi/admission";
import { createHttpServer, createInternalClient, type InternalClient, listen, serviceCredentials } from "@kapi/http";
import { createKafka, createProducer, kafkaOptions } from "@kapi/kafka";
import { OrganizationSlots } from "@kapi/kernel";
import { ADMISSION_LIBRARY, ADMISSION_SETTINGS, type AdmissionSettings } from "@kapi/admission/redis";
import { createRedis, redisOptions, startRedisClock } from "@kapi/redis";
import type { MainContext } from "@kapi/runtime";

import { type Config, OWNER_CONNECTIONS } from "./config.ts";
import { UNKNOWN_ID } from "./domain/ports.ts";
import { registerReference } from "./inbound/http/reference.ts";
import { rejectOtherMethods } from "./inbound/http/other-methods.ts";
import { registerRoutes } from "./inbound/http/routes.ts";
import { followAccountDeletions } from "./inbound/kafka/account-deletions.ts";
import { createOperations } from "./operations/operations.ts";
import { createServerConfigurations } from "./operations/server-configurations.ts";
import { createAccounts } from "./outbound/http/accounts.ts";
import { createCommandStatus } from "./outbound/http/command-status.ts";
import { readCreditUsage, readSnapshots, readTransactions } from "./outbound/http/owner-reads.ts";
import { createWebhooks } from "./outbound/http/webhooks.ts";
import { createCommandLog } from "./outbound/kafka/command-log.ts";
import { createWallets } from "./outbound/redis/wallets.ts";

const SERVICE = "gateway";
/**
 * Deadlines of what a request waits for. A mutation waits for one check, three calls of Redis and
 * one publish at most; a read for one read and three calls of Redis: in sum below the 5 s within
 * which every request is answered (decisions, 1.5).
 */
const REDIS_TIMEOUT_MS = 600;
const CHECK_TIMEOUT_MS = 1_200;
const PRODUCE_TIMEOUT_MS = 1_600;
const READ_TIMEOUT_MS = 2_500;
/**
 * Account details wait up to 3 s for a trading server, before they are answered from the last
 * sample.
 */
const ACCOUNT_READ_TIMEOUT_MS = 3_500;
/**
 * The immediate delete waits 5 s for the account's running command (decisions, 4.8), then for the
 * trading server and for each owner of something known of the account. That the account service is
 * there at all is asked before.
 */
const DELETE_TIMEOUT_MS = 15_000;
/**
 * Most requests that wait for the end of a command at once; one more is answered as it is. Each
 * holds a connection.
 */
const MAX_WAITING_REQUESTS = 1_000;
/**
 * Calls to one owner that wait for a connection, of each organization; one more is answered 429.
 */
const MAX_WAITING_CALLS_PER_ORGANIZATION = 1_000;
/**
 * Longest time of a streamed answer. Within it 300,000 accounts, about 200 MB, reach a caller who
 * takes 2 MB/s.
 */
const MAX_STREAM_MS = 120_000;
/** Maximum number of accounts whose ids are remembered: about 250 bytes each. */
const MAX_KNOWN_ACCOUNTS = 500_000;

/** What only tests set otherwise. */
export interface ServiceSettings {
  readonly admission?: AdmissionSettings;
}

/** Starts the gateway; ready once the directory has been read to its end. */
export async function startService(
  context: MainContext<Config>,
  settings: ServiceSettings = {},
): Promise<{ url: string }> {
  const { config, scope, logger, health } = context;
  const redis = await scope.start("redis", () =>
    createRedis({
      ...redisOptions(config),
      clientName: SERVICE,
      commandTimeoutMs: REDIS_TIMEOUT_MS,
      functionLibraries: [ADMISSION_LIBRARY],
      logger,
    }),
  );
  health.readiness("redis", () => redis.check());
  // A command's times are those of its claim, whatever the clock of this machine says.
  const clock = await scope.start("redis clock", () => startRedisClock(redis, { logger }));
  const kafka = createKafka({
    ...kafkaOptions(config),
    clientId: SERVICE,
    logger,
  });
  const producer = await scope.start("producer", () => createProducer(kafka, { produceTimeoutMs: PRODUCE_TIMEOUT_MS }));
  const directory = await scope.start("directory", () =>
    createDirectory({ kafka, logger, fatal: (error) => context.fatal(error) }),
  );
  health.liveness("directory", () => directory.check());

  const organizationOf = (serverId: string): string | undefined => directory.server(serverId)?.organizationId;

  const credentials = serviceCredentials(config);
  const organizationShare = {
    connections: config.OWNER_CALLS_PER_ORGANIZATION,
    waitingCalls: MAX_WAITING_CALLS_PER_ORGANIZATION,
  };
  const accountClient = await scope.start("account client", () =>
    createInternalClient({
      baseUrl: config.ACCOUNT_URL,
      credentials,
      timeoutMs: ACCOUNT_READ_TIMEOUT_MS,
      connections: OWNER_CONNECTIONS,
      organizationShare,
    }),
  );
  const waitingClient = await scope.start("waiting client", () =>
    createInternalClient({
      baseUrl: config.COMMAND_STATUS_URL,
      credentials,
      timeoutMs: READ_TIMEOUT_MS,
      connections: MAX_WAITING_REQUESTS,
      // A wait that has just ended may still have its connection.
      maxWaitingCalls: MAX_WAITING_REQUESTS,
    }),
  );
  const reader = (name: string, baseUrl: string): Promise<InternalClient> =>
    scope.start(`${name} client`, () =>
      createInternalClient({
        baseUrl,
        credentials,
        timeoutMs: READ_TIMEOUT_MS,
        connections: OWNER_CONNECTIONS,
        organizationShare,
      }),
    );
  const [commandStatusClient, financeClient, metricsClient, organizationClient, webhooksClient] = await Promise.all([
    reader("command-status", config.COMMAND_STATUS_URL),
    reader("finance", config.FINANCE_URL),
    reader("metrics", config.METRICS_URL),
    reader("organization", config.ORGANIZATION_URL),
    reader("webhooks", config.WEBHOOKS_URL),
  ]);
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
  const deletions = await scope.start("account deletions", () =>
    followAccountDeletions({ kafka, knownAccounts, logger, fatal: (error) => context.fatal(error) }),
  );
  health.liveness("account deletions", () => deletions.check());
  const admission = createAdmission({
    redis,
    directory,
    clock,
    settings: settings.admission ?? { ...ADMISSION_SETTINGS, usageStreamLimit: config.USAGE_STREAM_LIMIT },
  });
  const operations = createOperations({
    prices: directory.prices,
    admission,
    accounts,
    readTransactions: readTransactions(financeClient, organizationOf),
    readSnapshots: readSnapshots(metricsClient),
    readCreditUsage: readCreditUsage(organizationClient),
    webhooks: createWebhooks(webhooksClient),
    knownAccounts,
    configurations: createServerConfigurations(accounts.configuration, clock),
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
    isStopping: () => health.isStopping,
    derivationKeys: config.PASSWORD_DERIVATION_KEYS,
    sealingKeys: config.PASSWORD_SEALING_KEYS,
    fingerprintKey: config.FINGERPRINT_KEY,
  });

  // A body that cannot be read is told after 401, 403, 429 and 402.
  const app = createHttpServer({
    logger,
    health,
    clock,
    bodyErrors: "when-parsed",
    callers: "world",
    trustedProxies: config.TRUSTED_PROXIES ?? [],
  });
  const refunds = await scope.start("refunds", () => startRepeatedRefunds({ admission, clock, logger }));
  const wallets = createWallets(redis, logger);
  const isStopping = (): boolean => health.isStopping;
  const routeNeeds = { directory, admission, refunds, wallets, clock, logger, isStopping, maxStreamMs: MAX_STREAM_MS };
  registerRoutes(app, routeNeeds, operations);
  rejectOtherMethods(app);
  registerReference(app);
  return scope.start("http", () => listen(app, { host: config.HTTP_HOST, port: config.HTTP_PORT }));
}
