/**
 * A Redis Cluster as one connection. All keys of a call have one hash tag, so the call runs on one
 * node. The keys of a node that is lost are unavailable until its replica has taken over; the other
 * nodes go on.
 */
import { delay } from "@kapi/kernel";
import type { Started } from "@kapi/runtime";
import { Cluster, Command, type Redis } from "ioredis";

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

/** Until every slot has a node that answers. */
const READY_DEADLINE_MS = 10_000;
/**
 * How often the map of slots is read anew by itself; a node that says that a slot has moved makes
 * it be read at once.
 */
const SLOTS_REFRESH_INTERVAL_MS = 5_000;
const SLOTS_REFRESH_TIMEOUT_MS = 2_000;
/** How often one command is sent elsewhere because a node did not take it. */
const MAX_REDIRECTIONS = 5;
const DEFAULT_PORT = 6379;
/**
 * What was certainly not carried out: a node answers so to what is not its own, and ioredis to a
 * request whose calls, since they were put together, have come to belong to several nodes.
 */
const NOT_CARRIED_OUT = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN) |^All keys in the pipeline should belong to the same slots/;
/**
 * Sent by themselves: ioredis then follows their slots by itself. Only calls of functions are many
 * enough to share requests.
 */
const UNSHARED_COMMANDS = ["del", "exists", "hdel", "hget", "hset", "xdel", "xlen", "xrange"];

/** As `createRedis`, for a cluster: through whichever of the nodes given answers first. */
export async function connectCluster(options: RedisOptions): Promise<Started<RedisConnection>> {
  const urls = typeof options.url === "string" ? [options.url] : options.url;
  const url = await firstThatAnswers(urls, options);
  const cluster = createCluster(url, urls, options);
  cluster.on("error", (error: Error) => options.logger.warn({ err: error }, "redis cluster"));
  cluster.on("node error", (error: Error, node: string) =>
    options.logger.warn({ error: error.message, node }, "redis cluster node"),
  );
  try {
    await ready(cluster, url);
    const prepared = await Promise.all(cluster.nodes("master").map((master) => prepare(master, options)));
    if (!prepared.includes(true)) throw unusable(url, "none of its masters answers");
  } catch (error) {
    cluster.disconnect();
    throw error;
  }
  // Not the status alone: it stays "ready" as long as any replica is there.
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
 * A cluster client tells little of why it cannot connect, so each node is tried by itself before.
 */
async function firstThatAnswers(urls: readonly string[], options: RedisOptions): Promise<string> {
  let failure: unknown = new Error("no address of a Redis Cluster is given");
  for (const url of urls) {
    const client = createClient(url, options, null);
    client.on("error", () => undefined);
    try {
      await connect(client, url);
      if (await isClusterNode(client)) return url;
      failure = unusable(url, "it is no node of a cluster, which REDIS_CLUSTER=on asks for");
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
    // A command whose connection was lost may have been carried out: whoever made it decides about
    // another try.
    retryDelayOnFailover: 0,
    // Names stay names: a certificate is for them.
    dnsLookup: (name, callback) => callback(null, name),
    redisOptions: {
      ...clientOptions(options),
      username: decodeURIComponent(username),
      password: decodeURIComponent(password),
      ...(tls === undefined ? {} : { tls }),
    },
  });
}

/** ioredis goes on trying for ever where slots are without a node. */
async function ready(cluster: Cluster, url: string): Promise<void> {
  const cancel = new AbortController();
  const late = delay(READY_DEADLINE_MS, cancel.signal).then(() => {
    throw unusable(url, `its cluster is not ready after ${READY_DEADLINE_MS} ms`);
  });
  late.catch(() => undefined);
  // Not the promise of connect(): it never settles where the first node that is asked is down,
  // although a later try succeeds.
  const isReady = new Promise<void>((resolve) => cluster.once("ready", resolve));
  cluster.connect().catch(() => undefined);
  try {
    await Promise.race([isReady, late]);
  } finally {
    cancel.abort();
  }
}

/**
 * Makes a master ready for calls; false where it does not answer. A master that is down concerns
 * its own keys only: it gets the libraries with the first call that finds them missing.
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
 * Calls share a request by node. Where a node did not carry out some of the calls of a request
 * (their slots have moved, or are about to), ioredis hands that back; such a call is made again by
 * itself, and follows its slot then.
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
  // A master that has joined, or was made anew, may lack the libraries.
  await Promise.allSettled(cluster.nodes("master").map((master) => loadLibraries(master, options)));
  return alone(cluster, call);
}

function alone(cluster: Cluster, call: readonly (string | number)[]): Promise<unknown> {
  const command = new Command("fcall", [...call], { replyEncoding: "utf8" });
  return Promise.resolve(cluster.sendCommand(command));
}

/** A node that does not answer any more keeps nobody from ending. */
async function close(cluster: Cluster): Promise<void> {
  if (cluster.status !== "ready") return cluster.disconnect();
  await cluster.quit().catch(() => cluster.disconnect());
}
