import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";

import { LocalError } from "./local-error.ts";
import { cached, cacheFolder } from "./machine/cache.ts";
import { findCommand, isRoot, run, runOrThrow } from "./machine/command.ts";
import { freePort } from "./machine/ports.ts";
import { startContainer } from "./containers.ts";
import { type NativeServer, startNative } from "./native.ts";
import type { RunningServer, ServerContext, ServerKind } from "./server.ts";

const VERSION = "4.1.0";
const IMAGE = `apache/kafka:${VERSION}`;
const PORT = 9092;
export const CLUSTER_ID = "a2FwaS1sb2NhbC1rYWZrYQ";
const OLDEST_JAVA = 17;
const JAVA_PACKAGES = ["openjdk-17-jre-headless", "openjdk-21-jre-headless", "default-jre-headless"];
const PROBE_TIMEOUT_MS = 1_000;
const VERSION_TIMEOUT_MS = 20_000;
const JARS_TIMEOUT_MS = 180_000;
const FORMAT_TIMEOUT_MS = 60_000;
const HEAP = ["-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:-UsePerfData"];
const POM = path.join(import.meta.dirname, "kafka-pom.xml");

/**
 * Settings of a local broker: a fast start, little memory, and no wait for further members of a
 * consumer group. The brokers of a cluster override the replication.
 */
export const SETTINGS: Readonly<Record<string, string>> = {
  "num.partitions": "4",
  "auto.create.topics.enable": "false",
  "default.replication.factor": "1",
  "min.insync.replicas": "1",
  "offsets.topic.num.partitions": "4",
  "offsets.topic.replication.factor": "1",
  "transaction.state.log.num.partitions": "1",
  "transaction.state.log.replication.factor": "1",
  "transaction.state.log.min.isr": "1",
  "share.coordinator.state.topic.num.partitions": "1",
  "share.coordinator.state.topic.replication.factor": "1",
  "share.coordinator.state.topic.min.isr": "1",
  "group.initial.rebalance.delay.ms": "0",
  "group.min.session.timeout.ms": "1000",
  "num.network.threads": "2",
  "num.io.threads": "4",
  "background.threads": "4",
  "log.cleaner.dedupe.buffer.size": "16777216",
  "log.index.size.max.bytes": "1048576",
  "file.delete.delay.ms": "1000",
  "metadata.max.idle.interval.ms": "10000",
};

const ROLES: Readonly<Record<string, string>> = {
  "process.roles": "broker,controller",
  "node.id": "1",
  "controller.listener.names": "CONTROLLER",
  "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
};

export const kafka: ServerKind = {
  name: "kafka",
  title: "Kafka",
  variable: "KAFKA_BROKERS",
  answers,
  container: (context) => startKafkaContainer(context),
  native: (context) => startKafkaProcess(context),
};

/**
 * Starts Kafka in a container. `settings` are broker settings, by Kafka's names. They override
 * {@link SETTINGS}.
 */
export async function startKafkaContainer(
  context: ServerContext,
  settings: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  // The port is chosen before the start, because Kafka advertises its address to clients.
  const hostPort = await freePort();
  const host = dockerHost(context.env);
  const properties = {
    ...ROLES,
    ...SETTINGS,
    ...settings,
    "controller.quorum.voters": "1@localhost:9093",
    listeners: `PLAINTEXT://:${PORT},CONTROLLER://:9093`,
    "advertised.listeners": `PLAINTEXT://${host}:${hostPort}`,
    "log.dirs": "/var/lib/kafka/data",
  };
  const environment = Object.entries(properties).map(([name, value]) => [
    `KAFKA_${name.replaceAll(".", "_").toUpperCase()}`,
    value,
  ]);
  return startContainer(kafka, context, {
    image: IMAGE,
    port: PORT,
    hostPort,
    environment: { ...Object.fromEntries(environment), CLUSTER_ID, KAFKA_HEAP_OPTS: "-Xms256m -Xmx512m" },
    dataFolder: "/var/lib/kafka/data",
    address: () => `${host}:${hostPort}`,
  });
}

function dockerHost(env: Readonly<Record<string, string | undefined>>): string {
  const given = env["DOCKER_HOST"];
  return given !== undefined && given.startsWith("tcp:") ? new URL(given).hostname : "localhost";
}

/** Optional extras of a Kafka process. */
export interface KafkaExtras {
  /** `host:port` of further listeners. Keys are names in `listener.security.protocol.map`. */
  readonly listeners?: Readonly<Record<string, string>>;
  /** Users of a new cluster, in the format of `kafka-storage --add-scram`. */
  readonly scramUsers?: readonly string[];
}

/** Starts a Kafka process; `settings` as for {@link startKafkaContainer}. */
export async function startKafkaProcess(
  context: ServerContext,
  settings: Readonly<Record<string, string>> = {},
  { listeners = {}, scramUsers = [] }: KafkaExtras = {},
): Promise<NativeServer> {
  const programs = await kafkaPrograms(context);
  const [port, controllerPort] = [await freePort(), await freePort()];
  const folder = path.join(context.stateDir, "kafka");
  const data = path.join(folder, "data");
  const file = path.join(folder, "server.properties");
  const further = Object.entries(listeners)
    .map(([name, address]) => `,${name}://${address}`)
    .join("");
  const properties = {
    ...ROLES,
    ...SETTINGS,
    ...settings,
    "controller.quorum.voters": `1@127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}${further}`,
    "advertised.listeners": `PLAINTEXT://127.0.0.1:${port}${further}`,
    "log.dirs": data,
  };
  writeProperties(file, properties);
  const users = scramUsers.flatMap((user) => ["--add-scram", user]);
  await formatOnce(context, programs, { file, data, further: users });
  return startBroker(context, programs, { name: kafka.name, file, address: `127.0.0.1:${port}`, heap: HEAP });
}

