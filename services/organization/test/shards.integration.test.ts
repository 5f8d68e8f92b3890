/**
 * A Redis Cluster that lost a master. Without a replica, organizations of other nodes are not
 * affected. With a replica, a charge is refunded once.
 */
import { randomUUID } from "node:crypto";

import { createLogger } from "@kapi/runtime";
import {
  ADMISSION_LIBRARY,
  admit,
  ALL_SHARDS,
  recordKey,
  forget,
  metaKey,
  refund,
  type Shard,
  shardOf,
  shardStates,
} from "@kapi/admission/redis";
import { startRedis, type RedisConnection } from "@kapi/redis";
import { eventually, startTestRedisCluster, type TestRedisCluster } from "@kapi/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

import { applyPending } from "../src/operations/credits/apply-pending.ts";
import { syncShards } from "../src/operations/credits/sync-shards.ts";
import { purchaseCredits } from "../src/operations/credits/purchase-credits.ts";
import { recordUsage } from "../src/operations/credits/record-usage.ts";
import {
  finish,
  ledgerSums,
  organizationWith,
  read,
  redisSums,
  requestOf,
  reserve,
  startLedger,
  type LedgerHarness,
} from "./support.ts";

const SLOTS = 16_384;
const logger = createLogger({ service: "organization-test", level: "silent" });

let cluster: TestRedisCluster;
let harness: LedgerHarness;
let redis: RedisConnection;
let stop: () => Promise<void>;
/** Shards of the master without a replica that the first test crashes. */
let lostShards: readonly Shard[];
/** Shards of the master that has a replica. */
let replicatedShards: readonly Shard[];

beforeAll(async () => {
  [cluster, harness] = await Promise.all([startTestRedisCluster(), startLedger()]);
  const url = cluster.masters.map((master) => master.url);
  ({ value: redis, stop } = await startRedis({
    url,
    cluster: true,
    clientName: "organization-test",
    functionLibraries: [ADMISSION_LIBRARY],
    logger,
  }));
  harness = { ...harness, context: { ...harness.context, redis } };
  const slots = await Promise.all(ALL_SHARDS.map((shard) => redis.commands.cluster("KEYSLOT", metaKey(shard))));
  replicatedShards = ALL_SHARDS.filter((shard) => (slots[shard] ?? SLOTS) < Math.floor(SLOTS / 3));
  lostShards = ALL_SHARDS.filter((shard) => (slots[shard] ?? 0) >= Math.floor((2 * SLOTS) / 3));
});
afterAll(async () => {
  await stop();
  await Promise.all([cluster.stop(), harness.stop()]);
});

async function organizationIn(isLost: boolean): Promise<string> {
  return organizationOf((shard) => lostShards.includes(shard) === isLost);
}

async function organizationOf(isWanted: (shard: Shard) => boolean): Promise<string> {
  for (;;) {
    const organizationId = await organizationWith(harness, 100);
    if (isWanted(shardOf(organizationId))) return organizationId;
  }
}

