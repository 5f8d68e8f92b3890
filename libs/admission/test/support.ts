import { randomUUID } from "node:crypto";

import { delay, systemClock } from "@kapi/kernel";
import { createLogger } from "@kapi/runtime";
import { askRedis, createTestEnvironment, type TestRedisCluster } from "@kapi/testkit";

import { type RedisConnection, type RedisOptions, startRedis } from "@kapi/redis";
import {
  ADMISSION_LIBRARY,
  ALL_SHARDS,
  type AdmitReply,
  type AdmitRequest,
  ADMISSION_SETTINGS,
  type NewRecord,
  type AdmissionSettings,
  type UsageEntry,
  type WalletState,
  admit,
  markCompleted,
  syncShard,
  purchase,
  readUsage,
  shardOf,
  walletKey,
} from "../src/redis/index.ts";

/** The epoch with which the tests sync shards. */
export const EPOCH = 5;

const CLIENT = {
  clientName: "admission-test",
  functionLibraries: [ADMISSION_LIBRARY],
  logger: createLogger({ service: "admission-test", level: "silent" }),
};

/** A connection for one test file. */
interface Connected {
  readonly redis: RedisConnection;
  /** Executes a command on every Redis of the connection. */
  readonly everywhere: (command: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

let cluster: TestRedisCluster | null = null;

/** Makes later calls of {@link connectEmpty} connect to the cluster `running`. */
export function runInCluster(running: TestRedisCluster): void {
  cluster = running;
}

/**
 * Connects to the cluster of {@link runInCluster}, or without one to a separate Redis. Deletes all
 * data, and makes all shards ready.
 */
export async function connectEmpty(): Promise<Connected> {
  return cluster === null ? connectToOwn() : connectToCluster(cluster);
}

async function connectToOwn(): Promise<Connected> {
  const environment = await createTestEnvironment({ needs: ["redis"] });
  const connected = await connectTo({ ...CLIENT, url: environment.redisUrl }, [environment.redisUrl]);
  const stop = async (): Promise<void> => {
    await connected.stop();
    await environment.stop();
  };
  return { ...connected, stop };
}

async function connectToCluster({ masters, replica }: TestRedisCluster): Promise<Connected> {
  const urls = [...masters, replica].map(({ url }) => url);
  return connectTo({ ...CLIENT, url: urls, cluster: true }, urls);
}

async function connectTo(options: RedisOptions, urls: readonly string[]): Promise<Connected> {
  const everywhere = async (command: string): Promise<void> => {
    // A replica may reject the command: it copies the writes of its master.
    await Promise.all(urls.map((url) => askRedis(url, command)));
  };
  await everywhere("FLUSHALL");
  const { value: redis, stop } = await startRedis(options);
  await syncAll(redis);
  return { redis, everywhere, stop };
}

/** Syncs every shard; the calls pass no wallets. */
export async function syncAll(redis: RedisConnection): Promise<void> {
  await Promise.all(ALL_SHARDS.map((shard) => syncShard(redis, shard, EPOCH, [])));
}

/** A new organization with `credits` in its wallet. */
export async function organizationWith(
  redis: RedisConnection,
  credits: number,
  organizationId: string = randomUUID(),
): Promise<string> {
  await purchase(redis, {
    organizationId,
    purchaseId: randomUUID(),
    credits,
    epoch: EPOCH,
    walletId: randomUUID(),
    lowBalanceThreshold: 0,
    createdAtMs: 1_800_000_000_000,
  });
  return organizationId;
}

/** A request; by default a read with price 1. */
export function request(organizationId: string, changes: Partial<AdmitRequest> = {}): AdmitRequest {
  return {
    callerName: "aaaaaaaaaaaaaaaa",
    organizationId,
    chargeId: randomUUID(),
    mode: "consume",
    price: 1,
    readPrice: 1,
    operation: "getCommand",
    requestId: "test",
    rateLimit: null,
    records: [],
    ...changes,
  };
}

/** A record; by default with 5 credits, for a new command. */
export function record(changes: Partial<NewRecord> = {}): NewRecord {
  const commandId = changes.commandId ?? randomUUID();
  return {
    commandId,
    fingerprint: "print",
    message: `{"commandId":"${commandId}"}`,
    credits: 5,
    ...changes,
  };
}

/** A request that reserves the credits of `records`. */
export function reserve(
  organizationId: string,
  records: NewRecord[],
  changes: Partial<AdmitRequest> = {},
): AdmitRequest {
  return request(organizationId, { mode: "reserve", records, operation: "depositAccountFunds", ...changes });
}

/** Reads the wallet with a call that changes nothing. */
export async function walletOf(redis: RedisConnection, organizationId: string): Promise<WalletState> {
  const reply = await admit(redis, request(organizationId, { mode: "free" }));
  if (reply.kind !== "admitted") throw new Error(`no wallet to read: ${reply.kind}`);
  return reply.wallet;
}

/** The usage entries of an organization. */
export async function usageOf(redis: RedisConnection, organizationId: string): Promise<UsageEntry[]> {
  const shard = shardOf(organizationId);
  const entries = (await readUsage(redis, [shard], 100_000)).replies.get(shard) ?? [];
  return entries.filter((entry) => entry.organizationId === organizationId);
}

/** Deletes the wallet in Redis. */
export async function dropWallet(redis: RedisConnection, organizationId: string): Promise<void> {
  await redis.commands.del(walletKey(shardOf(organizationId), organizationId));
}

/**
 * Marks the records of one request completed. Returns false if the request must not answer any
 * more, for example because another request has reclaimed a record.
 */
export async function answer(
  redis: RedisConnection,
  organizationId: string,
  commandIds: readonly string[],
  recordToken: string,
  settings: AdmissionSettings = ADMISSION_SETTINGS,
): Promise<boolean | undefined> {
  return (await markCompleted(redis, shardOf(organizationId), [{ commandIds, recordToken }], settings))[0];
}

/** Equal requests reclaim an open record after 150 ms instead of 5 s. */
export const QUICK: AdmissionSettings = { ...ADMISSION_SETTINGS, recordOpenMs: 150 };
const POLL_MS = 10;
export const DEADLINE_MS = 5_000;

/** Repeats the call while the record is open, as the gateway does. */
export async function whileOpen(redis: RedisConnection, call: AdmitRequest): Promise<AdmitReply> {
  const until = systemClock.nowMs() + DEADLINE_MS;
  for (;;) {
    const reply = await admit(redis, call, QUICK);
    const open = reply.kind === "admitted" && reply.records.some((outcome) => outcome.kind === "open");
    if (!open || systemClock.nowMs() > until) return reply;
    await delay(POLL_MS);
  }
}
