import { randomUUID } from "node:crypto";

import { type AnyCommandMessage, DEFAULT_PRICES, type KeyEntry, TOPICS, Wallet, directoryKey } from "@kapi/contracts";
import { createKafka, startProducer, type Producer } from "@kapi/kafka";
import { ApiError } from "@kapi/http";
import { systemClock } from "@kapi/kernel";
import { startRedis, type RedisConnection } from "@kapi/redis";
import { ADMISSION_LIBRARY, metaKey, syncShard, purchase, revokeKey, shardOf } from "../src/redis/index.ts";
import { createLogger, Scope } from "@kapi/runtime";
import { commandMessage, createTestEnvironment, eventually, keyEntry, type TestEnvironment } from "@kapi/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

import {
  type Admission,
  type AdmissionRequest,
  authenticate,
  createAdmission,
  createAvailableCredits,
  startDirectory,
  type Directory,
  keyCaller,
  walletToWire,
} from "../src/index.ts";

const EPOCH = 1;

const scope = new Scope();
const logger = createLogger({ service: "admission-test", level: "silent" });
let environment: TestEnvironment;
let redis: RedisConnection;
let directory: Directory;
let producer: Producer;
let admission: Admission;

beforeAll(async () => {
  environment = await createTestEnvironment({ needs: ["kafka", "redis"] });
  await scope.start("environment", () => ({ value: environment, stop: () => environment.stop() }));
  const { kafkaBrokers, topicPrefix } = environment;
  const kafka = createKafka({ brokers: kafkaBrokers.split(","), clientId: "test", topicPrefix, logger });
  producer = await scope.start("producer", () => startProducer(kafka));
  const fatal = (error: Error): never => {
    throw error;
  };
  directory = await scope.start("directory", () => startDirectory({ kafka, logger, fatal }));
  redis = await scope.start("redis", () =>
    startRedis({ url: environment.redisUrl, clientName: "test", functionLibraries: [ADMISSION_LIBRARY], logger }),
  );
  admission = createAdmission({ redis, directory });
});
afterAll(() => scope.stop());

async function keyWith(credits: number | null, changes: Partial<KeyEntry> = {}): Promise<KeyEntry> {
  const { entry } = keyEntry(changes);
  const { organizationId } = entry;
  await syncShard(redis, shardOf(organizationId), EPOCH, []);
  if (credits !== null) {
    const wallet = { walletId: randomUUID(), lowBalanceThreshold: 10, createdAtMs: 1_800_000_000_000, epoch: EPOCH };
    await purchase(redis, { organizationId, purchaseId: randomUUID(), credits, ...wallet });
  }
  return entry;
}

function read(key: KeyEntry, changes: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    caller: keyCaller(key),
    operation: "getCommand",
    requestId: "request",
    price: 1,
    mode: "consume",
    readPrice: DEFAULT_PRICES.read,
    chargeId: randomUUID(),
    ...changes,
  };
}

function deposit(key: KeyEntry, message: AnyCommandMessage): AdmissionRequest {
  const { commandId, fingerprint, reservedCredits: credits } = message;
  const records = [{ commandId, fingerprint, message: JSON.stringify(message), credits }];
  return read(key, { mode: "reserve", operation: "depositAccountFunds", records });
}

test("a key is known after its record is in the directory topic", async () => {
  const { entry, managementKey } = keyEntry();
  await producer.send(TOPICS.organizationDirectory, { key: directoryKey(entry), value: JSON.stringify(entry) });
  await eventually(() => directory.key(entry.keyId) !== undefined);
  expect(authenticate(directory, systemClock, `Management ${managementKey}`)).toEqual(entry);
});

test("an admitted read returns its cost, the remaining credits, and the wallet as the API shows it", async () => {
  const key = await keyWith(12);
  const admitted = await admission.admit(read(key, { price: 2 }));
  expect(admitted).toMatchObject({ charged: 2, remaining: 10, records: [] });
  expect(Wallet.parse(walletToWire(admitted.wallet))).toMatchObject({
    organizationId: key.organizationId,
    availableCredits: 10,
    lifetimePurchased: 12,
    lifetimeConsumed: 2,
    lowBalanceThreshold: 10,
    lowBalance: true,
  });
});

