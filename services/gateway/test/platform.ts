import { randomUUID } from "node:crypto";

import {
  AnyCommandMessage,
  type DirectoryEntry,
  directoryKey,
  type KeyEntry,
  type ServerEntry,
  TOPICS,
} from "@kapi/contracts";
import { createKafka, startProducer, type KafkaConnection, type Producer } from "@kapi/kafka";
import { type Clock, systemClock, toIso } from "@kapi/kernel";
import {
  ADMISSION_LIBRARY,
  ADMISSION_SETTINGS,
  recordKey,
  unsyncedShards,
  syncShard,
  purchase,
  shardOf,
} from "@kapi/admission/redis";
import { startRedis, type RedisConnection } from "@kapi/redis";
import { createLogger, Health, loadConfig, Scope } from "@kapi/runtime";
import { freePort } from "@kapi/servers";
import { createTestEnvironment, eventually, keyEntry, serverEntry, type TestEnvironment } from "@kapi/testkit";

import { ConfigSchema } from "../src/config.ts";
import { startService } from "../src/service.ts";
import { type ChildService, startChildService } from "./child-service.ts";

/**
 * How long an idempotency record is open at gateways in the process of the test, in milliseconds.
 * Gateways in other processes keep the usual 5 s.
 */
export const TEST_RECORD_OPEN_MS = 1_500;
const NOWHERE = "http://127.0.0.1:1";
const ALWAYS = ["command-status", "trading-simulator", "account"] as const;
type Neighbour = (typeof ALWAYS)[number] | "finance" | "metrics" | "export";

/**
 * A gateway with real services as child processes: command-status, account, the trading simulator,
 * and the requested services.
 */
export interface Platform {
  readonly environment: TestEnvironment;
  readonly kafka: KafkaConnection;
  readonly redis: RedisConnection;
  readonly url: string;
  /** Base URL of a service. If the service was not started, nothing listens there. */
  neighbour(name: Neighbour): string;
  /** Publishes entries of the directory. */
  publish(...entries: DirectoryEntry[]): Promise<void>;
  /** Creates an organization with a key, a server and `credits`; with null it has no wallet. */
  organization(credits: number | null, key?: Partial<KeyEntry>): Promise<Organization>;
  /**
   * Starts another gateway in this process, with other variables, and optionally another clock.
   * Returns its URL.
   */
  gateway(env: Readonly<Record<string, string>>, clock?: Clock): Promise<string>;
  /** Starts another gateway as a child process, with other variables. */
  gatewayProcess(env: Readonly<Record<string, string>>): Promise<ChildService>;
  stop(): Promise<void>;
}

export interface Organization {
  readonly id: string;
  readonly key: KeyEntry;
  readonly managementKey: string;
  readonly server: ServerEntry;
}

/**
 * Starts the gateway, the services that every test needs, and `more`; `stop` stops all. `change`
 * returns environment variables for all services but the gateway.
 */
