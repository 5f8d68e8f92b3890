/** Composition root, in start order. */
import {
  registerContractRoutes,
  Bridge,
  BRIDGE_MIGRATIONS,
  Committer,
  createJournal,
  createStoredState,
  startHousekeeping,
  startPublishing,
} from "@kapi/bridge";
import { requireInternalToken } from "@kapi/http";
import { startProducer, LIVE_INTERVAL_MS } from "@kapi/kafka";
import { faultPoint, type MainContext, type MigrationContext, type ServiceProgram } from "@kapi/runtime";
import { startServiceKafka, migrateSchema, type ServiceSchema, startDatabase, startHttp } from "@kapi/service";

import { type Config, ConfigSchema } from "./config.ts";
import { type Account, toState } from "./domain/account.ts";
import { valueAccount } from "./domain/account-values.ts";
import { registerControlAccountRoutes } from "./inbound/http/control-account-routes.ts";
import { registerControlMarketRoutes } from "./inbound/http/control-market-routes.ts";
import { Engine } from "./operations/engine.ts";
import { FaultyContract } from "./operations/faulty-contract.ts";
import { LateChanges } from "./operations/late-changes.ts";
import { changedMarkets, startMarketClock } from "./operations/market-clock.ts";
import { createPlatform } from "./operations/platform.ts";
import { restore } from "./operations/restore.ts";
import type { TradingServer } from "./operations/server.ts";
import { readRecording } from "./outbound/quotes-file.ts";

const SERVICE = "trading-simulator";
const SCHEMA: ServiceSchema = { service: SERVICE, schema: "trading_server", directories: [BRIDGE_MIGRATIONS] };
/** Duration of a tick of the control API if `TICK_INTERVAL_MS` is 0. */
const MANUAL_TICK_MS = 250;

/** Migrates the schema: the command "migrate", and the first step of every start. */
export function migrateDatabase(context: MigrationContext): Promise<void> {
  return migrateSchema(SCHEMA, context);
}

/** Starts the service: journal, publishers, engine, market, and last the contract's routes. */
export async function startService(context: MainContext<Config>): Promise<void> {
  const { config, scope, logger, health, clock } = context;
  const fatal = (error: unknown): void => context.fatal(error);
  const recording =
    config.QUOTES_FILE === undefined ? null : await readRecording(config.QUOTES_FILE, config.QUOTES_SYMBOL ?? null);
  const feed = { seed: config.MARKET_SEED, recording, recordingSpeed: config.QUOTES_SPEED };

  const database = await startDatabase(context, SCHEMA);
  const stored = createStoredState(database);
  const journal = createJournal(database, await stored.claim());
  const restored = await restore(stored, feed, clock);

  const kafka = await startServiceKafka(context, SERVICE, { survivesGrowth: true });
  const producer = await scope.start("producer", () =>
    startProducer(kafka, { minIntervalMs: LIVE_INTERVAL_MS, isSource: true }),
  );
  const { publisher, events } = await startPublishing({
    scope,
    health,
    producer,
    journal,
    published: restored.progress.published,
    committed: restored.lastPosition,
    logger,
  });
  const committer = new Committer<Account, TradingServer>({
    journal,
    publisher,
    stateText: { account: toState, server: (server) => server.toState() },
    lastPosition: restored.lastPosition,
    onStored: () => faultPoint("trading-simulator.stored"),
    fatal,
  });
  committer.addLazyAccounts(restored.movedAccounts);
  const engine = new Engine({ clock, feed, committer, servers: restored.servers });
  const bridge = new Bridge({ platform: createPlatform(engine), committer, journal });
  const warn = (error: unknown): void =>
    logger.warn({ err: error }, "a change that a fault delayed could not be applied");
  await scope.start("housekeeping", () =>
    startHousekeeping({
      committer,
      journal,
      events,
      changedServers: changedMarkets(engine),
      intervalMs: config.SNAPSHOT_INTERVAL_MS,
      logger,
    }),
  );
  const late = await scope.start("late changes", () => LateChanges.start(bridge, warn));

  // The previous process possibly ended before it published the newest valuations of these
  // accounts.
  for (const account of restored.unpublishedAccounts) {
    if (account.status === "deleted") continue;
    const server = engine.server(account.serverId);
    engine.value(server, engine.context(server), account, valueAccount(server.market, account));
  }
  if (config.TICK_INTERVAL_MS > 0) {
    await scope.start("market", () => startMarketClock(engine, config.TICK_INTERVAL_MS, fatal));
  }

  const servesControl = isControlServed(config);
  if (!servesControl) {
    logger.info(
      { host: config.HTTP_HOST },
      "the control API is off: HTTP_HOST is not a loopback address, and CONTROL_TOKEN is not set",
    );
  }
  logger.info({ accounts: countAccounts(engine), seed: config.MARKET_SEED }, "trading servers are restored");
  await startHttp(context, {
    clock,
    register: (app) => {
      requireInternalToken(app, config.TRADING_SERVER_TOKEN, "/v1/");
      registerContractRoutes(app, new FaultyContract(bridge, engine, late));
      if (!servesControl) return;
      if (config.CONTROL_TOKEN !== undefined) requireInternalToken(app, config.CONTROL_TOKEN, "/control/");
      registerControlMarketRoutes(app, engine, config.TICK_INTERVAL_MS || MANUAL_TICK_MS);
      registerControlAccountRoutes(app, engine);
    },
  });
}

/** The control API is served on a loopback address, and on any other address only with a token. */
function isControlServed(config: Config): boolean {
  const isLoopback =
    config.HTTP_HOST === "localhost" || config.HTTP_HOST === "::1" || config.HTTP_HOST.startsWith("127.");
  return isLoopback || config.CONTROL_TOKEN !== undefined;
}

function countAccounts(engine: Engine): number {
  let count = 0;
  for (const server of engine.servers.values()) count += server.accounts.size;
  return count;
}

/** The service, as its process runs it. */
export const program: ServiceProgram<typeof ConfigSchema> = {
  service: SERVICE,
  schema: ConfigSchema,
  start: startService,
  migrate: migrateDatabase,
};
