/**
 * Runs the tests of the Redis functions in a Redis Cluster of three masters. Further tests move a
 * slot, fail a master over and back, and crash a master.
 */
import { randomUUID } from "node:crypto";

import { createLogger } from "@kapi/runtime";
import { eventually, moveSlot, startTestRedisCluster, type TestRedisCluster, type TestRedisNode } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { startRedis, type RedisConnection } from "@kapi/redis";
import {
  ADMISSION_LIBRARY,
  admit,
  ALL_SHARDS,
  unsyncedShards,
  metaKey,
  syncShard,
  type SyncedWallet,
  type Shard,
  shardOf,
} from "../src/redis/index.ts";
import { EPOCH, syncAll, organizationWith, request, runInCluster } from "./support.ts";

/**
 * Sends a signal to a Redis node. Without `processId`, reads the id from INFO, which a paused node
 * does not answer.
 */
async function signal(node: TestRedisNode, name: "SIGSTOP" | "SIGCONT", processId?: number): Promise<void> {
  const id = processId ?? Number(/process_id:(\d+)/.exec(await node.ask("INFO server"))?.[1]);
  processIds.set(node, id);
  process.kill(id, name);
}

const processIds = new Map<TestRedisNode, number>();
const pause = (node: TestRedisNode): Promise<void> => signal(node, "SIGSTOP");
const resume = (node: TestRedisNode): Promise<void> => signal(node, "SIGCONT", processIds.get(node));

async function runIdOf(node: TestRedisNode): Promise<string | undefined> {
  return /run_id:(\w+)/.exec(await node.ask("INFO server"))?.[1];
}

/** Whether the replica has every write of the master. */
async function replicated(master: TestRedisNode): Promise<boolean> {
  const offset = /master_repl_offset:(\d+)/.exec(await master.ask("INFO replication"))?.[1];
  const replica = await cluster.replica.ask("INFO replication");
  return replica.includes("master_link_status:up") && replica.includes(`slave_repl_offset:${offset}\r`);
}

/** A wallet with `credits` bought credits. */
function walletWith(organizationId: string, credits: number): SyncedWallet {
  return {
    id: randomUUID(),
    organizationId,
    available: credits,
    reserved: 0,
    consumed: 0,
    purchased: credits,
    lowBalanceThreshold: 0,
    createdAtMs: 1_800_000_000_000,
    updatedAtMs: 1_800_000_000_000,
    reservations: [],
  };
}

/** Index of the first slot range in a line of CLUSTER NODES. */
const FIRST_SLOTS_FIELD = 8;
const logger = createLogger({ service: "admission-test", level: "silent" });

let cluster: TestRedisCluster;
beforeAll(async () => {
  cluster = await startTestRedisCluster();
  runInCluster(cluster);
});
afterAll(() => cluster.stop());

/** Syncs unsynced shards for later tests, without wallets and with the first epoch again. */
async function syncEmpty(redis: RedisConnection, shards: readonly Shard[]): Promise<void> {
  await Promise.all(shards.map((shard) => redis.commands.del(metaKey(shard))));
  await Promise.all(shards.map((shard) => syncShard(redis, shard, EPOCH, [])));
}

describe("in a cluster", async () => {
  await import("./admit.integration.test.ts");
});
describe("in a cluster", async () => {
  await import("./records.integration.test.ts");
});
describe("in a cluster", async () => {
  await import("./answers.integration.test.ts");
});
describe("in a cluster", async () => {
  await import("./batches.integration.test.ts");
});
describe("in a cluster", async () => {
  await import("./wallets.integration.test.ts");
});

async function organizationOn(redis: RedisConnection, shards: readonly Shard[]): Promise<string> {
  for (;;) {
    const organizationId = await organizationWith(redis, 100);
    if (shards.includes(shardOf(organizationId))) return organizationId;
  }
}

