/** The same guarantees in a Redis Cluster of three masters, and what holds when a node of it is lost or slots move. */
import { randomUUID } from "node:crypto";

import { createLogger } from "@kapi/runtime";
import { eventually, startTestRedisCluster, type TestRedisCluster, type TestRedisNode } from "@kapi/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import {
  admit,
  ALL_TAGS,
  closedTags,
  createRedis,
  metaKey,
  openTag,
  type RedisConnection,
  type RedisOptions,
  type Tag,
  tagOf,
  usageBacklog,
} from "../src/index.ts";
import { EPOCH, openAll, organizationWith, request, runInCluster } from "./support.ts";

/** Of a line of CLUSTER NODES. */
const FIRST_SLOTS_FIELD = 8;
const logger = createLogger({ service: "redis-test", level: "silent" });

let cluster: TestRedisCluster;
beforeAll(async () => {
  cluster = await startTestRedisCluster();
  runInCluster(cluster);
});
afterAll(() => cluster.stop());

describe("in a cluster", async () => {
  await import("./admit.integration.test.ts");
});
describe("in a cluster", async () => {
  await import("./claims.integration.test.ts");
});
describe("in a cluster", async () => {
  await import("./console.integration.test.ts");
});
describe("in a cluster", async () => {
  await import("./together.integration.test.ts");
});
describe("in a cluster", async () => {
  await import("./wallets.integration.test.ts");
});

async function organizationOn(redis: RedisConnection, tags: readonly Tag[]): Promise<string> {
  for (;;) {
    const organizationId = await organizationWith(redis, 100);
    if (tags.includes(tagOf(organizationId))) return organizationId;
  }
}

describe("a cluster", () => {
  let redis: RedisConnection;
  let stop: () => Promise<void>;
  let slots: readonly number[];
  const options = (changes: Partial<RedisOptions> = {}): RedisOptions => ({
    url: cluster.masters.map(({ url }) => url),
    cluster: true,
    clientName: "redis-test",
    logger,
    ...changes,
  });

  beforeAll(async () => {
    ({ value: redis, stop } = await createRedis(options()));
    await openAll(redis);
    slots = await Promise.all(ALL_TAGS.map((tag) => redis.commands.cluster("KEYSLOT", metaKey(tag))));
  });
  afterAll(() => stop());

  /** The tags that lie on a node. */
  async function tagsOf(node: TestRedisNode): Promise<Tag[]> {
    const itself = (await node.ask("CLUSTER NODES")).split("\n").find((line) => line.includes("myself")) ?? "";
    const ranges = itself.trim().split(" ").slice(FIRST_SLOTS_FIELD);
    return ALL_TAGS.filter((tag) =>
      ranges.some((range) => {
        const [from = "", to = from] = range.split("-");
        return Number(from) <= slotOf(tag) && slotOf(tag) <= Number(to);
      }),
    );
  }

  function slotOf(tag: Tag): number {
    return slots[tag] ?? -1;
  }

  it("is found through any of its nodes, over TLS too, and must be named as one", async () => {
    const { masters, replica, authority } = cluster;
    const secure = { url: masters[1]?.secureUrl ?? "", ca: authority.certificate };
    for (const way of [{ url: replica.url }, { url: ["redis://localhost:1", masters[2]?.url ?? ""] }, secure]) {
      const other = await createRedis(options(way));
      expect(await closedTags(other.value, ALL_TAGS)).toEqual([]);
      await other.stop();
    }
    await expect(createRedis(options({ url: replica.url, cluster: false }))).rejects.toThrow(
      /^Redis at localhost:\d+ cannot be used: it is a node of a cluster, which REDIS_CLUSTER=on tells$/,
    );
    await expect(createRedis(options({ ...secure, ca: "" }))).rejects.toThrow(/cannot be used: .*certificate/);
  });

  it("is refused where any of its masters may throw keys away", async () => {
    await cluster.masters[2]?.ask("CONFIG SET maxmemory-policy allkeys-lru");
    await expect(createRedis(options())).rejects.toThrow("noeviction");
    await cluster.masters[2]?.ask("CONFIG SET maxmemory-policy noeviction");
  });

  it("moves slots to another node while calls go on, of which none is lost", async () => {
    const [from, to] = [cluster.masters[1], cluster.masters[2]];
    const [tag = 0] = from === undefined ? [] : await tagsOf(from);
    const slot = slotOf(tag);
    let calls = 0;
    const moved = new AbortController();
    const calling = (async () => {
      for (; !moved.signal.aborted; calls += 1)
        await Promise.all([closedTags(redis, ALL_TAGS), usageBacklog(redis, ALL_TAGS)]);
    })();
    calling.catch(() => undefined);
    await to?.ask(`CLUSTER SETSLOT ${slot} IMPORTING ${from?.id}`);
    await from?.ask(`CLUSTER SETSLOT ${slot} MIGRATING ${to?.id}`);
    const keys = (await from?.ask(`CLUSTER GETKEYSINSLOT ${slot} 1000`))?.match(/\{b\d\d\}:\S+/g) ?? [];
    for (const key of keys) {
      await from?.ask(`MIGRATE 127.0.0.1 ${new URL(to?.secureUrl ?? "").port} ${key} 0 1000`);
    }
    for (const node of [to, from]) await node?.ask(`CLUSTER SETSLOT ${slot} NODE ${to?.id}`);
    const seen = calls;
    await Promise.race([calling, eventually(() => calls > seen + 1)]);
    moved.abort();
    await calling;
    expect(keys).toContain(metaKey(tag));
    // It lies in another Redis now: what its wallets are there, the ledger says.
    expect(await closedTags(redis, ALL_TAGS)).toEqual([tag]);
    await openTag(redis, tag, EPOCH, []);
  });

  it("loses a node: its tags are closed once the replica has taken over, and all others go on meanwhile", async () => {
    const [lost, ...others] = cluster.masters;
    const lostTags = lost === undefined ? [] : await tagsOf(lost);
    const otherTags = (await Promise.all(others.map(tagsOf))).flat();
    const organizationId = await organizationOn(redis, otherTags);
    await cluster.replica.ask("FUNCTION LIST");
    await lost?.crash();
    expect(await admit(redis, request(organizationId))).toMatchObject({ kind: "admitted" });
    await eventually(async () => expect(await closedTags(redis, ALL_TAGS)).toEqual(lostTags));
    // A master that has joined anew may have lost its libraries, too.
    await cluster.replica.ask("FUNCTION FLUSH SYNC");
    await Promise.all(lostTags.map((tag) => openTag(redis, tag, EPOCH, [])));
    expect(await closedTags(redis, ALL_TAGS)).toEqual([]);
    const there = await organizationOn(redis, lostTags);
    expect(await admit(redis, request(there, { chargeId: randomUUID() }))).toMatchObject({ kind: "admitted" });
    expect(await cluster.replica.ask("FUNCTION LIST")).toContain("kapi_admit");
  });
});
