/**
 * Three Kafka brokers on one machine; each is also a controller. A broker advertises the address of
 * its proxy, so clients connect through the proxy. Brokers and controllers connect to each other
 * directly, so a fault of a proxy affects only clients. Timeouts among brokers are Kafka's
 * defaults: a broker that is silent for 9 s is fenced, a replica that lags for 30 s leaves the
 * in-sync replicas.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";

import { type Admin, Kafka, logLevel } from "kafkajs";

import { formatOnce, type KafkaPrograms, kafkaPrograms, SETTINGS, startBroker, writeProperties } from "../kafka.ts";
import { LocalError } from "../local-error.ts";
import { keptOrFreePort } from "../machine/ports.ts";
import type { ServerContext } from "../server.ts";
import { type ClusterNode, endNodes, NodeProcess } from "./node.ts";
import { type NodeProxy, Proxies } from "./proxies.ts";
import { addVoter, removeVoter, type Voter } from "./raft-voters.ts";
import { waitUntil } from "./wait.ts";

const NODES = 3;
const HOST = "127.0.0.1";
const SETTINGS_FILE = "server.properties";
const HEAP = ["-Xms128m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
const REPLICATION = String(NODES);
const MIN_INSYNC = "2";
const CONTROLLER = "CONTROLLER";
const REQUEST_TIMEOUT_MS = 10_000;
const JOIN_DEADLINE_MS = 60_000;
const SYNC_DEADLINE_MS = 120_000;

const CLUSTER_SETTINGS: Readonly<Record<string, string>> = {
  ...SETTINGS,
  "process.roles": "broker,controller",
  "controller.listener.names": CONTROLLER,
  "listener.security.protocol.map": `${CONTROLLER}:PLAINTEXT,CLIENT:PLAINTEXT,BROKER:PLAINTEXT`,
  "inter.broker.listener.name": "BROKER",
  "default.replication.factor": REPLICATION,
  "min.insync.replicas": MIN_INSYNC,
  "offsets.topic.num.partitions": "3",
  "offsets.topic.replication.factor": REPLICATION,
  "transaction.state.log.replication.factor": REPLICATION,
  "transaction.state.log.min.isr": MIN_INSYNC,
  "share.coordinator.state.topic.replication.factor": REPLICATION,
  "share.coordinator.state.topic.min.isr": MIN_INSYNC,
};

/** One broker. */
export interface KafkaNode extends ClusterNode {
  /** Broker id; `replace` changes it. */
  readonly id: number;
  /**
   * Kills the broker, deletes its data, and starts a broker with a new id at the same address.
   * Returns when the new broker has replaced the old one in every partition and all replicas are in
   * sync. The other two brokers must run.
   */
  replace(): Promise<void>;
}