test("while a node is lost, usage, settlements, purchases, syncs and deletions of stored command messages continue on the other nodes", async () => {
  const { context } = harness;
  await syncShards(context, ALL_SHARDS);
  const [lost, other] = [await organizationIn(true), await organizationIn(false)];
  const [lostCommand, otherCommand] = [await reserve(context, lost, 5), await reserve(context, other, 5)];
  await read(context, lost, 3);
  await recordUsage(context, ALL_SHARDS);

  await cluster.masters[2]?.crash();
  await eventually(async () => expect((await shardStates(redis, ALL_SHARDS)).unreachable).toEqual(lostShards));

  expect(await read(context, other, 3)).toMatchObject({ kind: "admitted", charged: 3 });
  expect((await recordUsage(context, ALL_SHARDS)).moved).toBeGreaterThan(0);
  await finish(context, other, otherCommand, 5);
  // More changes wait for the lost node than one batch holds.
  for (let at = 0; at < 3; at += 1)
    await purchaseCredits(context, { organizationId: lost, credits: 10, purchaseId: randomUUID() });
  const waiting = Array.from({ length: 600 }, (_, at) => ({
    chargeId: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`,
    organizationId: lost,
    kind: "release" as const,
    credits: 1,
    epoch: Number.MAX_SAFE_INTEGER,
  }));
  await context.store.insertPending(waiting);
  const bought = { organizationId: other, credits: 25, purchaseId: randomUUID() };
  const epoch = await context.store.readForSync(shardOf(other), (raised) => Promise.resolve(raised));
  await context.store.insertPending([
    { chargeId: randomUUID(), organizationId: other, kind: "release", credits: 0, epoch },
  ]);
  await purchaseCredits(context, bought);
  await finish(context, lost, lostCommand, 5);
  expect(await applyPending(context)).toBe(1);
  const sums = { purchased: 125, consumed: 8, available: 117, reserved: 0 };
  expect((await ledgerSums(harness, other)).kept).toEqual(sums);
  expect(await redisSums(context, other)).toEqual(sums);
  expect((await ledgerSums(harness, lost)).kept).toMatchObject({ purchased: 130, consumed: 8, reserved: 0 });

  // The shard of `other` loses its data. It is synced, although the node of `lost` is unavailable.
  await redis.commands.del(metaKey(shardOf(other)));
  const syncResult = await syncShards(context, ALL_SHARDS);
  expect(syncResult).toMatchObject({ synced: [shardOf(other)], unsynced: [] });
  expect([...syncResult.unreachable].sort((a, b) => a - b)).toEqual(lostShards);
  expect(await redisSums(context, other)).toEqual(sums);

  const commands = [lost, other].map((organizationId) => ({ organizationId, commandId: randomUUID() }));
  await redis.commands.hset(
    recordKey(shardOf(other), commands[1]?.commandId ?? ""),
    "message",
    "{}",
    "fingerprint",
    "print",
  );
  expect((await forget(redis, commands)).unreachable).toEqual([shardOf(lost)]);
  expect(await redis.commands.hget(recordKey(shardOf(other), commands[1]?.commandId ?? ""), "message")).toBeNull();
});

test("a new connection to the cluster starts while a node is lost; an earlier connection reaches the shards of the other nodes", async () => {
  const url = cluster.masters.map((master) => master.url);
  const other = await startRedis({
    url,
    cluster: true,
    clientName: "organization-test",
    functionLibraries: [ADMISSION_LIBRARY],
    logger,
  });
  expect((await shardStates(other.value, ALL_SHARDS)).unreachable).toHaveLength(lostShards.length);
  await other.stop();
  const organizationId = await organizationIn(false);
  const request = {
    callerName: "aaaaaaaaaaaaaaaa",
    organizationId,
    chargeId: randomUUID(),
    mode: "consume" as const,
    price: 1,
    readPrice: 1,
    operation: "getCommand",
    requestId: "request",
    rateLimit: null,
    records: [],
  };
  expect(await admit(redis, request)).toMatchObject({ kind: "admitted" });
});

test("a charge is refunded once after its master is lost, also if the ledger read usage that the replica does not have", async () => {
  const { context } = harness;
  const [master] = cluster.masters;
  const organizationId = await organizationOf((shard) => replicatedShards.includes(shard));
  const shard = shardOf(organizationId);
  const charge = async () => {
    const call = { ...requestOf(organizationId, randomUUID()), price: 3 };
    expect(await admit(redis, call)).toMatchObject({ kind: "admitted", charged: 3 });
    await recordUsage(context, ALL_SHARDS);
    return () =>
      refund(redis, { organizationId, chargeId: call.chargeId, operation: "getCommand", requestId: "request" });
  };
  const giveBack = await charge();
  const offset = async (): Promise<string | undefined> =>
    /master_repl_offset:(\d+)/.exec((await master?.ask("INFO replication")) ?? "")?.[1];
  await eventually(async () =>
    expect(await cluster.replica.ask("INFO replication")).toContain(`slave_repl_offset:${await offset()}\r`),
  );
  // From here on, the replica receives nothing.
  await master?.ask("ACL SETUSER default -psync -sync");
  await cluster.replica.ask("CLIENT KILL TYPE master");
  await eventually(async () =>
    expect(await cluster.replica.ask("INFO replication")).toContain("master_link_status:down"),
  );
  const giveBackLater = await charge();
  expect(await giveBack()).toMatchObject({ credits: 3 });
  await recordUsage(context, ALL_SHARDS);
  expect((await ledgerSums(harness, organizationId)).kept).toMatchObject({ available: 97, consumed: 3 });

  await master?.crash();
  await cluster.replica.ask("CLUSTER FAILOVER TAKEOVER");
  await eventually(async () => expect((await syncShards(context, [shard])).synced).toEqual([shard]));
  for (const again of [giveBack, giveBackLater, giveBack, giveBackLater]) await again();
  await recordUsage(context, ALL_SHARDS);
  await applyPending(context);
  await syncShards(context, [shard]);
  await applyPending(context);
  const sums = { purchased: 100, consumed: 0, available: 100, reserved: 0 };
  expect((await ledgerSums(harness, organizationId)).kept).toEqual(sums);
  expect(await redisSums(context, organizationId)).toEqual(sums);
});