test("a rejected request gets the error of the API", async () => {
  const poor = await keyWith(0);
  await expect(admission.admit(read(poor))).rejects.toMatchObject({ status: 402, message: "Insufficient API credits" });
  const without = await keyWith(null);
  await expect(admission.admit(read(without))).rejects.toMatchObject({ status: 402 });
  const balance = read(without, { operation: "getCreditBalance" });
  await expect(admission.admit(balance)).rejects.toMatchObject({ status: 404, code: "WALLET_NOT_FOUND" });

  const limited = await keyWith(10, { rateLimit: { perSecond: 0.25, burst: 1 } });
  await admission.admit(read(limited));
  await expect(admission.admit(read(limited))).rejects.toMatchObject({
    status: 429,
    message: "Rate limit exceeded",
    headers: { "retry-after": "4" },
  });
  const revoked = await keyWith(10);
  await revokeKey(redis, revoked.organizationId, revoked.keyId);
  await expect(admission.admit(read(revoked))).rejects.toMatchObject({ status: 401 });
});

test("the available credits are read from the wallet without an admission; they are 0 without a wallet", async () => {
  const availableCredits = createAvailableCredits(redis, logger);
  const error = new ApiError("INSUFFICIENT_CREDITS");
  const rich = await keyWith(12);
  expect(await availableCredits(rich.organizationId, error)).toBe(12);
  const { organizationId } = await keyWith(null);
  expect(await availableCredits(organizationId, error)).toBe(0);
});

test("available credits are unknown while the shard is unsynced: its wallets may be outdated after a failover", async () => {
  const availableCredits = createAvailableCredits(redis, logger);
  for (const { organizationId } of [await keyWith(12), await keyWith(null)]) {
    const meta = metaKey(shardOf(organizationId));
    const replication = (await redis.commands.hget(meta, "replication")) ?? "";
    await redis.commands.hset(meta, "replication", "that of the former master");
    expect(await availableCredits(organizationId, new ApiError("INSUFFICIENT_CREDITS"))).toBeNull();
    // Organizations of later tests may have the same shard.
    await redis.commands.hset(meta, "replication", replication);
  }
});

test("a request that ended with a 5xx status is refunded once", async () => {
  const key = await keyWith(10);
  const call = read(key, { price: 4 });
  await admission.admit(call);
  const { records: _none, ...failed } = call;
  expect(await admission.refund(failed)).toEqual({ credits: 4, remaining: 10 });
  expect(await admission.refund(failed)).toMatchObject({ credits: 0 });
});

test("a request creates the idempotency record of its command; after the record is completed, an equal request is a duplicate with the same message", async () => {
  const key = await keyWith(100);
  const message = commandMessage({ organizationId: key.organizationId });
  const call = deposit(key, message);
  const admitted = await admission.admit(call);
  expect(admitted).toMatchObject({ charged: 5, remaining: 95, records: [{ kind: "created" }] });
  expect(await admission.recordedMessage(key.organizationId, message.commandId)).toEqual(message);
  const [record] = admitted.records;
  const token = record?.kind === "created" ? record.recordToken : "";
  expect(
    await admission.markCompleted(key.organizationId, { commandIds: [message.commandId], recordToken: token }),
  ).toBe(true);
  const again = await admission.admit(deposit(key, message));
  expect(again).toMatchObject({ charged: 1, remaining: 94, records: [{ kind: "duplicate", message }] });
});

test("only the organization of an idempotency record can read the record's message, also if another organization shares the shard", async () => {
  const key = await keyWith(100);
  const message = commandMessage({ organizationId: key.organizationId });
  await admission.admit(deposit(key, message));
  let other = randomUUID();
  while (shardOf(other) !== shardOf(key.organizationId)) other = randomUUID();
  expect(await admission.recordedMessage(other, message.commandId)).toBeNull();
  expect(await admission.recordedMessage(key.organizationId, message.commandId)).toEqual(message);
});

test("while Redis is down or has lost its data, requests get 500 with Retry-After, until the shard is synced", async () => {
  const key = await keyWith(10);
  await admission.admit(read(key));
  const unavailable = { status: 500, code: "DEPENDENCY_UNAVAILABLE", headers: { "retry-after": "1" } };
  await environment.redis.crash();
  await expect(admission.admit(read(key))).rejects.toMatchObject(unavailable);
  await environment.redis.restart({ wipe: true });
  await eventually(() => redis.check() === null);
  await expect(admission.admit(read(key))).rejects.toMatchObject(unavailable);
  const { organizationId } = key;
  await expect(admission.recordedMessage(organizationId, randomUUID())).rejects.toMatchObject(unavailable);
  const wallet = { id: randomUUID(), organizationId, available: 9, reserved: 0, consumed: 1, purchased: 10 };
  const times = { lowBalanceThreshold: 0, createdAtMs: 1, updatedAtMs: 1 };
  await syncShard(redis, shardOf(organizationId), EPOCH + 1, [{ ...wallet, ...times, reservations: [] }]);
  expect(await admission.admit(read(key))).toMatchObject({ remaining: 8 });
});