export async function startPlatform(
  more: readonly Neighbour[] = [],
  change: (env: TestEnvironment["env"]) => Readonly<Record<string, string>> = () => ({}),
): Promise<Platform> {
  const environment = await createTestEnvironment();
  const scope = new Scope();
  const stop = async (): Promise<void> => {
    await scope.stop();
    await environment.stop();
  };
  try {
    return { ...(await assemble(environment, scope, [...ALWAYS, ...more], change(environment.env))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function assemble(
  environment: TestEnvironment,
  scope: Scope,
  names: readonly Neighbour[],
  ofNeighbours: Readonly<Record<string, string>>,
): Promise<Omit<Platform, "stop">> {
  const logger = createLogger({ service: "test", level: "error" });
  const kafka = createKafka({
    brokers: environment.kafkaBrokers.split(","),
    clientId: "test",
    topicPrefix: environment.topicPrefix,
    logger,
  });
  const producer = await scope.start("producer", () => startProducer(kafka));
  const redis = await scope.start("redis", () =>
    startRedis({ url: environment.redisUrl, clientName: "test", functionLibraries: [ADMISSION_LIBRARY], logger }),
  );
  const child = (name: string, env: Readonly<Record<string, string>>, port: number): Promise<ChildService> =>
    scope.start(name, async () => {
      const value = await startChildService(name, env, port);
      return { value, stop: () => value.stop() };
    });
  const ports = new Map<string, number>();
  for (const name of names) ports.set(name, await freePort());
  const neighbour = (name: string): string => (ports.has(name) ? `http://127.0.0.1:${ports.get(name)}` : NOWHERE);
  const base = {
    ...inherited(),
    ...environment.env,
    TICK_INTERVAL_MS: "0",
    ACCOUNT_URL: neighbour("account"),
    COMMAND_STATUS_URL: neighbour("command-status"),
    FINANCE_URL: neighbour("finance"),
    METRICS_URL: neighbour("metrics"),
    ORGANIZATION_URL: NOWHERE,
    RISK_URL: NOWHERE,
    WEBHOOKS_URL: NOWHERE,
  };
  const tokenOf = (name: string): { SERVICE_TOKEN?: string } => {
    const token = Object.entries(environment.secrets.serviceTokens).find(([caller]) => caller === name)?.[1];
    return token === undefined ? {} : { SERVICE_TOKEN: token };
  };
  await Promise.all(
    [...ports].map(([name, port]) => child(name, { ...base, ...tokenOf(name), ...ofNeighbours }, port)),
  );
  const gateway = async (env: Readonly<Record<string, string>>, clock: Clock = systemClock): Promise<string> => {
    const config = loadConfig(ConfigSchema, { ...base, ...tokenOf("gateway"), HTTP_PORT: "0", ...env });
    const fatal = (error: unknown): void => {
      throw error;
    };
    const context = { config, scope, logger, health: new Health(), clock, fatal };
    return (await startService(context, { admission: { ...ADMISSION_SETTINGS, recordOpenMs: TEST_RECORD_OPEN_MS } }))
      .url;
  };
  const url = await gateway({});
  const publish = (...entries: DirectoryEntry[]): Promise<void> => publishEntries(producer, entries);
  const organization: Platform["organization"] = async (credits, key = {}) => {
    const id = randomUUID();
    const { entry, managementKey } = keyEntry({ organizationId: id, ...key });
    const server = serverEntry({ organizationId: id, tradingServerUrl: neighbour("trading-simulator") });
    await syncShardOf(redis, id);
    await publish(server, entry);
    await eventually(async () => {
      const path = `servers/${server.serverId}/configuration`;
      const headers = { authorization: `Management ${managementKey}` };
      const answer = await fetch(`${url}/api/v1/management/${path}`, { headers });
      const { error } = (await answer.json()) as { error: string };
      // There is no wallet yet, so 402 shows that the gateway has key and server. 403 for a scope
      // shows only that it has the key.
      if (answer.status !== 402 && !error.startsWith("Missing API scope")) return false;
      const internal = { headers: { "x-service-token": environment.secrets.serviceTokens.gateway } };
      return (await fetch(`${neighbour("account")}/internal/${path}`, internal)).ok;
    });
    if (credits !== null) await giveWallet(redis, id, credits);
    return { id, key: entry, managementKey, server };
  };
  const gatewayProcess = async (env: Readonly<Record<string, string>>): Promise<ChildService> =>
    child("gateway", { ...base, ...tokenOf("gateway"), ...env }, await freePort());
  return { environment, kafka, redis, url, neighbour, publish, organization, gateway, gatewayProcess };
}

/**
 * Changes the message of an idempotency record as if the command had been created `byMs` earlier.
 */
export async function backdateRecord(
  { redis }: Platform,
  organizationId: string,
  commandId: string,
  byMs: number,
): Promise<void> {
  const key = recordKey(shardOf(organizationId), commandId);
  const message = AnyCommandMessage.parse(JSON.parse((await redis.commands.hget(key, "message")) ?? "null"));
  const earlier = (time: string): string => toIso(Date.parse(time) - byMs);
  const backdated = { ...message, createdAt: earlier(message.createdAt), deadlineAt: earlier(message.deadlineAt) };
  await redis.commands.hset(key, "message", JSON.stringify(backdated));
}

async function publishEntries(producer: Producer, entries: readonly DirectoryEntry[]): Promise<void> {
  await Promise.all(
    entries.map((entry) =>
      producer.send(TOPICS.organizationDirectory, { key: directoryKey(entry), value: JSON.stringify(entry) }),
    ),
  );
}

async function syncShardOf(redis: RedisConnection, organizationId: string): Promise<void> {
  const shard = shardOf(organizationId);
  if ((await unsyncedShards(redis, [shard])).length > 0) await syncShard(redis, shard, 1, []);
}

async function giveWallet(redis: RedisConnection, organizationId: string, credits: number): Promise<void> {
  await purchase(redis, {
    organizationId,
    purchaseId: randomUUID(),
    credits,
    epoch: 2,
    walletId: randomUUID(),
    lowBalanceThreshold: 0,
    createdAtMs: Date.now(),
  });
}

function inherited(): Record<string, string> {
  const { PATH = "" } = process.env;
  return { PATH };
}