/** Three running brokers, whose network and processes a test can make fail. */
export interface KafkaCluster {
  /** host:port of each broker's proxy, in the format of KAFKA_BROKERS. */
  readonly brokers: string;
  readonly nodes: readonly KafkaNode[];
  /** Waits until every broker has joined and every partition has all its replicas in sync. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the brokers, and returns when all three have joined. */
export async function startKafkaCluster(context: ServerContext): Promise<KafkaCluster> {
  const programs = await kafkaPrograms(context);
  const proxies = new Proxies();
  const configs: BrokerConfig[] = [];
  for (let at = 1; at <= NODES; at += 1) configs.push(await createConfig(context, at, proxies));
  const voters = configs.map(({ id, directoryId, controllerPort }) => {
    return `${id}@${HOST}:${controllerPort}:${directoryId}`;
  });
  const shared = { context, programs, configs };
  const nodes = configs.map((config) => new Broker(shared, config, ["--initial-controllers", voters.join(",")]));
  const cluster: KafkaCluster = {
    brokers: configs.map(({ proxy }) => proxy.address).join(","),
    nodes,
    settled: () => settled(configs),
    stop: async () => {
      // All at the same time: otherwise the last brokers would wait for a controller.
      await endNodes(context, nodes);
      proxies.stop();
    },
  };
  try {
    await Promise.all(nodes.map((node) => node.start()));
    await waitUntil("Kafka's brokers have joined", JOIN_DEADLINE_MS, () => allIn(configs));
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

/** Addresses and ids of a broker; a replacement has the same addresses. */
interface BrokerConfig {
  readonly name: string;
  readonly proxy: NodeProxy;
  readonly clientPort: number;
  readonly brokerPort: number;
  readonly controllerPort: number;
  id: number;
  /** Identifies the data folder in the quorum; 16 bytes, base64url. */
  directoryId: string;
}

interface Shared {
  readonly context: ServerContext;
  readonly programs: KafkaPrograms;
  readonly configs: readonly BrokerConfig[];
}

async function createConfig(context: ServerContext, id: number, proxies: Proxies): Promise<BrokerConfig> {
  const name = `kafka-${id}`;
  const kept = portsOf(path.join(context.stateDir, name, SETTINGS_FILE));
  const clientPort = await keptOrFreePort(kept[0], name);
  const brokerPort = await keptOrFreePort(kept[1], name);
  const controllerPort = await keptOrFreePort(kept[2], name);
  const proxy = await proxies.open({ host: HOST, port: clientPort }, await keptOrFreePort(kept[3], name));
  const directoryId = Buffer.alloc(16, id).toString("base64url");
  return { name, proxy, clientPort, brokerPort, controllerPort, id, directoryId };
}

/**
 * The ports in the settings of the last start: client, broker, controller and proxy. The quorum has
 * stored the addresses of its controllers, so a later start needs the same ports.
 */
function portsOf(file: string): readonly number[] {
  if (!existsSync(file)) return [];
  return Array.from(readFileSync(file, "utf8").matchAll(/[A-Z]:\/\/[\d.]+:(\d+)/g), ([, port]) => Number(port));
}

class Broker extends NodeProcess implements KafkaNode {
  readonly #shared: Shared;
  readonly #config: BrokerConfig;

  constructor(shared: Shared, config: BrokerConfig, voters: readonly string[]) {
    super(config.name, config.proxy, () => launch(shared, config, voters));
    this.#shared = shared;
    this.#config = config;
  }

  get id(): number {
    return this.#config.id;
  }

  async replace(): Promise<void> {
    const config = this.#config;
    const { configs } = this.#shared;
    const former: Voter = { nodeId: config.id, directoryId: config.directoryId };
    const others = configs.filter((candidate) => candidate !== config);
    const controllers = others.map(({ controllerPort }) => `${HOST}:${controllerPort}`);
    await this.kill();
    rmSync(folderOf(this.#shared, config), { recursive: true, force: true });
    // The former broker loses its vote first: the two running brokers then have all votes. If the
    // replacement got its vote first, three of four votes would be necessary.
    await waitUntil(`broker ${former.nodeId} has no vote`, JOIN_DEADLINE_MS, async () => {
      await removeVoter(controllers, former);
      return true;
    });
    config.id = Math.max(...configs.map(({ id }) => id)) + 1;
    await launchReplacement(this.#shared, config, () => this.start());
    const listener = { name: CONTROLLER, host: HOST, port: config.controllerPort };
    await waitUntil(`${config.name} has a vote`, JOIN_DEADLINE_MS, async () => {
      await addVoter(controllers, { nodeId: config.id, directoryId: config.directoryId }, listener);
      return true;
    });
    await withAdmin(configs, (admin) => reassign(admin, former.nodeId, config.id));
    await settled(configs);
  }
}

function folderOf({ context }: Shared, config: BrokerConfig): string {
  return path.join(context.stateDir, config.name);
}

/** Starts a replacement. It joins the quorum as an observer, and votes only after `addVoter`. */
async function launchReplacement(shared: Shared, config: BrokerConfig, start: () => Promise<void>): Promise<void> {
  const file = writeSettings(shared, config);
  await formatOnce(shared.context, shared.programs, {
    file,
    data: dataOf(shared, config),
    further: ["--no-initial-controllers"],
  });
  const meta = readFileSync(path.join(dataOf(shared, config), "meta.properties"), "utf8");
  const directoryId = /^directory\.id=(.+)$/m.exec(meta)?.[1];
  if (directoryId === undefined) throw new LocalError(`${config.name}: its data folder has no directory.id`);
  config.directoryId = directoryId.trim();
  await start();
}

async function launch(shared: Shared, config: BrokerConfig, voters: readonly string[]): ReturnType<typeof startBroker> {
  const file = writeSettings(shared, config);
  await formatOnce(shared.context, shared.programs, { file, data: dataOf(shared, config), further: voters });
  const address = `${HOST}:${config.brokerPort}`;
  return startBroker(shared.context, shared.programs, { name: config.name, file, address, heap: HEAP });
}

function dataOf(shared: Shared, config: BrokerConfig): string {
  return path.join(folderOf(shared, config), "data");
}

function writeSettings(shared: Shared, config: BrokerConfig): string {
  const { clientPort, brokerPort, controllerPort, proxy } = config;
  const file = path.join(folderOf(shared, config), SETTINGS_FILE);
  writeProperties(file, {
    ...CLUSTER_SETTINGS,
    "node.id": String(config.id),
    "controller.quorum.bootstrap.servers": shared.configs.map((other) => `${HOST}:${other.controllerPort}`).join(","),
    listeners: `CLIENT://${HOST}:${clientPort},BROKER://${HOST}:${brokerPort},CONTROLLER://${HOST}:${controllerPort}`,
    "advertised.listeners": `CLIENT://${proxy.address},BROKER://${HOST}:${brokerPort}`,
    "log.dirs": dataOf(shared, config),
  });
  return file;
}

async function settled(configs: readonly BrokerConfig[]): Promise<void> {
  await waitUntil("Kafka's replicas are in sync", SYNC_DEADLINE_MS, async () => {
    if (!(await allIn(configs))) return false;
    return withAdmin(configs, async (admin) => {
      const { topics } = await admin.fetchTopicMetadata();
      return topics.every(({ partitions }) => partitions.every((one) => one.isr.length === one.replicas.length));
    });
  });
}

/** Whether every broker has joined and can be a leader. */
function allIn(configs: readonly BrokerConfig[]): Promise<boolean> {
  return withAdmin(configs, async (admin) => {
    const there = new Set((await admin.describeCluster()).brokers.map(({ nodeId }) => nodeId));
    return configs.every(({ id }) => there.has(id));
  });
}

/** Replaces the broker `former` by `replacement` in every partition; replicas keep their order. */
async function reassign(admin: Admin, former: number, replacement: number): Promise<void> {
  const { topics } = await admin.fetchTopicMetadata();
  const moves = topics.map(({ name, partitions }) => ({
    topic: name,
    partitionAssignment: partitions
      .filter(({ replicas }) => replicas.includes(former))
      .map(({ partitionId, replicas }) => ({
        partition: partitionId,
        replicas: replicas.map((id) => (id === former ? replacement : id)),
      })),
  }));
  const needed = moves.filter(({ partitionAssignment }) => partitionAssignment.length > 0);
  if (needed.length > 0) await admin.alterPartitionReassignments({ topics: needed, timeout: REQUEST_TIMEOUT_MS });
}

/** Connects directly to the brokers, so that faults of the proxies have no effect. */
async function withAdmin<T>(configs: readonly BrokerConfig[], work: (admin: Admin) => Promise<T>): Promise<T> {
  const kafka = new Kafka({
    brokers: configs.map(({ brokerPort }) => `${HOST}:${brokerPort}`),
    clientId: "kapi-servers",
    requestTimeout: REQUEST_TIMEOUT_MS,
    logLevel: logLevel.NOTHING,
    retry: { retries: 2, initialRetryTime: 100 },
  });
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await work(admin);
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}
