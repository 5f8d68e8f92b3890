/**
 * A Redis Cluster of three masters, each with a third of the slots and a replica. Every node
 * announces the address of its proxy. Clients and replicas connect through the proxies. The cluster
 * bus is direct, so a fault of a proxy causes no failover. A node that is silent on the bus for 3 s
 * counts as failed. If the node is a master, its replica takes over.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";

import { LocalError } from "../local-error.ts";
import { freePort, keptOrFreePort } from "../machine/ports.ts";
import type { NativeServer } from "../native.ts";
import { askRedis, startRedisProcess } from "../redis.ts";
import type { ServerContext } from "../server.ts";
import { type ClusterNode, endNodes, NodeProcess } from "./node.ts";
import { type NodeProxy, Proxies } from "./proxies.ts";
import { waitUntil } from "./wait.ts";

const MASTERS = 3;
const SLOTS = 16_384;
const HOST = "127.0.0.1";
const NODE_TIMEOUT_MS = 3_000;
const SETTLED_DEADLINE_MS = 60_000;

/** One Redis node. */
export interface RedisNode extends ClusterNode {
  /** Node id in the cluster; `replace` changes it. */
  readonly id: string;
  /** Whether the node reports that it is a master. */
  isMaster(): Promise<boolean>;
  /**
   * Sends a command, such as "CLUSTER INFO", and QUIT directly to the node. Returns both replies as
   * raw text.
   */
  ask(command: string): Promise<string>;
  /**
   * Makes this replica the master (failback). If its current master runs, the master hands over
   * without loss; otherwise the takeover is forced (CLUSTER FAILOVER FORCE).
   */
  takeOver(): Promise<void>;
  /**
   * Kills the node, deletes its data, and starts an empty node with a new id at the same address.
   * If the old node was a replica, the new node gets the same master. If the old node was a master,
   * its replica becomes the master of the new node. All other nodes must run.
   */
  replace(): Promise<void>;
}

