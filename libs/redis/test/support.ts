import { randomUUID } from "node:crypto";

import { createLogger } from "@kapi/runtime";
import { createTestEnvironment } from "@kapi/testkit";

import {
  ALL_TAGS,
  type AdmitRequest,
  type ClaimRequest,
  type RedisConnection,
  type UsageEntry,
  type WalletState,
  admit,
  createRedis,
  openTag,
  purchase,
  readUsage,
  tagOf,
  walletKey,
} from "../src/index.ts";

/** The epoch that the tests open tags with. */
export const EPOCH = 5;

const logger = createLogger({ service: "redis-test", level: "error" });

/** A Redis of one test file's own, empty, with all tags open. */
export async function connectEmpty(): Promise<{ redis: RedisConnection; url: string; stop: () => Promise<void> }> {
  const environment = await createTestEnvironment({ needs: ["redis"] });
  const started = await createRedis({ url: environment.redisUrl, clientName: "redis-test", logger });
  await openAll(started.value);
  const stop = async (): Promise<void> => {
    await started.stop();
    await environment.stop();
  };
  return { redis: started.value, url: environment.redisUrl, stop };
}

/** Opens every tag without wallets. */
export async function openAll(redis: RedisConnection): Promise<void> {
  await Promise.all(ALL_TAGS.map((tag) => openTag(redis, tag, EPOCH, [])));
}

/** A new organization with `credits` in its wallet. */
export async function organizationWith(redis: RedisConnection, credits: number): Promise<string> {
  const organizationId = randomUUID();
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

/** A read of price 1, unless told otherwise. */
export function request(organizationId: string, changes: Partial<AdmitRequest> = {}): AdmitRequest {
  return {
    keyId: "aaaaaaaaaaaaaaaa",
    organizationId,
    chargeId: randomUUID(),
    mode: "consume",
    price: 1,
    readPrice: 1,
    operation: "getCommand",
    requestId: "test",
    rateLimit: null,
    claims: [],
    ...changes,
  };
}

/** A claim of 5 credits on a new command, unless told otherwise. */
export function claim(changes: Partial<ClaimRequest> = {}): ClaimRequest {
  const commandId = changes.commandId ?? randomUUID();
  return {
    commandId,
    fingerprint: "print",
    message: `{"commandId":"${commandId}"}`,
    credits: 5,
    ...changes,
  };
}

/** A reservation of `claims`. */
export function reserve(
  organizationId: string,
  claims: ClaimRequest[],
  changes: Partial<AdmitRequest> = {},
): AdmitRequest {
  return request(organizationId, { mode: "reserve", claims, operation: "depositAccountFunds", ...changes });
}

/** The wallet as it is, by a call that changes nothing. */
export async function walletOf(redis: RedisConnection, organizationId: string): Promise<WalletState> {
  const reply = await admit(redis, request(organizationId, { mode: "free" }));
  if (reply.kind !== "admitted") throw new Error(`no wallet to read: ${reply.kind}`);
  return reply.wallet;
}

/** The usage entries of an organization. */
export async function usageOf(redis: RedisConnection, organizationId: string): Promise<UsageEntry[]> {
  const tag = tagOf(organizationId);
  const entries = (await readUsage(redis, [tag], 100_000)).get(tag) ?? [];
  return entries.filter((entry) => entry.organizationId === organizationId);
}

/** Makes Redis forget the wallet, as an organization that never bought anything. */
export async function dropWallet(redis: RedisConnection, organizationId: string): Promise<void> {
  await redis.commands.del(walletKey(tagOf(organizationId), organizationId));
}
