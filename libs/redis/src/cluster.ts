/**
 * A Redis Cluster as one connection. All keys of a call have one hash tag, so the call runs on one
 * node. The keys of a master that is lost are unavailable until its replica has taken over. The
 * other masters still answer if the cluster has `cluster-require-full-coverage no`.
 */
import { delay } from "@kapi/kernel";
import type { Started } from "@kapi/runtime";
import { Cluster, Command, Redis } from "ioredis";

import type { RedisConnection, RedisOptions } from "./connection.ts";
import {
  assertNothingIsEvicted,
  clientOptions,
  connect,
  createClient,
  isClusterNode,
  isMissingFunction,
  keepPinging,
  loadLibraries,
  reconnectDelay,
  tlsOptions,
  unusable,
} from "./node.ts";

/** Maximum time at the start until ioredis reports that the cluster is ready. */
const READY_DEADLINE_MS = 10_000;
/** Interval of reads of the slot map. A MOVED reply also triggers a read. */
const SLOTS_REFRESH_INTERVAL_MS = 5_000;
const SLOTS_REFRESH_TIMEOUT_MS = 2_000;
/** Maximum number of redirections of one command. */
const MAX_REDIRECTIONS = 5;
const DEFAULT_PORT = 6379;
/**
 * Errors of calls that certainly did not run: replies of a node that does not serve the slot now,
 * and the error of ioredis for a pipeline whose slots meanwhile belong to several nodes.
 */
const NOT_CARRIED_OUT = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN) |^All keys in the pipeline should belong to the same slots/;
/**
 * Commands that are not pipelined, so that ioredis follows redirections. Only function calls are
 * frequent enough to need pipelining.
 */
const UNSHARED_COMMANDS = new Redis({ lazyConnect: true }).getBuiltinCommands().filter((name) => name !== "fcall");

/**
 * Like `startRedis`, for a cluster. User, password and encryption are those of the first address
 * whose node answers and belongs to a cluster.
 */
export async function startClusterConnection(options: RedisOptions): Promise<Started<RedisConnection>> {
  const urls = typeof options.url === "string" ? [options.url] : options.url;
  const url = await firstThatAnswers(urls, options);
  const cluster = createCluster(url, urls, options);
  cluster.on("error", (error: Error) =>
    options.logger.warn({ err: error }, "the client of the Redis Cluster has an error"),
  );
  cluster.on("node error", (error: Error, node: string) =>
    options.logger.warn({ error: error.message, node }, "the connection to a node of the Redis Cluster has an error"),
  );
  try {
    await ready(cluster, url);
    const prepared = await Promise.all(cluster.nodes("master").map((master) => prepare(master, options)));
    if (!prepared.includes(true)) throw unusable(url, "none of its masters answers");
  } catch (error) {
    cluster.disconnect();
    throw error;
  }
  // The status alone is not enough: it stays "ready" while any replica is connected.
  const pings = keepPinging(() => cluster.nodes("master"));
  const value: RedisConnection = {
    commands: cluster,
    masters: () => cluster.nodes("master"),
    call: (name, keys, args) => callFunction(cluster, options, name, keys, args),
    check: () => (cluster.status === "ready" ? pings.check() : `redis cluster is ${cluster.status}`),
  };
  const stop = (): Promise<void> => {
    pings.stop();
    return close(cluster);
  };
  return { value, stop };
}

/**
 * Returns the first of `urls` whose node answers and belongs to a cluster. Uses clients of single
 * nodes, because an error of a cluster client does not say why the connection failed.
 */
async function firstThatAnswers(urls: readonly string[], options: RedisOptions): Promise<string> {
  let failure: unknown = new Error("no address of a Redis Cluster is given");
  for (const url of urls) {
    const client = createClient(url, options, null);
    client.on("error", () => undefined);
    try {
      await connect(client, url);
      if (await isClusterNode(client)) return url;
      failure = unusable(url, "it is not a node of a cluster, but REDIS_CLUSTER=on is set");
    } catch (error) {
      failure = error;
    } finally {
      client.disconnect();
    }
  }
  throw failure;
}