/** Three running masters and three replicas, whose network and processes a test can make fail. */
export interface RedisCluster {
  /** URLs of all proxies, separated by commas, in the format of REDIS_URL with REDIS_CLUSTER=on. */
  readonly url: string;
  readonly nodes: readonly RedisNode[];
  /** The current master of the slot, as one of the running nodes reports it. */
  masterOf(slot: number): Promise<RedisNode>;
  /** Waits until every slot is served and each master has a replica in sync. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the nodes, and returns when every slot is served and replicated. */
export async function startRedisCluster(context: ServerContext): Promise<RedisCluster> {
  const proxies = new Proxies();
  const nodes: Node[] = [];
  for (let at = 1; at <= MASTERS * 2; at += 1) nodes.push(await createNode({ context, proxies, nodes }, `redis-${at}`));
  const cluster: RedisCluster = {
    url: nodes.map(({ proxy }) => `redis://${proxy.address}`).join(","),
    nodes,
    masterOf: (slot) => masterOf(nodes, slot),
    settled: () => settled(nodes),
    stop: async () => {
      await endNodes(context, nodes);
      proxies.stop();
    },
  };
  try {
    await Promise.all(nodes.map((node) => node.start()));
    await unite(nodes);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

interface Shared {
  readonly context: ServerContext;
  readonly proxies: Proxies;
  readonly nodes: readonly Node[];
}

interface NodeConfig {
  readonly name: string;
  readonly port: number;
  readonly busPort: number;
  readonly proxy: NodeProxy;
}

async function createNode({ context, proxies, nodes }: Shared, name: string): Promise<Node> {
  const kept = keptAddress(context, name);
  const [port, busPort] = [await freePort(), await keptOrFreePort(kept?.busPort, name)];
  const proxy = await proxies.open({ host: HOST, port }, await keptOrFreePort(kept?.proxyPort, name));
  return new Node(context, { name, port, busPort, proxy }, nodes);
}

/** The ports by which the other nodes know a node; null at the first start. */
function keptAddress(context: ServerContext, name: string): { proxyPort: number; busPort: number } | null {
  const file = path.join(context.stateDir, name, "nodes.conf");
  if (!existsSync(file)) return null;
  const found = /:(\d+)@(\d+)\S* myself/.exec(readFileSync(file, "utf8"));
  return found === null ? null : { proxyPort: Number(found[1]), busPort: Number(found[2]) };
}

class Node extends NodeProcess implements RedisNode {
  readonly #context: ServerContext;
  readonly #config: NodeConfig;
  readonly #nodes: readonly Node[];
  #id = "";

  constructor(context: ServerContext, config: NodeConfig, nodes: readonly Node[]) {
    super(config.name, config.proxy, () => launch(context, config));
    this.#context = context;
    this.#config = config;
    this.#nodes = nodes;
  }

  get id(): string {
    return this.#id;
  }

  override async start(): Promise<void> {
    await super.start();
    this.#id = lineOf(await this.ask("CLUSTER MYID"));
  }

  ask(command: string): Promise<string> {
    return askRedis(`redis://${HOST}:${this.#config.port}`, command);
  }

  async isMaster(): Promise<boolean> {
    return (await this.ask("INFO replication")).includes("role:master");
  }

  async takeOver(): Promise<void> {
    const master = await this.#masterOfThis();
    const force = master?.state === "running" ? "" : " FORCE";
    const reply = await this.ask(`CLUSTER FAILOVER${force}`);
    if (!reply.startsWith("+OK")) throw new LocalError(`${this.name} cannot take over: ${lineOf(reply)}`);
    await waitUntil(`${this.name} is a master`, SETTLED_DEADLINE_MS, () => this.isMaster());
  }

  async replace(): Promise<void> {
    const former = this.#id;
    const others = this.#nodes.filter((node) => node !== this);
    const down = others.filter((node) => node.state !== "running").map(({ name }) => name);
    if (down.length > 0) throw new LocalError(`${this.name} cannot be replaced while ${down.join(", ")} does not run.`);
    await this.kill();
    const master = await this.#successor(others, former);
    rmSync(path.join(this.#context.stateDir, this.name), { recursive: true, force: true });
    for (const node of others) await node.ask(`CLUSTER FORGET ${former}`);
    await this.start();
    await this.#join(master, others);
    await settled(this.#nodes);
  }

  /** Connects this node to `other`. Redis' gossip then connects it to all other nodes. */
  async meet(other: Node): Promise<void> {
    await this.ask(`CLUSTER MEET ${HOST} ${other.#config.proxy.port} ${other.#config.busPort}`);
  }

  async #join(master: Node, others: readonly Node[]): Promise<void> {
    await master.meet(this);
    await waitUntil(`${this.name} has joined`, SETTLED_DEADLINE_MS, async () => {
      const seen = await Promise.all(others.map((node) => node.ask("CLUSTER NODES")));
      return seen.every((lines) => lines.includes(this.id)) && (await this.ask("CLUSTER NODES")).includes(master.id);
    });
    await follow(this, master);
  }

  /**
   * If node `id` was a master: its replica, after that replica has become the master. If node `id`
   * was a replica: its master.
   */
  async #successor(others: readonly Node[], id: string): Promise<Node> {
    const [witness] = others;
    const rows = rowsOf((await witness?.ask("CLUSTER NODES")) ?? "");
    const own = rows.find((row) => row.id === id);
    const wasMaster = own?.flags.includes("master") ?? false;
    const partner = wasMaster
      ? others.find((node) => rows.some((row) => row.id === node.id && row.masterId === id))
      : others.find((node) => node.id === own?.masterId);
    if (partner === undefined) throw new LocalError(`${this.name} has no partner that could take its slots.`);
    await waitUntil(`${partner.name} is a master`, SETTLED_DEADLINE_MS, () => partner.isMaster());
    return partner;
  }

  async #masterOfThis(): Promise<Node | undefined> {
    const own = rowsOf(await this.ask("CLUSTER NODES")).find((row) => row.flags.includes("myself"));
    return this.#nodes.find((node) => node.id === own?.masterId);
  }
}

function launch(context: ServerContext, { name, port, busPort, proxy }: NodeConfig): Promise<NativeServer> {
  const cluster = {
    "cluster-enabled": "yes",
    "cluster-port": String(busPort),
    "cluster-announce-ip": HOST,
    "cluster-announce-port": String(proxy.port),
    "cluster-announce-bus-port": String(busPort),
    "cluster-node-timeout": String(NODE_TIMEOUT_MS),
    // If some slots have no node, the remaining slots are still served.
    "cluster-require-full-coverage": "no",
    "cluster-allow-replica-migration": "no",
    "repl-diskless-sync-delay": "0",
  };
  const settings = Object.entries(cluster).flatMap(([setting, value]) => [`--${setting}`, value]);
  return startRedisProcess(context, { name, port, settings });
}

/**
 * Makes a cluster of the nodes. At a later start the nodes have a cluster already: then only its
 * roles may differ, and the commands that would repeat a step fail without effect.
 */
async function unite(nodes: readonly Node[]): Promise<void> {
  const masters = nodes.slice(0, MASTERS);
  for (const [at, master] of masters.entries()) {
    const [first, next] = [at, at + 1].map((part) => Math.floor((part * SLOTS) / MASTERS));
    await master.ask(`CLUSTER ADDSLOTSRANGE ${first} ${(next ?? 0) - 1}`);
  }
  for (const [at, node] of nodes.entries()) await node.ask(`CLUSTER SET-CONFIG-EPOCH ${at + 1}`);
  const [first, ...others] = nodes;
  for (const node of others) await first?.meet(node);
  await waitUntil("Redis's nodes know each other", SETTLED_DEADLINE_MS, async () => {
    const seen = await Promise.all(nodes.map((node) => node.ask("CLUSTER INFO")));
    return seen.every((info) => info.includes(`cluster_known_nodes:${nodes.length}\r`));
  });
  await Promise.all(masters.map((master, at) => pair(master, nodes[at + MASTERS] ?? master)));
  await settled(nodes);
}

/** Makes the second node the replica of the first, unless one of them is a replica already. */
async function pair(master: Node, replica: Node): Promise<void> {
  if ((await master.isMaster()) && (await replica.isMaster())) await follow(replica, master);
}

async function follow(replica: Node, master: Node): Promise<void> {
  await waitUntil(`${replica.name} follows ${master.name}`, SETTLED_DEADLINE_MS, async () => {
    const reply = await replica.ask(`CLUSTER REPLICATE ${master.id}`);
    if (!reply.startsWith("+OK")) throw new LocalError(lineOf(reply));
    return true;
  });
}

async function settled(nodes: readonly Node[]): Promise<void> {
  await waitUntil("Redis's replicas are in sync", SETTLED_DEADLINE_MS, async () => {
    const states = await Promise.all(nodes.map(stateOf));
    const masters = states.filter(({ replication }) => replication.includes("role:master"));
    return (
      masters.length === MASTERS &&
      masters.every(({ replication }) => /slave0:.*state=online/.test(replication)) &&
      states.every(({ cluster }) => cluster.includes(`cluster_slots_ok:${SLOTS}`)) &&
      states.every(({ replication }) => /role:master|master_link_status:up/.test(replication)) &&
      new Set(states.map(({ roles }) => roles)).size === 1
    );
  });
}

/**
 * The state of the cluster as one node sees it. `roles` is equal for all nodes that agree on the
 * masters and their replicas.
 */
async function stateOf(node: Node): Promise<{ cluster: string; replication: string; roles: string }> {
  const [cluster, replication, lines] = await Promise.all([
    node.ask("CLUSTER INFO"),
    node.ask("INFO replication"),
    node.ask("CLUSTER NODES"),
  ]);
  const roles = rowsOf(lines).map(({ id, masterId }) => `${id} ${masterId}`);
  return { cluster, replication, roles: roles.toSorted().join(",") };
}

async function masterOf(nodes: readonly Node[], slot: number): Promise<Node> {
  let last: unknown = new LocalError(`no running node of the Redis Cluster knows the master of slot ${slot}`);
  for (const witness of nodes.filter((node) => node.state === "running")) {
    try {
      const owner = rowsOf(await witness.ask("CLUSTER NODES")).find((row) =>
        row.slots.some((range) => holds(range, slot)),
      );
      const node = nodes.find(({ id }) => id === owner?.id);
      if (node !== undefined) return node;
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

function holds(range: string, slot: number): boolean {
  const [first, last = first] = range.split("-").map(Number);
  return first !== undefined && last !== undefined && first <= slot && slot <= last;
}

interface Row {
  readonly id: string;
  readonly flags: readonly string[];
  readonly masterId: string;
  readonly slots: readonly string[];
}

/** The lines of CLUSTER NODES. */
function rowsOf(reply: string): Row[] {
  return reply
    .split(/\r?\n/)
    .map((line) => line.split(" "))
    .filter((fields) => fields.length >= 8)
    .map(([id = "", , flags = "", masterId = "", , , , , ...slots]) => ({
      id,
      flags: flags.split(","),
      masterId,
      slots,
    }));
}

/** The text of a reply: of a simple string or an error, or the first line of a bulk string. */
function lineOf(reply: string): string {
  const [first = "", second = ""] = reply.split("\r\n");
  return first.startsWith("$") ? second : first.slice(1);
}