/** The paths of Java and of Kafka's jars. */
export interface KafkaPrograms {
  readonly java: string;
  readonly classPath: string;
}

/**
 * Returns Java and the jars. Downloads missing jars. Missing Java or Maven is installed if this
 * process is root and the machine has apt; otherwise throws.
 */
export async function kafkaPrograms(context: ServerContext): Promise<KafkaPrograms> {
  const java = await javaOfThisMachine(context);
  return { java, classPath: path.join(await jars(context), "*") };
}

/** Writes a file of broker settings. */
export function writeProperties(file: string, properties: Readonly<Record<string, string>>): void {
  const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}\n`);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, lines.join(""));
}

/**
 * Formats the data folder of a broker, unless it is formatted. `file` has the broker's settings,
 * `further` are arguments of `kafka-storage format`.
 */
export async function formatOnce(
  { record }: ServerContext,
  { java, classPath }: KafkaPrograms,
  { file, data, further }: { readonly file: string; readonly data: string; readonly further: readonly string[] },
): Promise<void> {
  if (existsSync(path.join(data, "meta.properties"))) return;
  rmSync(data, { recursive: true, force: true });
  const args = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", classPath, "kafka.tools.StorageTool", "format"];
  const format = [...args, "-t", CLUSTER_ID, "-c", file, ...further];
  await record.run("kafka-format", java, format, { timeoutMs: FORMAT_TIMEOUT_MS });
}

/** Starts a broker with the settings in `file`. */
export function startBroker(
  context: ServerContext,
  { java, classPath }: KafkaPrograms,
  broker: {
    readonly name: string;
    readonly file: string;
    readonly address: string;
    readonly heap: readonly string[];
  },
): Promise<NativeServer> {
  const logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn";
  const plan = {
    command: java,
    args: [...broker.heap, logging, "-cp", classPath, "kafka.Kafka", broker.file],
    env: process.env,
    address: broker.address,
    stopSignal: "SIGTERM",
  } as const;
  return startNative(kafka, context, plan, broker.name);
}

/** The Java of this machine. Installs missing Java as {@link kafkaPrograms} says. */
async function javaOfThisMachine(context: ServerContext): Promise<string> {
  const found = await recentJava();
  if (found !== null) return found;
  if (!context.packages.canInstall) throw new LocalError(missing(`Java ${OLDEST_JAVA} or later`));
  context.report.note("Kafka: installing Java (once; later starts use the cached copy)");
  await context.packages.install(...JAVA_PACKAGES);
  const installed = await recentJava();
  if (installed === null)
    throw new LocalError(`Java ${OLDEST_JAVA} or later is not found, although apt has installed Java.`);
  return installed;
}

async function recentJava(): Promise<string | null> {
  const home = process.env["JAVA_HOME"];
  const candidates = [home === undefined ? null : findCommand("java", path.join(home, "bin")), findCommand("java")];
  for (const java of candidates) {
    if (java === null) continue;
    const { output } = await run(java, ["-version"], { timeoutMs: VERSION_TIMEOUT_MS });
    const version = /version "(\d+)/.exec(output)?.[1];
    if (version !== undefined && Number(version) >= OLDEST_JAVA) return java;
  }
  return null;
}

/** The folder of Kafka's jars. Maven downloads the jars once for each user. */
async function jars(context: ServerContext): Promise<string> {
  const cache = cacheFolder(context.env);
  const name = `kafka-${VERSION}`;
  if (existsSync(path.join(cache, name))) return path.join(cache, name);
  if (findCommand("mvn") === null) {
    if (!context.packages.canInstall) throw new LocalError(missing("Maven"));
    context.report.note("Kafka: installing Maven (once; later starts use the cached copy)");
    await context.packages.install("maven");
  }
  context.report.note("Kafka: fetching its jars (43 MB, once)");
  return cached(cache, name, async (folder) => {
    const goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", `-DoutputDirectory=${folder}`];
    await runOrThrow("mvn", ["-q", "-B", "-f", POM, ...goal], { timeoutMs: JARS_TIMEOUT_MS });
  });
}

function missing(program: string): string {
  const why = isRoot() ? "this machine has no apt to install it with" : "installing it needs root";
  return `${program} is not installed, and ${why}. Kafka needs ${program} unless it runs in a container.`;
}

/**
 * Whether the broker accepts requests. Sends ApiVersions (request 18, version 0), the first request
 * of every client.
 */
function answers(address: string): Promise<boolean> {
  const [broker = ""] = address.split(",");
  const split = broker.lastIndexOf(":");
  const request = Buffer.alloc(14);
  request.writeInt32BE(10, 0);
  request.writeInt16BE(18, 4);
  request.writeInt32BE(1, 8);
  request.writeInt16BE(-1, 12);
  const answer = new Promise<boolean>((resolve) => {
    const socket = net.connect({ host: broker.slice(0, split), port: Number(broker.slice(split + 1)) });
    const finish = (isAnswered: boolean): void => {
      socket.destroy();
      resolve(isAnswered);
    };
    socket.setTimeout(PROBE_TIMEOUT_MS, () => finish(false));
    socket.once("connect", () => socket.write(request));
    socket.once("data", () => finish(true));
    socket.once("error", () => finish(false));
    socket.once("close", () => finish(false));
  });
  // `net.connect` throws if the address has no valid port.
  return answer.catch(() => false);
}