describe("a cluster", () => {
  let redis: RedisConnection;
  let stop: () => Promise<void>;
  let slots: readonly number[];

  beforeAll(async () => {
    // Earlier tests may have left a shard unsynced under a later epoch.
    for (const master of cluster.masters) await master.ask("FLUSHALL");
    ({ value: redis, stop } = await startRedis({
      url: cluster.masters.map(({ url }) => url),
      cluster: true,
      clientName: "admission-test",
      functionLibraries: [ADMISSION_LIBRARY],
      logger,
    }));
    await syncAll(redis);
    slots = await Promise.all(ALL_SHARDS.map((shard) => redis.commands.cluster("KEYSLOT", metaKey(shard))));
  });
  afterAll(() => stop());

  /** The shards on a node. */
  async function shardsOn(node: TestRedisNode): Promise<Shard[]> {
    const itself = (await node.ask("CLUSTER NODES")).split("\n").find((line) => line.includes("myself")) ?? "";
    const ranges = itself.trim().split(" ").slice(FIRST_SLOTS_FIELD);
    return ALL_SHARDS.filter((shard) =>
      ranges.some((range) => {
        const [from = "", to = from] = range.split("-");
        return Number(from) <= slotOf(shard) && slotOf(shard) <= Number(to);
      }),
    );
  }

  function slotOf(shard: Shard): number {
    return slots[shard] ?? -1;
  }

  it("makes the shard of a slot unsynced after the slot moves to another node", async () => {
    const [, from, to] = cluster.masters;
    if (from === undefined || to === undefined) throw new Error("the cluster has too few masters");
    const [shard = 0] = await shardsOn(from);
    expect(await moveSlot(slotOf(shard), from, to)).toContain(metaKey(shard));
    // The shard is now in another Redis, so its wallets must be set from the ledger.
    expect(await unsyncedShards(redis, ALL_SHARDS)).toEqual([shard]);
    await syncEmpty(redis, [shard]);
  });

  it("makes the shards of a node unsynced if the node was demoted, and was promoted again without the replica's writes", async () => {
    const [master] = cluster.masters;
    if (master === undefined) throw new Error("the cluster has too few masters");
    const shards = await shardsOn(master);
    const organizationId = await organizationOn(redis, shards);
    const shard = shardOf(organizationId);
    const runBefore = await runIdOf(master);
    // A returning replica is synchronized at once.
    for (const node of [master, cluster.replica]) await node.ask("CONFIG SET repl-diskless-sync-delay 0");
    await eventually(async () => expect(await replicated(master)).toBe(true));

    await pause(master);
    await cluster.replica.ask("CLUSTER FAILOVER TAKEOVER");
    await eventually(async () => expect(await unsyncedShards(redis, shards)).toEqual(shards));
    await syncShard(redis, shard, EPOCH + 1, [walletWith(organizationId, 50)]);
    expect(await admit(redis, request(organizationId))).toMatchObject({ wallet: { available: 49 } });
    // The promoted replica is paused before the old master can copy the replica's writes.
    await pause(cluster.replica);
    await resume(master);
    await eventually(async () => expect(await master.ask("INFO replication")).toContain("role:slave"));
    await master.ask("CLUSTER FAILOVER TAKEOVER");
    await eventually(async () => expect(await unsyncedShards(redis, shards)).toEqual(shards));

    expect(await runIdOf(master)).toBe(runBefore);
    expect(await admit(redis, request(organizationId))).toEqual({ kind: "unsynced" });
    await syncShard(redis, shard, EPOCH + 2, [walletWith(organizationId, 49)]);
    expect(await admit(redis, request(organizationId))).toMatchObject({ wallet: { available: 48 } });
    await resume(cluster.replica);
    await eventually(async () => expect(await replicated(master)).toBe(true));
    await syncEmpty(redis, shards);
  });

  it("keeps the shards of other nodes ready after a node crashed; the crashed node's shards are unsynced on the promoted replica", async () => {
    const [lost, ...others] = cluster.masters;
    const lostShards = lost === undefined ? [] : await shardsOn(lost);
    const otherShards = (await Promise.all(others.map(shardsOn))).flat();
    const organizationId = await organizationOn(redis, otherShards);
    await cluster.replica.ask("FUNCTION LIST");
    await lost?.crash();
    expect(await admit(redis, request(organizationId))).toMatchObject({ kind: "admitted" });
    await eventually(async () => expect(await unsyncedShards(redis, ALL_SHARDS)).toEqual(lostShards));
    // Simulates a promoted replica without the library: the next call loads the library.
    await cluster.replica.ask("FUNCTION FLUSH SYNC");
    await syncEmpty(redis, lostShards);
    expect(await unsyncedShards(redis, ALL_SHARDS)).toEqual([]);
    const there = await organizationOn(redis, lostShards);
    expect(await admit(redis, request(there, { chargeId: randomUUID() }))).toMatchObject({ kind: "admitted" });
    expect(await cluster.replica.ask("FUNCTION LIST")).toContain("kapi_admit");
  });
});
