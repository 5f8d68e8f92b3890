/** A Redis Cluster of three masters as one connection. */
import { createLogger } from "@kapi/runtime";
import { eventually, moveSlot, startTestRedisCluster, type TestRedisCluster } from "@kapi/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";

import { startRedis, type RedisConnection, type RedisOptions } from "../src/index.ts";
import { exists, KEYS, TEST_LIBRARY, unreachableOf } from "./test-library.ts";

/** Number of slots of a cluster. The second of the three masters has the middle third. */
const SLOTS = 16_384;

let cluster: TestRedisCluster;
let redis: RedisConnection;
let stop: () => Promise<void>;
beforeAll(async () => {
  cluster = await startTestRedisCluster();
  ({ value: redis, stop } = await startRedis(options()));
});
afterAll(async () => {
  await stop();
  await cluster.stop();
});

function options(changes: Partial<RedisOptions> = {}): RedisOptions {
  return {
    url: cluster.masters.map(({ url }) => url),
    cluster: true,
    clientName: "redis-test",
    functionLibraries: [TEST_LIBRARY],
    logger: createLogger({ service: "redis-test", level: "silent" }),
    ...changes,
  };
}

it("a Redis Cluster is reached through any of its nodes, also over TLS, and only with REDIS_CLUSTER=on", async () => {
  const { masters, replica, authority } = cluster;
  const secure = { url: masters[1]?.secureUrl ?? "", ca: authority.certificate };
  for (const way of [{ url: replica.url }, { url: ["redis://localhost:1", masters[2]?.url ?? ""] }, secure]) {
    const other = await startRedis(options(way));
    expect(await unreachableOf(other.value, KEYS)).toEqual([]);
    await other.stop();
  }
  await expect(startRedis(options({ url: replica.url, cluster: false }))).rejects.toThrow(
    /^Redis at localhost:\d+ cannot be used: it is a node of a cluster: set REDIS_CLUSTER=on$/,
  );
  await expect(startRedis(options({ ...secure, ca: "" }))).rejects.toThrow(/cannot be used: .*certificate/);
});

it("a Redis Cluster is rejected at the start if one of its masters may evict keys", async () => {
  await cluster.masters[2]?.ask("CONFIG SET maxmemory-policy allkeys-lru");
  await expect(startRedis(options())).rejects.toThrow("noeviction");
  await cluster.masters[2]?.ask("CONFIG SET maxmemory-policy noeviction");
});

it("a library that a master has lost is loaded again", async () => {
  await cluster.masters[1]?.ask("FUNCTION FLUSH SYNC");
  expect(await unreachableOf(redis, KEYS)).toEqual([]);
});

it("no call fails while a slot moves to another node", async () => {
  const [, from, to] = cluster.masters;
  if (from === undefined || to === undefined) throw new Error("the cluster has too few masters");
  const slots = await Promise.all(KEYS.map((key) => redis.commands.cluster("KEYSLOT", key)));
  const at = slots.findIndex((slot) => slot > SLOTS / 3 && slot < (2 * SLOTS) / 3);
  const key = KEYS[at] ?? "";
  await redis.commands.set(key, "1");
  let calls = 0;
  const moved = new AbortController();
  const calling = (async () => {
    for (; !moved.signal.aborted; calls += 1) {
      const found = await Promise.all(KEYS.map((each) => exists(redis, each)));
      expect(found.filter(Boolean)).toHaveLength(1);
      expect(await Promise.all(KEYS.map((each) => redis.commands.exists(each)))).toContain(1);
    }
  })();
  calling.catch(() => undefined);
  expect(await moveSlot(slots[at] ?? 0, from, to)).toEqual([key]);
  const seen = calls;
  await Promise.race([calling, eventually(() => calls > seen + 1)]);
  moved.abort();
  await calling;
});
