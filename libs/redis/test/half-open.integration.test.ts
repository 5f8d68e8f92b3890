/**
 * Connections whose other end becomes silent: nothing is rejected or reset, and no bytes arrive.
 */
import net from "node:net";

import { createLogger } from "@kapi/runtime";
import {
  createTestEnvironment,
  eventually,
  startTestRedisCluster,
  type TestEnvironment,
  type TestRedisCluster,
  type TestRedisNode,
} from "@kapi/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

import { startRedis } from "../src/index.ts";
import { KEYS, TEST_LIBRARY, unreachableOf } from "./test-library.ts";

/** Any key. */
const KEY = "test:0";
const HOST = "127.0.0.1";
/** Maximum time until a client notices a silent connection. */
const NOTICED_WITHIN_MS = 5_000;
/** Maximum time to recover, including a new read of the slot map. */
const BACK_WITHIN_MS = 20_000;
const CLIENT = {
  clientName: "redis-test",
  functionLibraries: [TEST_LIBRARY],
  logger: createLogger({ service: "redis-test", level: "silent" }),
};

/**
 * A TCP proxy whose connections can be frozen. A frozen connection passes no more bytes, not even
 * after `thaw`. `freeze` freezes all open connections, and those that open before `thaw`.
 */
class FreezingProxy {
  readonly port: number;
  readonly #server: net.Server;
  readonly #sockets = new Set<net.Socket>();
  #isFrozen = false;

  private constructor(server: net.Server) {
    this.#server = server;
    this.port = (server.address() as net.AddressInfo).port;
  }

  static async to(port: number): Promise<FreezingProxy> {
    const server = net.createServer();
    await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
    const proxy = new FreezingProxy(server);
    server.on("connection", (near) => proxy.#join(near, port));
    return proxy;
  }

  freeze(): void {
    this.#isFrozen = true;
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  thaw(): void {
    this.#isFrozen = false;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #join(near: net.Socket, port: number): void {
    this.#keep(near);
    if (this.#isFrozen) return void near.pause();
    const far = net.connect({ host: HOST, port });
    this.#keep(far);
    near.pipe(far).pipe(near);
  }

  #keep(socket: net.Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
  }
}

let environment: TestEnvironment;
let cluster: TestRedisCluster;
beforeAll(async () => {
  [environment, cluster] = await Promise.all([createTestEnvironment({ needs: ["redis"] }), startTestRedisCluster()]);
});
afterAll(() => Promise.all([environment.stop(), cluster.stop()]));

test("a frozen connection is noticed by an idle client, reported by check(), and replaced", async () => {
  const url = new URL(environment.redisUrl);
  const proxy = await FreezingProxy.to(Number(url.port));
  url.hostname = HOST;
  url.port = String(proxy.port);
  const { value: redis, stop } = await startRedis({ ...CLIENT, url: url.href });
  expect(await unreachableOf(redis, [KEY])).toEqual([]);

  proxy.freeze();
  const frozenAtMs = performance.now();
  await eventually(() => expect(redis.check()).not.toBeNull(), { timeoutMs: NOTICED_WITHIN_MS });
  expect(performance.now() - frozenAtMs).toBeLessThan(NOTICED_WITHIN_MS);
  expect(await unreachableOf(redis, [KEY])).toEqual([KEY]);
  proxy.thaw();
  await eventually(async () => expect(await unreachableOf(redis, [KEY])).toEqual([]));
  expect(redis.check()).toBeNull();
  await stop();
  proxy.close();
});

/**
 * Starts a proxy in front of `master`. Returns when all nodes report the port of the proxy as the
 * port of the master.
 */
async function proxyOf(master: TestRedisNode): Promise<FreezingProxy> {
  const proxy = await FreezingProxy.to(Number(new URL(master.url).port));
  await master.ask(`CONFIG SET cluster-announce-port ${proxy.port}`);
  // The other nodes adopt the changed port only together with the port for TLS.
  await master.ask(`CONFIG SET cluster-announce-tls-port ${proxy.port}`);
  await eventually(async () => {
    for (const node of [...cluster.masters, cluster.replica])
      expect(await node.ask("CLUSTER SLOTS")).toContain(`:${proxy.port}\r`);
  });
  return proxy;
}

test("a frozen connection to one node of a cluster is replaced, and the other nodes answer meanwhile", async () => {
  const [first, node, third] = cluster.masters;
  if (first === undefined || node === undefined || third === undefined)
    throw new Error("the cluster has too few masters");
  const proxy = await proxyOf(node);
  const urls = [first.url, third.url];
  const { value: redis, stop } = await startRedis({ ...CLIENT, url: urls, cluster: true });
  expect(await unreachableOf(redis, KEYS)).toEqual([]);

  proxy.freeze();
  const unreachable = await unreachableOf(redis, KEYS);
  expect(unreachable.length).toBeGreaterThan(0);
  expect(unreachable.length).toBeLessThan(KEYS.length);
  expect(redis.check()).toBeNull();
  const other = KEYS.find((key) => !unreachable.includes(key)) ?? "";
  expect(await redis.commands.exists(other)).toBe(0);
  proxy.thaw();
  await eventually(async () => expect(await unreachableOf(redis, KEYS)).toEqual([]));
  await stop();
  proxy.close();
});

test("an idle client reports that its connections to all masters of a cluster are frozen, and recovers after the thaw", async () => {
  const proxies = await Promise.all(cluster.masters.map(proxyOf));
  const { value: redis, stop } = await startRedis({ ...CLIENT, url: cluster.replica.url, cluster: true });
  expect(await unreachableOf(redis, KEYS)).toEqual([]);

  for (const proxy of proxies) proxy.freeze();
  const frozenAtMs = performance.now();
  await eventually(() => expect(redis.check()).not.toBeNull(), { timeoutMs: NOTICED_WITHIN_MS });
  expect(performance.now() - frozenAtMs).toBeLessThan(NOTICED_WITHIN_MS);
  expect(await unreachableOf(redis, KEYS)).toHaveLength(KEYS.length);
  for (const proxy of proxies) proxy.thaw();
  // The client recovers without calls: a process that is not ready gets no requests.
  await eventually(() => expect(redis.check()).toBeNull(), { timeoutMs: BACK_WITHIN_MS });
  await eventually(async () => expect(await unreachableOf(redis, KEYS)).toEqual([]));
  await stop();
  for (const proxy of proxies) proxy.close();
});