function createCluster(url: string, urls: readonly string[], options: RedisOptions): Cluster {
  const { username, password } = new URL(url);
  const tls = tlsOptions(url, options);
  const nodes = urls.map((one) => {
    const { hostname, port } = new URL(one);
    return { host: hostname, port: port === "" ? DEFAULT_PORT : Number(port) };
  });
  return new Cluster(nodes, {
    lazyConnect: true,
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    autoPipeliningIgnoredCommands: UNSHARED_COMMANDS,
    clusterRetryStrategy: reconnectDelay,
    slotsRefreshInterval: SLOTS_REFRESH_INTERVAL_MS,
    slotsRefreshTimeout: SLOTS_REFRESH_TIMEOUT_MS,
    maxRedirections: MAX_REDIRECTIONS,
    // A command whose connection was lost may have run: its caller decides about a retry.
    retryDelayOnFailover: 0,
    // Do not resolve host names: certificates are issued for them.
    dnsLookup: (name, callback) => callback(null, name),
    redisOptions: {
      ...clientOptions(options),
      username: decodeURIComponent(username),
      password: decodeURIComponent(password),
      ...(tls === undefined ? {} : { tls }),
    },
  });
}

/** Waits until the cluster is ready. ioredis retries forever if slots have no node. */
async function ready(cluster: Cluster, url: string): Promise<void> {
  const cancel = new AbortController();
  const late = delay(READY_DEADLINE_MS, cancel.signal).then(() => {
    throw unusable(url, `its cluster is not ready after ${READY_DEADLINE_MS} ms`);
  });
  late.catch(() => undefined);
  // Not the promise of connect(): it never settles if the first node is down, although a later
  // attempt succeeds.
  const isReady = new Promise<void>((resolve) => cluster.once("ready", resolve));
  cluster.connect().catch(() => undefined);
  try {
    await Promise.race([isReady, late]);
  } finally {
    cancel.abort();
  }
}

/**
 * Checks a master and loads the libraries; false if the master does not answer. In that case only
 * the keys of this master are unavailable. Later, the first call that finds the libraries missing
 * loads them.
 */
async function prepare(master: Redis, options: RedisOptions): Promise<boolean> {
  try {
    await master.ping();
  } catch (error) {
    options.logger.warn(
      { err: error, node: `${master.options.host}:${master.options.port}` },
      "a redis master does not answer",
    );
    return false;
  }
  await assertNothingIsEvicted(master);
  await loadLibraries(master, options);
  return true;
}

/**
 * Calls a function. Simultaneous calls to one node share a pipeline. If a node did not run a call
 * because the slot of its keys has moved or is moving, the call is sent again alone, so that
 * ioredis follows the redirection.
 */
async function callFunction(
  cluster: Cluster,
  options: RedisOptions,
  name: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  const call = [name, keys.length, ...keys, ...args];
  try {
    return await cluster.fcall(name, keys.length, ...keys, ...args);
  } catch (error) {
    if (error instanceof Error && NOT_CARRIED_OUT.test(error.message)) return alone(cluster, call);
    if (!isMissingFunction(error)) throw error;
  }
  // A master that joined, or came back empty, does not have the libraries.
  await Promise.allSettled(cluster.nodes("master").map((master) => loadLibraries(master, options)));
  return alone(cluster, call);
}

function alone(cluster: Cluster, call: readonly (string | number)[]): Promise<unknown> {
  const command = new Command("fcall", [...call], { replyEncoding: "utf8" });
  return Promise.resolve(cluster.sendCommand(command));
}

/** A node that does not answer must not block the stop. */
async function close(cluster: Cluster): Promise<void> {
  if (cluster.status !== "ready") return cluster.disconnect();
  await cluster.quit().catch(() => cluster.disconnect());
}
